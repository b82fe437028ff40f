#!/bin/sh
# consumer.sh PROGRAM CMAKE BUILD FOLDER [ARGUMENTS] - install what was built to a place of its own,
# build the program (.c or .cpp) against that with find_package and with pkg-config, and run both.
set -eu

source=$(CDPATH='' cd -- "$(dirname -- "$0")/consumer" && pwd)
program=$1 cmake=$2 build=$3 work=$4
shift 4
case $program in
*.cpp) compiler="${CXX:-c++} -std=c++11 ${CXXFLAGS:-}" ;;
*) compiler="${CC:-cc} -std=c11 ${CFLAGS:-}" ;;
esac

rm -rf "$work"
mkdir -p "$work"
"$cmake" --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved" # an installed tree may be moved
prefix=$work/moved

"$cmake" -S "$source" -B "$work/cmake" -DSOURCE="$program" -DCMAKE_PREFIX_PATH="$prefix"
"$cmake" --build "$work/cmake"
cd "$work"
"$work/cmake/app" "$@"

pc=$(find "$prefix" -name motley.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
# eval: pkg-config quotes for the shell, and this path may hold a space
eval "$compiler -Wall -Wextra -Wpedantic -Werror \"\$program\" -o \"\$work/app\" \
    $(pkg-config --cflags --libs --static motley)"
"$work/app" "$@"
