#!/bin/sh
# predict_test.sh DIR WORK - the arithmetic of predict.awk against figures worked out by hand, for a
# card of round numbers. DIR: tests/vendors. WORK: a folder for what it writes.
#
# 512 cubed: 64 groups of 64 x 64 on 4 cores, 16 each, of 256 items; an item takes 480 / 128 = 3.75
# clocks for 16 steps of k; a core holds 4 groups, so 4 of 5 parts are hidden:
#   16 * 256 * 32 * 3.75 * 5 / 4 / 1000 MHz = 614.4 us, 2 * 512^3 / 614.4 us = 437 GFLOP/s
# A step of 128 rows: products 235.2 + 153.6 + 18.432 + 249.6 + 153.6 + 23.04 + 153.6 + 4.8 =
# 991.872 us for 410.78 MFLOP (414 GFLOP/s), other kernels 21.371 MB at 80 GB/s = 267.1 us, 16 gaps
# of 1 us: 1275.0 us, 100391 samples/s. The host needs 16 + 2 * 10 = 36 us; with launches of 1000 us
# 16020 us, 7990 samples/s. The link needs 128 * 788 / 8 GB/s = 12.6 us; a thousand times slower
# 12608 us, 10152 samples/s. A quarter of the local memory's rate: 136 / 16 = 8.5 clocks, in the
# small product 144 / 16 = 9 for 4.5: 973.44 * 8.5 / 3.75 + 36.864 = 2243.3 us, 183 GFLOP/s, a step
# of 2526.5 us, 50664 samples/s; 512 cubed 614.4 * 8.5 / 3.75 = 1392.6 us, 193 GFLOP/s.
set -eu
dir=$1 work=$2
mkdir -p "$work"
{
    echo 'kernel local | one'
    for ta in 0 1; do
        for tb in 0 1; do
            echo "gemm_gpu SIDE16 TRANS_A$ta TRANS_B$tb 8192 | 64 0 0 50"
            echo "gemm_gpu SIDE8 TRANS_A$ta TRANS_B$tb 4096 | 64 0 0 100"
        done
    done
} >"$work/vendors.txt"
cat >"$work/cards.txt" <<'CARDS'
plain one Plain 4 4 1000 128 64 2048 65536 100 10 1 1 10
calls one Calls 4 4 1000 128 64 2048 65536 100 10 1000 1 10
link one Link 4 4 1000 128 64 2048 65536 100 0.01 1 1 10
lds one Lds 4 4 1000 128 16 2048 65536 100 10 1 1 10
CARDS
{
    awk -v launches=16 -v waits=2 -f "$dir/predict.awk" "$work/vendors.txt" "$work/cards.txt" |
        sed 1,4d | cut -d '|' -f 2-9 | sed 's/ *$//'
    # 8 groups on 2 cores: nothing idle, so the peak itself
    awk -v launches=16 -v waits=2 -v here='2 100 10' -f "$dir/predict.awk" </dev/null | sed 2q
} >"$work/got"
cat >"$work/want" <<'WANT'
 Plain | 1024 | 64x64, 50 % | 440 | 440 | 410 | 100000 | arithmetic
 Calls | 1024 | 64x64, 50 % | 440 | 440 | 410 | 8000 | launches
 Link | 1024 | 64x64, 50 % | 440 | 440 | 410 | 10000 | link
 Lds | 1024 | 64x64, 50 % | 190 | 190 | 180 | 51000 | local memory
gemm 512 100
gemm 1024 100
WANT
diff -u "$work/want" "$work/got"
