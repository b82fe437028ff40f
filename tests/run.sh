#!/bin/sh
# run.sh - install what is missing, test tools too, build with warnings as errors, run all tests.
#
#   sh tests/run.sh [ctest options]
#
# MOTLEY_TEST_ICD=system lets the tests see the installed OpenCL drivers (a GPU), not PoCL alone.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
build=$here/build
cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

# It says itself what it could not do; the build has the last word.
sh "$here/cmake/setup.sh" --tests || true
if ! command -v cmake >/dev/null 2>&1; then
    echo 'run.sh: there is no cmake, so nothing can be built' >&2
    exit 1
fi
setting=$(sh "$here/cmake/setup.sh" --env)
[ -z "$setting" ] || export "${setting?}"

cmake -S "$here" -B "$build" -DMOTLEY_TESTS=ON -DMOTLEY_WERROR=ON \
    -DMOTLEY_TEST_ICD="${MOTLEY_TEST_ICD:-pocl}"
cmake --build "$build" -j "$cores"
cd "$build"
exec ctest --output-on-failure -j "$cores" "$@"
