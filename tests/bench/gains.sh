#!/bin/sh
# gains.sh - does each cure of `train --why` give what was predicted? Brings every cause about three
# times and prints the medians of predicted, of what came, and of their ratio; 1 if a ratio is not
# within 25 %. Run it alone on the machine. Not a test: tests/unit/test_predict.c holds the
# arithmetic to 25 %, and tests/train/test_why.c the causes that are mostly sleep.
#
#   sh tests/bench/gains.sh [ROW...]
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${BUILD:-$here/build}

behind() { # manners, row: two cards behind the layer
    OPENCL_LAYERS=$build/tests/libguise.so MOTLEY_GUISE=rtx3060,rtx3060 MOTLEY_ILL_WILL=$1 \
        MOTLEY_GEMM=tile POCL_DEVICES='pthread pthread' OCL_ICD_VENDORS=$build/icd/pocl \
        "$build/tests/gains" "$2"
}

measure() { # row
    case $1 in
    launch) behind launch_us=300 launch ;;
    device) behind slow=1:4 device ;;
    link) behind link=0.05 link ;;
    link-1) behind link=0:0.05 link-1 ;;
    *) "$build/tests/gains" "$1" ;;
    esac
}

[ $# -gt 0 ] || set -- input launch batch batch-2 many waiting host device link link-1
bad=
for row in "$@"; do
    measure "$row" || bad="$bad $row"
done
[ -z "$bad" ] || {
    echo "not within 25 %:$bad" >&2
    exit 1
}
