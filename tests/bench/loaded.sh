#!/bin/sh
# loaded.sh - shares by speed on two halves of the CPU, the second loaded by another process:
# samples/s of each half alone, of both with even shares and by speed, beside the halves' sum.
#
#   sh tests/bench/loaded.sh [DATA]     run it alone; two cores or more; PoCL
#
# POCL_AFFINITY keeps a half on its core: else the system moves it away from the load.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
motley=${BUILD:-$here/build}/motley
data=${1:-digits}
export POCL_AFFINITY=1
load=

stop() {
    [ -z "$load" ] || kill "$load" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 1' INT TERM

rate() { # devices, shares, strategy: samples/s with host batches, mlp512, batch 4096
    "$motley" bench train --net mlp512 --batch 4096 --data "$data" --devices "$1" --shares "$2" \
        --strategy "$3" --seconds "${SECONDS_EACH:-5}" --json |
        tr ',{' '\n\n' | sed -n 's/^"samples_per_s":\([0-9.e+]*\)$/\1/p' | head -n 1
}

taskset -c 1 sh -c 'while :; do :; done' &
load=$!
first=$(rate 0/2.0 auto single)
second=$(rate 0/2.1 auto single)
even=$(rate 0/2 even mirrored)
speed=$(rate 0/2 auto mirrored)
awk -v a="$first" -v b="$second" -v e="$even" -v s="$speed" 'BEGIN {
    printf "0/2.0 alone %.0f, 0/2.1 alone, loaded %.0f, sum %.0f samples/s\n", a, b, a + b
    printf "both, even shares %.0f: %.2f of the sum\n", e, e / (a + b)
    printf "both, by speed %.0f: %.2f of the sum\n", s, s / (a + b)
}'
