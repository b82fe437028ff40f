#!/bin/sh
# mnist.sh - from a fresh machine to a trained network: install what is missing, build, get the
# data, train, save the weights.
#
#   sh examples/mnist.sh [options of motley train]
#
# The options given here come after the defaults below and win over them.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$here/build

# It says itself what it could not do; the build has the last word.
sh "$here/cmake/setup.sh" || true
if ! command -v cmake >/dev/null 2>&1; then
    echo 'mnist.sh: there is no cmake, so nothing can be built' >&2
    exit 1
fi
setting=$(sh "$here/cmake/setup.sh" --env)
[ -z "$setting" ] || export "${setting?}"

# Tests stay as they were configured; on a fresh machine there are none, and the build is shorter.
if [ -f "$build/CMakeCache.txt" ]; then
    cmake -S "$here" -B "$build" >/dev/null
else
    cmake -S "$here" -B "$build" -DMOTLEY_TESTS=OFF >/dev/null
fi
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
cmake --build "$build" --target motley_command -j "$cores"

exec "$build/motley" train --net mlp512 --epochs 5 --out "$build/mnist.safetensors" "$@"
