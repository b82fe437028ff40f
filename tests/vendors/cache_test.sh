#!/bin/sh
# cache_test.sh ROOT WORK LIST - what tests/vendors.sh does without compilers, and what it compiles
# anew: by one small kernel, in a copy of the tree. Compilers are hidden by PATH.
set -eu
root=$1 work=$2 list=$3
rm -rf "$work"
mkdir -p "$work/bin" "$work/tree/tests"
cp -r "$root/cl" "$work/tree/cl"
cp -r "$root/tests/vendors" "$root/tests/vendors.sh" "$work/tree/tests"
for tool in sh awk sed grep cut sort cat tr head wc od ls tee mv rm cp mkdir xargs env uname cc \
    cksum sha256sum; do
    where=$(command -v "$tool" || true)
    [ -z "$where" ] || ln -s "$where" "$work/bin/$tool"
done
cat >"$work/list" <<LIST
#!/bin/sh
case \${1:-} in
'') "$list" | grep '^gpu add ' | sed "s/\$/\$(cat "$work/defines")/" ;;
*) "$list" "\$@" ;;
esac
LIST
chmod +x "$work/list"
: >"$work/defines"

run() { # what is said, in $said; its status in $status
    status=0
    said=$(PATH="$work/bin" MOTLEY_PTXAS='' sh "$work/tree/tests/vendors.sh" "$work/tree" \
        "$work/kept" "$work/list" 2>&1) || status=$?
}

wrong() {
    printf '%s\nbut status %s and:\n%s\n' "$1" "$status" "$said" >&2
    exit 1
}

says() { # status, text
    case $said in *"$2"*) [ "$status" != "$1" ] || return 0 ;; esac
    wrong "wanted status $1 and: $2"
}

compiles_nothing() {
    case $said in *compiling*) wrong 'wanted nothing compiled' ;; esac
    says 0 'faults: 0'
}

# Nothing there.
run
says 77 'NVIDIA is skipped: clang-15 was not found (sh cmake/setup.sh --tests)'
says 77 'AMD is skipped: clang-15 was not found'
says 77 'Intel is skipped: ocloc (intel-opencl-icd) was not found'
says 77 'SPIR-V is skipped: clang-15 was not found'
says 77 'no compiler of a GPU vendor is here'

# SPIR-V alone is the quickest; the paths of the others are asked for by their folders.
for tool in clang-15 llvm-spirv-15 spirv-val spirv-dis; do
    where=$(command -v "$tool" || true)
    if [ -z "$where" ]; then
        echo "cache_test.sh: no $tool, so nothing is compiled twice"
        exit 0
    fi
    ln -s "$where" "$work/bin/$tool"
done
sed -e 's|/usr/lib/clc/|/nowhere/|; s|/usr/share/clc/|/nowhere/|; s|/usr/lib/\*/amdgcn|/nowhere|' \
    -e 's|/usr/lib/amdgcn|/nowhere|; s|/opt/rocm|/nowhere|' "$root/tests/vendors.sh" \
    >"$work/tree/tests/vendors.sh"
run
says 0 'NVIDIA is skipped: libclc-15 was not found'
says 0 'AMD is skipped: rocm-device-libs was not found'
says 0 'compiling 3 of 3'
run
compiles_nothing
echo '' >>"$work/tree/cl/add.cl"
run
says 0 'compiling 1 of 3' # the text
echo ' -DMORE=1' >"$work/defines"
run
says 0 'compiling 1 of 3' # the defines, which are another name too
run
compiles_nothing
echo '# more' >>"$work/tree/tests/vendors/one.sh"
run
says 0 'compiling 3 of 3' # the scripts

# Nothing to judge is no verdict.
if awk -f "$root/tests/vendors/judge.awk" </dev/null >/dev/null; then
    wrong 'wanted judge.awk to fail without a fact'
fi
