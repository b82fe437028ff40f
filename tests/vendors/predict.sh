#!/bin/sh
# predict.sh - what cards that nobody tried should reach, as a table of Markdown; and with --here
# the same formula for the CPU at hand beside what is measured.
#
#   sh tests/vendors/predict.sh [BUILD]          wants BUILD/vendors.txt, of ctest -R '^vendors$'
#   sh tests/vendors/predict.sh --here [BUILD]   takes a minute or two; run it alone
#
# The formula and its assumptions stand in predict.awk, the cards in cards.txt; launches and waits
# of a step are those that test_counts asserts.
set -eu
LC_ALL=C
export LC_ALL
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
measure=
if [ "${1:-}" = --here ]; then
    measure=yes
    shift
fi
build=${1:-$here/../../build}

# launches and waits of mlp512 on one device: the first two figures of its row
step=$(sed -n 's/.*{"mlp512", "0", .*{\([0-9]*\), \([0-9]*\),.*/\1 \2/p' \
    "$here/../train/test_counts.c" | head -n 1)
if [ -z "$step" ]; then
    echo 'predict: tests/train/test_counts.c has no row of mlp512 on device 0' >&2
    exit 1
fi
predict() { # variables and files for awk
    awk -v launches="${step% *}" -v waits="${step#* }" "$@"
}

if [ -z "$measure" ]; then
    if [ ! -r "$build/vendors.txt" ]; then
        echo "predict: there is no $build/vendors.txt (ctest --test-dir $build -R '^vendors\$')" >&2
        exit 1
    fi
    predict -f "$here/predict.awk" "$build/vendors.txt" "$here/cards.txt"
    exit
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number() { # file, what stands before the number
    sed -n "s/.*$2\([-0-9.e+]*\).*/\1/p" "$1"
}
rate() { # file: with host batches, the figure for comparisons
    sed -n 's/.*"samples_per_s":\([-0-9.e+]*\),"first_step_s".*/\1/p' "$1"
}
"$build/motley" bench gemm --seconds 0.2 --json >"$work/gemm"
"$build/motley" devices --json >"$work/devices"
for batch in 128 4096; do
    "$build/motley" bench train --net mlp512 --data digits --batch $batch --seconds 1 --json \
        >"$work/$batch"
done
cores=$(number "$work/devices" '"units":')
peak=$(number "$work/gemm" '"peak_gflops":')
memory=$(number "$work/devices" '"memory_gbps":')
predict -v here="$cores $peak $memory" -f "$here/predict.awk" >"$work/told"
echo "the CPU at hand: $cores cores, peak $peak GFLOP/s, memory $memory GB/s (measured)"
printf '%-22s %12s %12s %8s\n' what predicted measured ratio
while read -r what size value binds; do
    case $what in
    gemm) seen=$(number "$work/gemm" "\"m\":$size,\"n\":$size,\"k\":$size,[^}]*\"tile-cpu\":") ;;
    train) seen=$(rate "$work/$size") ;;
    esac
    printf '%s %s %s %s %s\n' "$what" "$size" "$value" "$seen" "$binds"
done <"$work/told" | awk '{
    label = $1 == "gemm" ? $2 "^3, GFLOP/s" : "mlp512 b" $2 ", samples/s"
    printf "%-22s %12.0f %12.0f %8.2f  %s\n", label, $3, $4, $4 / $3, $5
}'
