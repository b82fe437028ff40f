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

number() { # file, key at the top level: its value
    sed -n "s/.*\"$2\":\([-0-9.e+]*\),\"first_step_s\".*/\1/p" "$1"
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

# Cold: our cache and PoCL's are empty; warm: both are full. From opening the devices (their kernels
# are built and tested then) to the first finished step.
first() { # which, net
    XDG_CACHE_HOME=$work/cold/ours POCL_CACHE_DIR=$work/cold/pocl \
        "$motley" bench train --data "$data" --net "$2" --seconds 0.5 --json >"$work/first.json"
    open=$(sed -n 's/.*"open_s":\([-0-9.e+]*\).*/\1/p' "$work/first.json")
    step=$(sed -n 's/.*"first_step_s":\([-0-9.e+]*\).*/\1/p' "$work/first.json")
    printf '%-34s %10.3f s of opening, %.3f s to the first step\n' "$2, $1" "$open" "$step"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/cold/ours" "$work/cold/pocl"

for net in mlp10 mlp64 mlp512; do
    rate "$net" --net "$net"
    peer "$net" jax
done
for net in mlp10 mlp64 mlp512; do
    rate "$net, mirrored on 0/2" --net "$net" --devices 0/2
    peer "$net" tf_mirrored2
done
for net in mlp10 mlp512; do
    first cold "$net"
    first warm "$net"
    rm -rf "$work/cold"
    mkdir -p "$work/cold/ours" "$work/cold/pocl"
done
for batch in 512 4096; do
    "$motley" bench scale --data "$data" --net mlp512 --devices 0/2 --batch "$batch" \
        --seconds "$seconds"
done
"$motley" bench allreduce --devices 0/2 --seconds "$seconds"
"$motley" bench gemm --seconds "$seconds"
