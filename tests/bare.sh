#!/bin/sh
# bare.sh SOURCE CMAKE FOLDER - a build with less: without OpenCL it says what to do, without the
# optional libraries it works.
set -eu

source=$1 cmake=$2 work=$3
rm -rf "$work"
mkdir -p "$work"

expect() { # file, texts: each is in it
    file=$1
    shift
    for text in "$@"; do
        grep -qF "$text" "$file" || {
            printf 'not said: %s\nbut:\n' "$text" >&2
            cat "$file" >&2
            exit 1
        }
    done
}

if "$cmake" -S "$source" -B "$work/none" -DCMAKE_DISABLE_FIND_PACKAGE_OpenCL=ON \
    -DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON >"$work/none.log" 2>&1; then
    echo 'configured without OpenCL' >&2
    exit 1
fi
expect "$work/none.log" 'OpenCL headers and loader' 'zlib' 'sh cmake/setup.sh'

"$cmake" -S "$source" -B "$work/less" -DMOTLEY_CLBLAST=OFF -DMOTLEY_CURL=OFF -DMOTLEY_WERROR=ON \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON >"$work/less.log" 2>&1
expect "$work/less.log" 'cmocka not found: building without tests'
"$cmake" --build "$work/less" -j 2 >"$work/build.log" 2>&1 || {
    tail -20 "$work/build.log" >&2
    exit 1
}
[ -f "$work/less/libmotley.a" ]
if nm "$work/less/libmotley.a" | grep -q 'U CLBlast'; then
    echo 'CLBlast is used though it is off' >&2
    exit 1
fi
if [ -x "$work/less/motley" ]; then
    "$work/less/motley" version
fi
echo 'bare.sh: passed'
