#!/bin/sh
# loaded.sh - shares by speed on two devices of which the second is slow, mlp512, batch 4096: what
# each does by itself, both with even shares and by speed, and what that is of the sum; by turns,
# medians of five.
#
#   sh tests/bench/loaded.sh [DATA]     run it alone; two cores or more; PoCL
#
# Once the second half of the CPU is loaded by another process; POCL_AFFINITY keeps a half on its
# core: else the system moves it away from the load. And once the second of two one-core devices is
# delayed in proportion to its work, by the layer that the tests have.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${BUILD:-$here/build}
data=${1:-digits}
load=

stop() {
    [ -z "$load" ] || kill "$load" 2>/dev/null || true
    load=
}
trap stop EXIT
trap 'exit 1' INT TERM

scale() { # devices
    "$build/motley" bench scale --net mlp512 --batch 4096 --data "$data" --devices "$1" \
        --seconds "${SECONDS_EACH:-5}"
}

echo "the second half loaded by another process:"
taskset -c 1 sh -c 'while :; do :; done' &
load=$!
POCL_AFFINITY=1 scale 0/2
stop

echo "the second device takes ${SLOW:-3} times as long:"
export OPENCL_LAYERS="$build/tests/libguise.so" MOTLEY_GUISE=-,- MOTLEY_ILL_WILL="slow=1:${SLOW:-3}"
export MOTLEY_GEMM=tile POCL_DEVICES='basic basic' OCL_ICD_VENDORS="$build/icd/pocl"
scale 0,1
