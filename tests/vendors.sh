#!/bin/sh
# vendors.sh - compile every kernel, in every specialisation that the library uses, with the
# compilers of the GPU vendors; none of them needs a GPU.
#
#   sh tests/vendors.sh ROOT WORK LIST
#
# ROOT: the source tree. WORK: a folder for what is kept between runs; a specialisation is compiled
# again when its text, its defines, its compiler or these scripts changed. LIST: a program that says
# what the library asks for (tests/vendors/list.c). Prints a table and writes it to WORK.txt; fails
# on a compile error, and in a kernel for GPUs on a spill, a private array, more than 32 KB of local
# memory, a double. A compiler that is missing is skipped with a sentence; exit status 77: all are.
#
# MOTLEY_PTXAS names NVIDIA's ptxas where it is not found by itself (a CUDA toolkit, what PyPI calls
# nvidia-cuda-nvcc, which cmake/setup.sh --tests fetches); MOTLEY_VENDORS_JOBS says how many
# compilers run at a time, 2 if unset.
set -eu
LC_ALL=C
export LC_ALL
root=$1 work=$2 list=$3
jobs=${MOTLEY_VENDORS_JOBS:-2}
mkdir -p "$work/src" "$work/rows" "$work/logs" "$work/tmp"

say() {
    printf 'vendors: %s\n' "$*"
}

# ---- which compilers are here --------------------------------------------------------------------

first() { # the first of these paths that is there
    for path_ in "$@"; do
        if [ -e "$path_" ]; then
            echo "$path_"
            return
        fi
    done
}

where() { # a command's path, or nothing
    command -v "$1" || true
}

sums() { # files...
    if [ -n "$(where sha256sum)" ]; then sha256sum "$@"; else cksum "$@"; fi | cut -d ' ' -f 1
}

CLANG=$(where clang-15)
LIBCLC=$(first /usr/lib/clc/nvptx64--nvidiacl.bc /usr/share/clc/nvptx64--nvidiacl.bc)
PTXAS=${MOTLEY_PTXAS:-$(where ptxas)}
[ -n "$PTXAS" ] || PTXAS=$(first /usr/local/cuda/bin/ptxas /opt/cuda/bin/ptxas \
    "${HOME:-/}"/.local/lib/python3*/site-packages/nvidia/*/bin/ptxas \
    "${VIRTUAL_ENV:-/}"/lib/python3*/site-packages/nvidia/*/bin/ptxas \
    "${work%/*}/ptxas/ptxas" "$root/build/ptxas/ptxas")
ROCM=$(first /usr/lib/*/amdgcn/bitcode/opencl.bc /usr/lib/amdgcn/bitcode/opencl.bc \
    /opt/rocm/amdgcn/bitcode/opencl.bc)
ROCM=${ROCM%/opencl.bc}
OCLOC=$(where ocloc)
LLVM_SPIRV=$(where llvm-spirv-15)
SPIRV_VAL=$(where spirv-val)
SPIRV_DIS=$(where spirv-dis)
INTEL=
if [ -n "$OCLOC" ]; then
    for device in skl tgllp dg2-g10; do # newer versions no longer know the older devices
        if "$OCLOC" ids "$device" >/dev/null 2>&1; then
            INTEL="$INTEL $device"
        else
            say "this ocloc does not know $device, so nothing is compiled for it"
        fi
    done
fi
for name in CLANG LIBCLC PTXAS ROCM OCLOC INTEL LLVM_SPIRV SPIRV_VAL SPIRV_DIS; do
    eval "printf \"%s='%s'\\n\" $name \"\$$name\""
done >"$work/settings"

families=
add() { # family, what it is for, then pairs: found or empty, package
    family_=$1 what_=$2
    shift 2
    while [ $# -gt 0 ]; do
        if [ -z "$1" ]; then
            say "$what_ is skipped: $2 was not found (sh cmake/setup.sh --tests)"
            return
        fi
        shift 2
    done
    families="$families $family_"
}
add nvidia 'NVIDIA' "$CLANG" clang-15 "$LIBCLC" libclc-15
add amd 'AMD' "$CLANG" clang-15 "$ROCM" rocm-device-libs
add intel 'Intel' "$INTEL" 'ocloc (intel-opencl-icd)'
add spirv 'SPIR-V' "$CLANG" clang-15 "$LLVM_SPIRV" llvm-spirv-15 "$SPIRV_VAL" spirv-tools \
    "$SPIRV_DIS" spirv-tools
case $families in
'') say 'no compiler of a GPU vendor is here' && exit 77 ;;
*nvidia*) [ -n "$PTXAS" ] ||
    say "NVIDIA is compiled to PTX only: no ptxas (sh cmake/setup.sh --tests fetches it; a CUDA" \
        "toolkit has it; MOTLEY_PTXAS names it)" ;;
esac

clang_is=
[ -z "$CLANG" ] || clang_is=$("$CLANG" --version | head -n 1)
version() { # family: all that its results depend on besides the text
    case $1 in
    nvidia)
        echo "$clang_is" "$(sums "$LIBCLC")"
        [ -z "$PTXAS" ] || "$PTXAS" --version
        ;;
    amd) echo "$clang_is" "$(cat "$ROCM"/*.bc | sums)" ;;
    intel)
        (cd "$work/tmp" && "$OCLOC" query OCL_DRIVER_VERSION && cat OCL_DRIVER_VERSION) || true
        ls -lL /usr/lib/*/libigc.so* /usr/lib64/libigc.so* /usr/local/lib/libigc.so* || true
        echo "$INTEL"
        ;;
    spirv)
        echo "$clang_is"
        "$LLVM_SPIRV" --version | head -n 1
        "$SPIRV_VAL" --version | head -n 1
        ;;
    esac 2>/dev/null | tr -s '\n\t ' ' '
}

# ---- what to compile: the library's list, and what must be found out -----------------------------

{
    "$list"
    echo 'ill ill '
    echo 'double ill_double '
} | awk '{
        options = $0
        sub(/^[^ ]* [^ ]* /, "", options)
        id = $2
        for (i = 3; i <= NF; i++) {
            part = $i
            sub(/-D/, ".", part)
            sub(/=/, "", part)
            id = id part
        }
        print $1, id, options
    }' >"$work/plan"
grep -q '^gpu ' "$work/plan"

text_of() { # program: its text as the library gives it to a compiler
    case $1 in
    ill*) cat "$root/tests/vendors/$1.cl" ;;
    step) for file_ in common $("$list" step); do cat "$root/cl/$file_.cl"; done ;;
    *) cat "$root/cl/common.cl" "$root/cl/$1.cl" ;;
    esac
}
cut -d ' ' -f 2 "$work/plan" | sed 's/\..*//' | sort -u >"$work/programs"
rm -f "$work"/src/*
while read -r program; do
    text_of "$program" >"$work/src/$program.cl"
done <"$work/programs"
"$list" groups >"$work/groups"
scripts=$(cat "$0" "$root/tests/vendors/one.sh" "$work/groups" | sums)

# The kernels of a text: name, items of a group (what it demands or the host code gives, else 64, as
# the library takes), its demand as PTX writes it or -, bytes of local memory that are an argument.
kernels_of() { # program, options
    # shellcheck disable=SC2086 # a list of options
    "${CC:-cc}" -E -P -x c -D__OPENCL_C_VERSION__=120 $2 "$work/src/$1.cl" | tr '\n' ' ' |
        awk -v groups="$work/groups" '
    BEGIN {
        while ((getline line < groups) > 0) {
            split(line, word, " ")
            given[word[1]] = word[2]
            bytes[word[1]] = word[3]
        }
    }
    {
        gsub(/(__)?kernel /, "\n")
        count = split($0, part, "\n")
        for (i = 2; i <= count; i++) {
            if (!match(part[i], /void +[A-Za-z_0-9]+ *\(/))
                continue
            head = substr(part[i], 1, RSTART - 1)
            name = substr(part[i], RSTART + 5, RLENGTH - 6)
            gsub(/ /, "", name)
            items = name in given ? given[name] : 64
            demand = "-"
            if (match(head, /reqd_work_group_size\([^)]*\)/)) {
                demand = substr(head, RSTART + 21, RLENGTH - 22)
                gsub(/ /, "", demand)
                split(demand, side, ",")
                items = side[1] * side[2] * side[3]
            }
            print name, items, demand, bytes[name] + 0
        }
    }'
}

for family in $families; do
    version "$family" >"$work/tmp/version.$family"
done
while read -r rules id options; do
    program=${id%%.*}
    printf '%s\n' "$options" >"$work/src/$id.options"
    kernels_of "$program" "$options" >"$work/src/$id.kernels"
    if [ ! -s "$work/src/$id.kernels" ]; then
        say "no kernel was found in $program.cl with $options"
        exit 1
    fi
    sum=$(sums "$work/src/$program.cl")
    for family in $families; do
        [ "$rules" != cpu ] || [ "$family" = spirv ] || continue
        read -r version <"$work/tmp/version.$family" || true
        key="# $scripts $sum $options $version"
        printf '%s\n' "$key" >"$work/src/$family.$id.key"
        was=
        [ ! -e "$work/rows/$family.$id" ] || read -r was <"$work/rows/$family.$id"
        echo "$rules $family $id" >>"$work/src/all"
        [ "$was" = "$key" ] || echo "$work $family $id" >>"$work/src/jobs"
    done
done <"$work/plan"

# ---- compile, print, judge -----------------------------------------------------------------------

if [ -e "$work/src/jobs" ]; then
    say "compiling $(wc -l <"$work/src/jobs") of $(wc -l <"$work/src/all"), $jobs at a time"
    xargs -n 3 -P "$jobs" sh "$root/tests/vendors/one.sh" <"$work/src/jobs" || true
fi
while read -r rules family id; do
    if [ -e "$work/rows/$family.$id" ]; then
        sed -e 1d -e "s/^/$rules $family $id /" "$work/rows/$family.$id"
    else
        echo "$rules $family $id failed"
    fi
done <"$work/src/all" >"$work/facts"

status=0
awk -f "$root/tests/vendors/judge.awk" "$work/facts" >"$work/verdict" || status=1
grep '^!' "$work/verdict" | while read -r mark what; do
    echo "vendors: $mark $what"
    case $what in *'did not compile'*)
        sed -e 's/^/    /' -e 12q "$work/logs/${what%% *}" ;;
    esac
done || true
sed '/^!/d' "$work/verdict" | tee "$work.txt"
exit $status
