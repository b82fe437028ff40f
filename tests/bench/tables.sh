#!/bin/sh
# tables.sh - measure again what the README's tables say. Run it alone on the machine; it takes some
# minutes. Nothing here is a test: no time is asserted anywhere.
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

rate() { # what the row is, then options of bench train
    row=$1
    shift
    "$motley" bench train --data "$data" --seconds "$seconds" --json "$@" >"$work/one.json"
    printf '%-34s %10.0f samples/s\n' "$row" "$(number "$work/one.json" samples_per_s)"
}

peer() { # work, peer
    [ -n "${PEERS:-}" ] || return 0
    "${PYTHON:-python3}" "$PEERS" "$1" "$2" --seconds "$seconds" 2>/dev/null |
        sed -n 's/.*"samples_per_s": \([0-9.]*\).*/\1/p' >"$work/peer"
    [ -s "$work/peer" ] || { echo "$1 $2: not to be had here"; return 0; }
    printf '%-34s %10.0f samples/s\n' "$1, $2" "$(cat "$work/peer")"
}

# Cold: our cache and the driver's are empty; warm: both hold what the cold start left. From opening
# the devices to the first finished step.
first() { # net
    "$motley" bench train --data "$data" --net "$1" --seconds 0.5 --json >"$work/first.json"
    printf '%-34s %10.2f s cold, %.3f s warm\n' "$1, first step" \
        "$(number "$work/first.json" first_step_cold_s)" \
        "$(number "$work/first.json" first_step_s)"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for net in mlp10 mlp64 mlp512; do
    rate "$net" --net "$net"
    peer "$net" jax
done
for net in mlp10 mlp64 mlp512; do
    rate "$net, mirrored on 0/2" --net "$net" --devices 0/2 --strategy mirrored --shares even
    peer "$net" tf_mirrored2
done
for net in mlp10 mlp512; do
    first "$net"
done
for batch in 512 4096; do
    "$motley" bench scale --data "$data" --net mlp512 --devices 0/2 --batch "$batch" \
        --seconds "$seconds"
done
"$motley" bench allreduce --devices 0/2 --seconds "$seconds"
"$motley" bench gemm --seconds "$seconds"
