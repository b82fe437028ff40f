#!/bin/sh
# gains.sh - does each cure of `train --why` give what was predicted? Brings every cause about and
# prints predicted, measured and their ratio. Run it alone on the machine. Not a test: no time is
# asserted anywhere; tests/unit/test_predict.c holds the arithmetic to 25 %.
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

[ $# -gt 0 ] || set -- input batch batch-2 many waiting host device link
for row in "$@"; do
    case $row in
    device) behind slow=1:4 device ;;
    link) behind link=0.05 link ;;
    *) "$build/tests/gains" "$row" ;;
    esac
done
