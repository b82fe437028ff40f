#!/bin/sh
# tables.sh - measure again what the README says of speed beside others. Run it alone; it takes
# half an hour. Nothing here is a test: no time is asserted anywhere.
#
#   sh tests/bench/tables.sh [FOLDER OF MNIST]
#
# PEERS=peers.py PYTHON=python3 adds the same networks trained by JAX and TensorFlow, in the same
# sitting.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
motley=$here/build/motley
data=${1:-digits}
seconds=${SECONDS_EACH:-5}

number() { # file, key: its value, the first time it stands there
    tr ',{' '\n\n' <"$1" | sed -n "s/^\"$2\":\([-0-9.e+]*\)}*$/\1/p" | head -n 1
}

middle() { # of the numbers in a file
    sort -n "$1" | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# By turns with a peer, since the machine is not the same from one minute to the next: medians.
against() { # what the row is, peer, work, then options of bench train
    row=$1 peer=$2 net=$3
    shift 3
    : >"$work/ours"
    : >"$work/theirs"
    for turn in 1 2 3 4 5; do
        "$motley" bench train --data "$data" --seconds "$seconds" --json --net "$net" "$@" \
            >"$work/one.json"
        number "$work/one.json" samples_per_s >>"$work/ours"
        [ -z "${PEERS:-}" ] ||
            "${PYTHON:-python3}" "$PEERS" "$net" "$peer" --seconds "$seconds" 2>/dev/null |
            sed -n 's/.*"samples_per_s": \([0-9.]*\).*/\1/p' >>"$work/theirs"
    done
    printf '%-24s %10.0f samples/s' "$row" "$(middle "$work/ours")"
    if [ -s "$work/theirs" ]; then
        printf ', %s %.0f:' "$peer" "$(middle "$work/theirs")"
        paste "$work/ours" "$work/theirs" | awk '{ print $1 / $2 }' | sort -n >"$work/ratio"
        printf ' %.2f x by turns (%.2f to %.2f)' "$(middle "$work/ratio")" \
            "$(head -n 1 "$work/ratio")" "$(tail -n 1 "$work/ratio")"
    elif [ -n "${PEERS:-}" ]; then
        printf '; %s is not to be had here' "$peer"
    fi
    echo
}

# Cold: our cache and the driver's are empty; warm: both hold what the cold start left. From opening
# the devices to the first finished step.
first() { # net
    "$motley" bench train --data "$data" --net "$1" --seconds 5 --json >"$work/first.json"
    printf '%-34s %10.2f s cold (%.0f starts), %.3f s warm\n' "$1, first step" \
        "$(number "$work/first.json" first_step_cold_s)" \
        "$(number "$work/first.json" cold_starts)" \
        "$(number "$work/first.json" first_step_s)"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for net in mlp10 mlp64 mlp512; do
    against "$net" jax "$net"
done
for net in mlp10 mlp64 mlp512; do
    against "$net, mirrored on 0/2" tf_mirrored2 "$net" --devices 0/2 --strategy mirrored \
        --shares even
done
for net in mlp10 mlp512; do
    first "$net"
done
# The last line of each has central storage beside mirrored with even shares.
for batch in 512 4096; do
    "$motley" bench scale --data "$data" --net mlp512 --devices 0/2 --batch "$batch" \
        --seconds "$seconds"
done
"$motley" bench scale --data "$data" --net mlp512 --devices 0/2 --seconds "$seconds"
"$motley" bench train --data "$data" --net mlp512 --devices 0/2 --strategy mirrored --shares even \
    --seconds "$seconds" | sed -n '/--verify/s/^/mlp512 on 0\/2, /p'
sh "$here/tests/bench/loaded.sh" "$data"

# Medians of several runs: what a run finds differs more than what its rounds do.
turns=7
done=0
while [ $done -lt $turns ]; do
    "$motley" bench allreduce --devices 0/2 --seconds "$seconds" --json | tr '{' '\n' |
        awk -F '[:,]' '$1 == "\"bytes\"" { gsub(/"/, "", $4); print $2, $4, $6, $8, $18, $20 }'
    done=$((done + 1))
done >"$work/reduce"
echo "all-reduce on 0/2, medians of $turns runs:" \
    "bytes, way, us, best us, T/T* of medians, T/T* of the best"
sort -k1,1n -k2,2 "$work/reduce" | awk -v turns="$turns" '
    function middle(list,    value, n, i, j, swap) {
        n = split(list, value, " ")
        for (i = 1; i <= n; i++)
            for (j = i + 1; j <= n; j++)
                if (value[j] + 0 < value[i] + 0) {
                    swap = value[i]; value[i] = value[j]; value[j] = swap
                }
        return value[int((n + 1) / 2)]
    }
    { for (i = 3; i <= 6; i++) seen[i] = seen[i] " " $i }
    NR % turns == 0 {
        printf "%10d  %-6s  %10.1f  %10.1f  %5.2f  %5.2f\n", $1, $2, middle(seen[3]) * 1e6,
            middle(seen[4]) * 1e6, middle(seen[5]), middle(seen[6])
        split("", seen)
    }'
"$motley" bench gemm --seconds "$seconds"
