#!/bin/sh
# one.sh WORK FAMILY ID - compile one specialisation for all devices of one family, and write what
# its compilers say of each kernel to WORK/rows/FAMILY.ID: the key that vendors.sh gave, then
#
#   device kernel group registers spilled private local occupancy doubles
#
# in bytes (spilled: registers or bytes, as told; occupancy: percent), - where nothing is told. On
# failure there is no such file and WORK/logs/FAMILY.ID says why. Reads WORK/settings (what was
# found where), WORK/src/PROGRAM.cl, WORK/src/ID.{options,kernels} and WORK/src/FAMILY.ID.key.
set -eu
work=$1 family=$2 id=$3
# shellcheck source=/dev/null
. "$work/settings"
text=$work/src/${id%%.*}.cl
options=$(cat "$work/src/$id.options")
kernels=$work/src/$id.kernels
out=$work/tmp/$family.$id
log=$work/logs/$family.$id
rows=$work/rows/$family.$id
rm -rf "$out" "$rows"
mkdir -p "$out"
exec >"$log" 2>&1

# Both put together: only the declarations that are used are read, which halves the time.
header='-Xclang -finclude-default-header -Xclang -fdeclare-opencl-builtins'
clang() { # target, options...
    target_=$1
    shift
    # shellcheck disable=SC2086 # lists of options
    "$CLANG" -x cl -cl-std=CL1.2 "--target=$target_" -nogpulib $header $options "$@"
}

# ---- readers: what a compiler said, to rows without group and occupancy --------------------------
# device kernel registers spilled private local doubles [occupancy | simd barriers]

read_ptxas() { # device, ptx, ptxas's words
    awk -v device="$1" '
        FILENAME == ARGV[1] { if (/\.f64/) doubles = 1; next }
        /Compiling entry function/ { split($0, part, "\047"); kernel = part[2]; own = 0 }
        /Function properties for/ { own = $NF == kernel }
        own && /bytes stack frame/ { stack = $1; spilled = $5 }
        /Used [0-9]+ registers/ {
            used = 0
            for (i = 2; i <= NF; i++) {
                if ($i ~ /^registers/) registers = $(i - 1)
                if ($i ~ /^smem/) used = $(i - 2)
            }
            # Called functions have frames of their own; only the sum tells of those.
            if (match($0, /[0-9]+ bytes cumulative stack/)) stack = substr($0, RSTART) + 0
            private = stack - spilled
            print device, kernel, registers, spilled, private < 0 ? 0 : private, used, doubles + 0
        }' "$2" "$3"
}

# Without ptxas: what PTX itself shows.
read_ptx() { # ptx
    awk '
        /\.entry/ { kernel = $NF; sub(/\(.*/, "", kernel); order[++n] = kernel }
        /\.f64/ { doubles = 1 }
        /\.shared .*\[[0-9]+\]/ {
            size = name = $0
            sub(/.*\[/, "", size)
            sub(/\[.*/, "", name)
            sub(/.*[ \t]/, "", name)
            pool[name] = size + 0
        }
        /__local_depot[0-9]+\[/ { size = $0; sub(/.*\[/, "", size); private[kernel] += size + 0 }
        END {
            for (name in pool) { # a name begins with that of its kernel: the longest that fits
                owner = ""
                for (i = 1; i <= n; i++)
                    if (index(name, order[i] "_") == 1 && length(order[i]) > length(owner))
                        owner = order[i]
                used[owner] += pool[name]
            }
            for (i = 1; i <= n; i++)
                print "ptx", order[i], "- -", private[order[i]] + 0, used[order[i]] + 0,
                    doubles + 0
        }' "$1"
}

read_amd() { # device, most waves, assembly
    awk -v device="$1" -v most="$2" '
        /_f64/ { doubles = 1 }
        /^[A-Za-z_0-9]+:.*; @/ { label = $1; sub(/:.*/, "", label) }
        /^; Occupancy:/ { occupancy[label] = int(100 * $3 / most) }
        /^    \.group_segment_fixed_size:/ { used = $2 }
        /^    \.name:/ { kernel = $2 }
        /^    \.private_segment_fixed_size:/ { private = $2 }
        /^    \.sgpr_spill_count:/ { spilled = $2 }
        /^    \.vgpr_count:/ { registers = $2 }
        /^    \.vgpr_spill_count:/ {
            print device, kernel, registers, spilled + $2, private, used, doubles + 0,
                occupancy[kernel]
        }' "$3"
}

read_intel() { # device, binary, words of the compiler, SPIR-V of its front end
    doubles=0 # OpCapability Float64
    ! od -An -v -tx4 "$4" | tr -s ' \n' ' ' | grep -q ' 00020011 0000000a ' || doubles=1
    tr -c '\11\12\40-\176' '\n' <"$2" | awk -v device="$1" -v words="$3" -v doubles=$doubles '
        function flush() {
            if (kernel != "" && kernel !~ /^Intel_Symbol_Table/)
                print device, kernel, grf, spills[kernel] + 0, private, slm, doubles, simd, barriers
            kernel = ""
        }
        BEGIN {
            while ((getline line < words) > 0)
                if (line ~ /spilled around/) {
                    count = split(line, word)
                    spills[word[3]] = word[count]
                }
        }
        /^kernels:/ { on = 1; next }
        on && /^[^ ]/ { flush(); on = 0 }
        !on { next }
        /^  - name:/ { flush(); kernel = $3; private = slm = barriers = memory = 0; simd = grf = 0 }
        $1 == "grf_count:" { grf = $2 }
        $1 == "simd_size:" { simd = $2 }
        $1 == "slm_size:" { slm = $2 }
        $1 == "barrier_count:" { barriers = $2 }
        /^    [a-z]/ { memory = $1 == "per_thread_memory_buffers:" }
        memory && $1 == "size:" { private += $2 }'
}

# ---- occupancy, where the compiler does not tell -------------------------------------------------
# NVIDIA: registers go to warps by 256, to groups by 4 warps; local memory in steps. Intel: threads
# of a subslice, each simd items wide; local memory in powers of two; one barrier per group.
finish() { # rows of a reader to rows of the file
    awk '
        function least(a, b) { return a < b ? a : b }
        function up(a, step) { return int((a + step - 1) / step) * step }
        function nvidia(device, registers, bytes, group,    warps, groups, of) {
            split(limits[device], of, " ")
            warps = int((group + 31) / 32)
            groups = least(of[2], int(of[1] / warps))
            if (registers > 0)
                groups = least(groups, int(int(65536 / up(registers * 32, 256) / 4) * 4 / warps))
            if (bytes + of[5] > 0)
                groups = least(groups, int(of[3] / up(bytes + of[5], of[4])))
            return int(100 * groups * warps / of[1])
        }
        function intel(device, grf, bytes, group, simd, barriers,    threads, groups, of, size) {
            split(limits[device], of, " ")
            if (grf > 128)
                of[1] /= 2
            threads = int((group + simd - 1) / simd)
            groups = int(of[1] / threads)
            for (size = 1024; size < bytes; size *= 2)
                ;
            if (bytes > 0)
                groups = least(groups, int(of[2] / size))
            if (barriers > 0)
                groups = least(groups, of[3])
            return int(100 * groups * threads / of[1])
        }
        BEGIN { # NVIDIA: warps, groups, bytes, their step, bytes of its own per group
            limits["sm_75"] = "32 16 65536 256 0"
            limits["sm_86"] = "48 16 102400 128 1024"
            limits["sm_90"] = "64 32 233472 128 1024"
            limits["skl"] = "56 65536 16" # Intel: threads, bytes, barriers
            limits["tgllp"] = "112 131072 32"
            limits["dg2"] = "128 131072 32"
        }
        FILENAME == ARGV[1] { group[$1] = $2; given[$1] = $4; next }
        !($2 in group) { print "one.sh: kernel " $2 " is not in the text" >"/dev/stderr"; exit 1 }
        {
            seen[$1]++
            if ($6 != "-") $6 += given[$2] # no compiler knows of it
            if ($1 ~ /^sm_/) percent = nvidia($1, $3, $6, group[$2])
            else if ($1 ~ /^gfx/) percent = $8
            else if ($1 == "ptx" || $1 == "spirv") percent = "-"
            else percent = intel($1, $3, $6, group[$2], $8, $9)
            registers = $1 ~ /^(sm_|gfx|ptx|spirv)/ ? $3 : $3 "x" $8
            print $1, $2, group[$2], registers, $4, $5, $6, percent, $7
        }
        END {
            for (name in group) count++
            for (device in seen)
                if (seen[device] != count) {
                    print "one.sh: " device ": " seen[device] " of " count " kernels" >"/dev/stderr"
                    exit 1
                }
        }' "$kernels" "$1"
}

# ---- the families --------------------------------------------------------------------------------

nvidia() {
    clang nvptx64--nvidiacl -march=sm_75 -Xclang -mlink-builtin-bitcode -Xclang "$LIBCLC" -O2 -S \
        -o "$out/clang.ptx" "$text"
    # clang drops reqd_work_group_size, which tells ptxas how many registers an item may have.
    awk 'FILENAME == ARGV[1] { if ($3 != "-") size[$1] = $3; next }
        /\.entry/ { kernel = $NF; sub(/\(.*/, "", kernel) }
        { print }
        /^\)/ && kernel in size { print ".reqntid " size[kernel]; kernel = "" }' \
        "$kernels" "$out/clang.ptx" >"$out/all.ptx"
    if [ -z "$PTXAS" ]; then
        read_ptx "$out/all.ptx"
        return
    fi
    for device in sm_75 sm_86 sm_90; do
        if ! "$PTXAS" -v "-arch=$device" -o "$out/cubin" "$out/all.ptx" >"$out/words" 2>&1; then
            cat "$out/words" >&2
            return 1
        fi
        read_ptxas "$device" "$out/all.ptx" "$out/words"
    done
}

amd() {
    while read -r device number wave most; do
        {
            echo "const __constant int __oclc_ISA_version = $number;"
            echo 'const __constant int __oclc_ABI_version = 400;'
            cat "$text"
        } >"$out/amd.cl"
        libraries=
        for name in opencl ocml ockl oclc_daz_opt_off oclc_unsafe_math_off oclc_finite_only_off \
            oclc_correctly_rounded_sqrt_off "oclc_wavefrontsize64_$wave"; do
            libraries="$libraries -Xclang -mlink-builtin-bitcode -Xclang $ROCM/$name.bc"
        done
        # shellcheck disable=SC2086
        clang amdgcn-amd-amdhsa "-mcpu=$device" $libraries -O3 -S -o "$out/$device.s" "$out/amd.cl"
        read_amd "$device" "$most" "$out/$device.s"
    done <<'TABLE'
gfx906 9006 on 10
gfx1030 10300 off 16
gfx1100 11000 off 16
TABLE
}

intel() {
    for name in $INTEL; do
        device=${name%%-*}
        if ! "$OCLOC" compile -file "$text" -device "$name" -out_dir "$out" -output "$device" \
            --format zebin -options "-cl-std=CL1.2 $options" >"$out/words" 2>&1
        then
            cat "$out/words" >&2
            return 1
        fi
        read_intel "$device" "$out/$device"_*.bin "$out/words" "$out/$device"_*.spv
    done
}

# Not optimised: the translator makes invalid SPIR-V of optimised code.
spirv() {
    clang spir64-unknown-unknown -O1 -Xclang -disable-llvm-passes -emit-llvm -c -o "$out/bc" "$text"
    "$LLVM_SPIRV" --spirv-max-version=1.2 "$out/bc" -o "$out/spv"
    "$SPIRV_VAL" --target-env opencl1.2 "$out/spv"
    "$SPIRV_DIS" "$out/spv" -o "$out/dis"
    awk '/OpCapability Float64/ { doubles = 1 }
        /OpEntryPoint Kernel/ {
            split($0, part, "\"")
            print "spirv", part[2], "- - - -", doubles + 0
        }' \
        "$out/dis"
}

$family >"$out/told"
{
    cat "$work/src/$family.$id.key"
    finish "$out/told"
} >"$out/rows"
mv "$out/rows" "$rows"
rm -rf "$out"
