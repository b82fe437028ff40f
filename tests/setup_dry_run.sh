#!/bin/sh
# setup_dry_run.sh SOURCE FOLDER - what cmake/setup.sh says of machines that are folders below
# FOLDER: with Intel, AMD, NVIDIA or no GPU, with nothing or with all installed, other managers.
set -eu

setup=$1/cmake/setup.sh
work=$2
rm -rf "$work"
mkdir -p "$work"

card() { # root, card, vendor, kernel driver
    mkdir -p "$1/sys/class/drm/$2/device" "$1/sys/class/drm/$2-HDMI-A-1" "$1/sys/drivers/$4"
    echo "$3" >"$1/sys/class/drm/$2/device/vendor"
    ln -sfn "../../../../drivers/$4" "$1/sys/class/drm/$2/device/driver"
    ln -sfn "../$2/device" "$1/sys/class/drm/$2-HDMI-A-1/device"
}

icd() { # root, name
    mkdir -p "$1/etc/OpenCL/vendors"
    echo "lib$2.so.1" >"$1/etc/OpenCL/vendors/$2.icd"
}

run() { # root, then options: what is said, in $said
    root=$1
    shift
    said=$(MOTLEY_SETUP_ROOT=$root sh "$setup" --manager apt "$@" 2>&1) || {
        echo "setup.sh $* failed: $said" >&2
        exit 1
    }
}

says() {
    for text in "$@"; do
        case $said in *"$text"*) continue ;; esac
        printf 'not said: %s\nbut:\n%s\n' "$text" "$said" >&2
        exit 1
    done
}

says_no() {
    for text in "$@"; do
        case $said in *"$text"*) ;; *) continue ;; esac
        printf 'should not be said: %s\nbut:\n%s\n' "$text" "$said" >&2
        exit 1
    done
}

# Nothing there: everything is named with its reason, PoCL for want of a GPU, no test tool unasked.
mkdir -p "$work/bare"
run "$work/bare"
says 'gcc  ' 'compiles the library' 'cmake' 'ocl-icd-opencl-dev' 'libjansson-dev' 'zlib1g-dev' \
    'libclblast-dev' 'libcurl4-openssl-dev' 'ca-certificates' 'dataset-fashion-mnist' \
    'PoCL makes the CPU a device' 'pocl-opencl-icd' 'sudo apt-get install'
says_no 'libcmocka-dev' 'oclgrind' 'clinfo' 'intel-opencl-icd'
run "$work/bare" --tests
says 'libcmocka-dev' 'oclgrind' 'libopenblas-dev' 'libonnx-testdata' 'mesa-opencl-icd' 'locales'

# NVIDIA's ptxas comes from PyPI, with --tests alone and where there is none.
fetched="NVIDIA's ptxas (nvidia-cuda-nvcc of PyPI, 48 MB) would be fetched to"
says 'fetches NVIDIA' "$fetched" 'python3-pip'
mkdir -p "$work/python/usr/bin"
: >"$work/python/usr/bin/pip3"
run "$work/python" --tests
says "$fetched"
says_no 'python3-pip'
run "$work/python"
says_no 'ptxas'
mkdir -p "$work/cuda/usr/local/cuda/bin"
: >"$work/cuda/usr/local/cuda/bin/ptxas"
run "$work/cuda" --tests
says_no 'ptxas' 'python3-pip'

# Each vendor's driver; PoCL only should the GPU not show.
card "$work/intel" card0 0x8086 i915
run "$work/intel"
says 'card0: intel GPU, served by intel-opencl-icd' 'OpenCL for the intel GPU' \
    'should OpenCL show no device then: pocl-opencl-icd'
says_no 'PoCL makes the CPU' 'mesa-opencl-icd' 'HDMI'

card "$work/amd" card1 0x1002 amdgpu
run "$work/amd"
says 'card1: amd GPU, served by mesa-opencl-icd'
says_no 'PoCL makes the CPU' 'intel-opencl-icd'
icd "$work/amd" rusticl
run "$work/amd"
says 'card1: amd GPU, its OpenCL driver is here' 'export RUSTICL_ENABLE=radeonsi'
says_no 'pocl-opencl-icd' 'served by'
run "$work/amd" --env
[ "$said" = RUSTICL_ENABLE=radeonsi ]
said=$(RUSTICL_ENABLE=iris MOTLEY_SETUP_ROOT=$work/amd sh "$setup" --env)
[ -z "$said" ]

card "$work/nouveau" card0 0x10de nouveau
run "$work/nouveau"
says "card0: NVIDIA GPU on the kernel driver 'nouveau'" 'nvidia-opencl-icd' \
    'should OpenCL show no device then: pocl-opencl-icd'
card "$work/nvidia" card0 0x10de nvidia
run "$work/nvidia"
says 'without the OpenCL part of it' 'nvidia-opencl-icd'
case $said in *install*nvidia-opencl-icd*) echo 'NVIDIA must not be forced' >&2; exit 1 ;; esac
mkdir -p "$work/nvidia/proc/driver/nvidia"
: >"$work/nvidia/proc/driver/nvidia/version"
icd "$work/nvidia" nvidia
run "$work/nvidia"
says 'card0: NVIDIA GPU, its OpenCL driver is here'
says_no 'pocl' 'without the OpenCL part'

# A laptop with two GPUs, and a virtual machine's screen.
card "$work/laptop" card0 0x8086 i915
card "$work/laptop" card1 0x10de nouveau
icd "$work/laptop" intel
run "$work/laptop"
says 'card0: intel GPU, its OpenCL driver is here' 'card1: NVIDIA GPU'
says_no 'pocl'
card "$work/virtual" card0 0x1af4 virtio-pci
run "$work/virtual"
says 'no OpenCL driver for vendor 0x1af4' 'PoCL makes the CPU a device'

# All there: nothing to do.
mkdir -p "$work/full/usr/bin" "$work/full/usr/include/CL" "$work/full/usr/lib/pkgconfig" \
    "$work/full/etc/ssl/certs" "$work/full/usr/share/datasets/fashion-mnist"
for name in cc make cmake; do
    : >"$work/full/usr/bin/$name"
done
for name in stdlib.h CL/cl.h zlib.h jansson.h clblast_c.h; do
    : >"$work/full/usr/include/$name"
done
: >"$work/full/usr/lib/libOpenCL.so"
: >"$work/full/usr/lib/pkgconfig/libcurl.pc"
: >"$work/full/etc/ssl/certs/ca-certificates.crt"
icd "$work/full" pocl
run "$work/full"
[ "$said" = 'setup: all that is needed is here' ]
run "$work/full" --tests
says 'libcmocka-dev'
says_no 'gcc  ' 'pocl-opencl-icd'

# The other managers' names and commands, and what is no option.
run "$work/bare" --manager dnf
says "sudo dnf install gcc" "'pkgconfig(OpenCL)'" clblast-devel
run "$work/bare" --manager pacman --tests
says 'sudo pacman -S --needed gcc' 'opencl-headers ocl-icd' cmocka
run "$work/bare" --manager zypper
says 'sudo zypper install gcc' libjansson-devel
run "$work/intel" --manager zypper
says 'served by intel-opencl' 'should OpenCL show no device then: pocl'
run "$work/bare" --manager brew
says 'brew install' opencl-icd-loader
for wrong in --nonsense '--manager yum' --manager; do
    status=0
    # shellcheck disable=SC2086 # two words
    said=$(MOTLEY_SETUP_ROOT=$work/bare sh "$setup" $wrong 2>&1) || status=$?
    [ $status = 2 ]
    says 'usage:'
done
echo 'setup_dry_run.sh: passed'
