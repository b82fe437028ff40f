#!/bin/sh
# gains.sh - does each cure of `train --why` give what was predicted? Brings every cause about three
# times and prints the medians of predicted, of what came, and of their ratio; 1 if a ratio is not
# within 25 %. Run it alone on the machine. Not a test: tests/unit/test_predict.c holds the
# arithmetic to 25 %, and tests/train/test_why.c causes that are mostly sleep, and host memory.
#
#   sh tests/bench/gains.sh [ROW...]
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
build=${BUILD:-$here/build}

# Two devices of a core each, whose bytes are copied, behind the layer: where they shared the cores,
# one would get what the other leaves. PoCL 3.1 has one cache for both, without a lock, and at times
# aborts over it: then again.
behind() { # manners, row
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
        ended=0
        OPENCL_LAYERS=$build/tests/libguise.so MOTLEY_GUISE=-,- MOTLEY_ILL_WILL=$1 \
            MOTLEY_GEMM=tile MOTLEY_STAGING=copy POCL_DEVICES='basic basic' \
            OCL_ICD_VENDORS=$build/icd/pocl "$build/tests/gains" "$2" 2>"$log" || ended=$?
        [ $ended -eq 134 ] || break
    done
    cat "$log" >&2
    return "$ended"
}

measure() { # row
    case $1 in
    # Of two workers that wake up the kernel puts both on one core for a while: not on those.
    input) POCL_AFFINITY=1 "$build/tests/gains" input ;;
    launch) behind launch_us=300 launch ;;
    start) behind start_us=300 start ;;
    many) behind link=10 many ;;
    alone) behind link=10 alone ;;
    waiting) behind chance_ms=1 waiting ;;
    device) behind slow=1:4 device ;;
    shares) behind slow=1:2 shares ;;
    link) behind link=1 link ;;
    link-1) behind link=0:1 link-1 ;;
    *) "$build/tests/gains" "$1" ;;
    esac
}

log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ $# -gt 0 ] ||
    set -- input launch start batch batch-2 many alone waiting host device shares link link-1
bad=
for row in "$@"; do
    measure "$row" || bad="$bad $row"
done
[ -z "$bad" ] || {
    echo "not within 25 %:$bad" >&2
    exit 1
}
