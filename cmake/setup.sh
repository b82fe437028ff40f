#!/bin/sh
# setup.sh - install what Motley needs and this machine lacks, and the OpenCL driver of its GPUs.
#
#   sh cmake/setup.sh [--dry-run] [--tests] [--manager apt|dnf|pacman|zypper|brew]
#   sh cmake/setup.sh --env       prints the variable that the drivers here want set, or nothing
#
# With apt it installs; for the others it prints the command to run. It says what and why first,
# becomes root and uses the network only when something is missing. With --tests it fetches NVIDIA's
# ptxas to build/ptxas too ($MOTLEY_BUILD/ptxas), where none is found. Exit status: 0 when all that
# the build must have is here, 1 when not (the caller may try all the same), 2 for a wrong option.
#
# Tests set MOTLEY_SETUP_ROOT: the machine is then looked for below it, and nothing is installed.
set -u

root=${MOTLEY_SETUP_ROOT:-}
dry=${root:+yes}
tests=no
mode=setup
manager=

say() {
    printf 'setup: %s\n' "$*"
}

refuse() {
    printf 'setup: %s\n' "$1" >&2
    echo 'usage: sh cmake/setup.sh [--dry-run] [--tests] [--manager NAME] [--env]' >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --dry-run) dry=yes ;;
    --tests) tests=yes ;;
    --env) mode=print ;;
    --manager)
        [ $# -gt 1 ] || refuse '--manager wants a name'
        shift
        manager=$1
        ;;
    *) refuse "unknown option $1" ;;
    esac
    shift
done

# ---- what is needed ------------------------------------------------------------------------------
# must: the build fails without; want: it goes on with less; test, more: the same for the tests.
needs() {
    cat <<'TABLE'
must cmd:cc              gcc                   compiles the library (C11)
must header:stdlib.h     libc6-dev             headers of the C library
must cmd:make            make                  runs the build
must cmd:cmake           cmake                 describes the build
must header:CL/cl.h      ocl-icd-opencl-dev    OpenCL: headers, and what finds the drivers
must lib:libOpenCL.so    ocl-icd-opencl-dev    OpenCL: headers, and what finds the drivers
must header:zlib.h       zlib1g-dev            reads .gz data
must header:jansson.h    libjansson-dev        reads and writes JSON
want header:clblast_c.h  libclblast-dev        matrix products on GPUs
want pc:libcurl          libcurl4-openssl-dev  lets the command fetch MNIST
want file:/etc/ssl/certs/ca-certificates.crt ca-certificates lets that download be trusted
want file:/usr/share/datasets/fashion-mnist dataset-fashion-mnist data where MNIST cannot be had
test cmd:pkg-config      pkg-config            finds the test library
test pc:cmocka           libcmocka-dev         runs the tests
test cmd:c++             g++                   the test of a C++ program
test icd:pocl            pocl-opencl-icd       a CPU device for the tests
more icd:rusticl         mesa-opencl-icd       a second OpenCL implementation for the tests
more cmd:oclgrind        oclgrind              finds races and bad addresses in kernels
more pc:openblas         libopenblas-dev       what matrix products are compared with
more file:/usr/share/libonnx-testdata libonnx-testdata known results of losses and optimizers
more cmd:clang-15        clang-15              compiles kernels for GPUs that are not here
more file:/usr/lib/clc/nvptx64--nvidiacl.bc libclc-15 what kernels for NVIDIA call
more lib:amdgcn/bitcode/opencl.bc rocm-device-libs what kernels for AMD call
more cmd:ocloc           intel-opencl-icd      Intel's compiler for its GPUs
more cmd:llvm-spirv-15   llvm-spirv-15         makes SPIR-V of kernels
more cmd:spirv-val       spirv-tools           checks it
more file:/usr/share/i18n/locales/de_DE locales a locale with decimal commas
TABLE
}

# The same packages elsewhere; several joined by a comma, - where there is none to name.
names() {
    cat <<'TABLE'
apt                   dnf                              pacman                 zypper
gcc                   gcc                              gcc                    gcc
libc6-dev             glibc-devel                      glibc                  glibc-devel
make                  make                             make                   make
cmake                 cmake                            cmake                  cmake
ocl-icd-opencl-dev    opencl-headers,pkgconfig(OpenCL) opencl-headers,ocl-icd ocl-icd-devel
python3-pip           python3-pip                      python-pip             python3-pip
zlib1g-dev            zlib-devel                       zlib                   zlib-devel
libjansson-dev        jansson-devel                    jansson                libjansson-devel
libclblast-dev        clblast-devel                    clblast                clblast-devel
libcurl4-openssl-dev  libcurl-devel                    curl                   libcurl-devel
ca-certificates       ca-certificates                  ca-certificates        ca-certificates
pkg-config            pkgconf-pkg-config               pkgconf                pkg-config
libcmocka-dev         libcmocka-devel                  cmocka                 libcmocka-devel
g++                   gcc-c++                          gcc                    gcc-c++
pocl-opencl-icd       pocl                             pocl                   pocl
mesa-opencl-icd       mesa-libOpenCL                   opencl-mesa            Mesa-libRusticlOpenCL
intel-opencl-icd      intel-compute-runtime            intel-compute-runtime  intel-opencl
libopenblas-dev       openblas-devel                   openblas               openblas-devel
locales               glibc-locale-source              glibc                  glibc-i18ndata
TABLE
}

names_brew() {
    cat <<'TABLE'
gcc gcc
make make
cmake cmake
ocl-icd-opencl-dev opencl-headers,opencl-icd-loader
zlib1g-dev zlib
libjansson-dev jansson
libclblast-dev clblast
libcurl4-openssl-dev curl
pkg-config pkgconf
libcmocka-dev cmocka
pocl-opencl-icd pocl
libopenblas-dev openblas
TABLE
}

name_here() { # apt's name: what this manager calls it
    case $manager in
    apt) echo "$1" ;;
    brew) names_brew | awk -v want="$1" '$1 == want { print $2 }' ;;
    *)
        names | awk -v want="$1" -v manager="$manager" '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == manager) column = i }
            $1 == want { print $column }'
        ;;
    esac
}

# ---- what is here --------------------------------------------------------------------------------
any() { # is one of these paths there?
    for path_ in "$@"; do
        [ -e "$path_" ] && return 0
    done
    return 1
}

have_cmd() {
    if [ -n "$root" ]; then
        any "$root/usr/bin/$1" "$root/bin/$1"
    else
        command -v "$1" >/dev/null 2>&1
    fi
}

have_pc() {
    if [ -z "$root" ] && have_cmd pkg-config; then
        pkg-config --exists "$1"
    else
        any "$root/usr/lib/pkgconfig/$1.pc" "$root"/usr/lib/*/"pkgconfig/$1.pc" \
            "$root/usr/lib64/pkgconfig/$1.pc" "$root/usr/share/pkgconfig/$1.pc"
    fi
}

have_icd() {
    any "$root"/etc/OpenCL/vendors/*"$1"*.icd
}

brew_=/opt/homebrew
have() { # probe
    what=${1#*:}
    case $1 in
    cmd:*) have_cmd "$what" ;;
    pc:*) have_pc "$what" ;;
    icd:*) have_icd "$what" ;;
    file:*) any "$root$what" ;;
    header:*)
        any "$root/usr/include/$what" "$root/usr/local/include/$what" \
            "$root"/usr/include/*/"$what" "$root$brew_/include/$what" \
            "$root$brew_"/opt/*/"include/$what"
        ;;
    lib:*)
        any "$root/usr/lib/$what" "$root"/usr/lib/*/"$what" "$root/usr/lib64/$what" \
            "$root/usr/local/lib/$what" "$root$brew_"/opt/*/"lib/${what%.so}.dylib"
        ;;
    esac
}

# A package that is installed though its probe fails would be asked for at every run: leave it.
installed() {
    [ -z "$root" ] && [ "$manager" = apt ] &&
        dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'
}

offered() { # does the archive have it, as far as the lists on this machine tell?
    [ -n "$root" ] && return 0
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep 'Candidate:' | grep -qv '(none)'
}

lists_are_here() {
    any /var/lib/apt/lists/*_Packages*
}

# ---- GPUs ----------------------------------------------------------------------------------------
# One line for each GPU in the machine: card, vendor, kernel driver.
gpus() {
    for card_ in "$root"/sys/class/drm/card*; do
        case ${card_##*/} in *-*) continue ;; esac # a connector, not a card
        [ -r "$card_/device/vendor" ] || continue
        read -r id_ <"$card_/device/vendor" || continue
        case $id_ in
        0x8086) vendor_=intel ;;
        0x1002) vendor_=amd ;;
        0x10de) vendor_=nvidia ;;
        *) vendor_=$id_ ;;
        esac
        module_=$(readlink "$card_/device/driver" 2>/dev/null)
        module_=${module_##*/}
        echo "${card_##*/} $vendor_ ${module_:-unknown}"
    done
}

gpu_vendors() {
    gpus | cut -d ' ' -f 2 | sort -u
}

served() { # vendor: is an OpenCL driver for it here?
    case $1 in
    intel) have_icd intel ;;
    amd) have_icd amdocl || have_icd rusticl || have_icd mesa ;;
    nvidia) have_icd nvidia && any "$root/proc/driver/nvidia/version" ;;
    *) false ;;
    esac
}

# Mesa's rusticl shows no GPU until it is told which driver it may use.
print_env() {
    [ -z "${RUSTICL_ENABLE+set}" ] && have_icd rusticl || return 0
    list_=
    for vendor_ in $(gpu_vendors); do
        case $vendor_ in
        amd) have_icd amdocl || list_=$list_,radeonsi ;;
        intel) have_icd intel || list_=$list_,iris ;;
        esac
    done
    [ -z "$list_" ] || echo "RUSTICL_ENABLE=${list_#,}"
}

# Does OpenCL show a device? clinfo knows; without it, judge by the driver files and the GPUs.
device_is_here() {
    have_icd pocl && return 0
    if [ -z "$root" ] && have_cmd clinfo; then
        setting_=$(print_env)
        limit_=
        have_cmd timeout && limit_='timeout 60'
        # shellcheck disable=SC2086 # both may be empty
        env $setting_ $limit_ clinfo -l 2>/dev/null | grep -q 'Device #'
        return
    fi
    for vendor_ in $(gpu_vendors); do
        served "$vendor_" && return 0
    done
    return 1
}

tell_of_nvidia() { # card, kernel driver
    if served nvidia; then
        say "$1: NVIDIA GPU, its OpenCL driver is here"
    elif [ "$2" = nvidia ] || any "$root/proc/driver/nvidia/version"; then
        say "$1: NVIDIA GPU with NVIDIA's driver, but without the OpenCL part of it:" \
            "nvidia-opencl-icd (Debian, non-free) or libnvidia-compute-VERSION (Ubuntu)." \
            'It must match the driver, so it is not installed from here.'
    else
        say "$1: NVIDIA GPU on the kernel driver '$2'. OpenCL needs NVIDIA's own driver:" \
            'nvidia-driver and nvidia-opencl-icd (Debian, non-free), or ubuntu-drivers install' \
            '(Ubuntu). It replaces the driver of the screen, so it is not installed from here.'
    fi
}

tell_of_permission() {
    for node_ in /dev/dri/renderD*; do
        if [ -e "$node_" ] && ! { [ -r "$node_" ] && [ -w "$node_" ]; }; then
            say "no permission on $node_: sudo usermod -a -G render \"\$USER\", then log in again"
        fi
    done
}

# ---- what to install -----------------------------------------------------------------------------
list=       # packages, in this manager's names
absent=     # optional ones that the archive does not have
found_gpu=no

add() { # apt's name, must or want, why
    name_=$(name_here "$1")
    [ -n "$name_" ] && ! installed "$1" || return 0
    case " $list $absent " in *" $name_ "*) return ;; esac
    if [ "$2" = want ] && [ "$manager$root" = apt ] && lists_are_here && ! offered "$1"; then
        absent="$absent $1"
        say "$1 is not in this archive, going on without it ($3)"
        return
    fi
    [ -n "$list" ] || say 'missing here, and what it is for:'
    list="$list $name_"
    printf '    %-22s %s\n' "$name_" "$3"
}

collect_needs() {
    kinds_=' must want '
    [ $tests = no ] || kinds_=' must want test more '
    while read -r kind probe package why; do
        case $kinds_ in *" $kind "*) ;; *) continue ;; esac
        have "$probe" && continue
        case $kind in
        must | test) add "$package" must "$why" ;;
        *) add "$package" want "$why" ;;
        esac
    done <<EOT
$(needs)
EOT
}

collect_drivers() {
    while read -r card vendor module; do
        case $vendor in
        intel) package=intel-opencl-icd ;;
        amd) package=mesa-opencl-icd ;;
        nvidia)
            found_gpu=yes
            tell_of_nvidia "$card" "$module"
            continue
            ;;
        '') continue ;;
        *)
            say "$card: we know of no OpenCL driver for vendor $vendor"
            continue
            ;;
        esac
        found_gpu=yes
        if served "$vendor" || installed "$package"; then
            say "$card: $vendor GPU, its OpenCL driver is here"
        else
            say "$card: $vendor GPU, served by $(name_here "$package")"
            add "$package" want "OpenCL for the $vendor GPU"
        fi
    done <<EOT
$(gpus)
EOT
}

collect_fallback() {
    case " $list " in *' pocl'*) return ;; esac
    if [ $found_gpu = no ]; then
        device_is_here && return
        say 'no GPU that OpenCL could use: PoCL makes the CPU a device'
        add pocl-opencl-icd want 'the CPU as an OpenCL device'
    elif [ "$manager" = apt ] && ! have_icd pocl && ! have_cmd clinfo; then
        add clinfo want 'asks whether OpenCL shows the GPU'
    fi
}

# ---- NVIDIA's assembler --------------------------------------------------------------------------
# No package of a distribution's: it comes with a CUDA toolkit, or alone from PyPI. The test
# `vendors` finds it in the build folder too; nothing here wants root.
ptxas_at=${MOTLEY_BUILD:-$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)/build}/ptxas
ptxas_what="NVIDIA's ptxas (nvidia-cuda-nvcc of PyPI, 48 MB)"

have_ptxas() {
    [ -z "${MOTLEY_PTXAS:-}" ] || return 0
    have_cmd ptxas || any "$root/usr/local/cuda/bin/ptxas" "$root/opt/cuda/bin/ptxas" ||
        { [ -z "$root" ] && [ -x "$ptxas_at/ptxas" ]; }
}

have_pip() {
    if [ -n "$root" ]; then have_cmd pip3; else python3 -m pip --version >/dev/null 2>&1; fi
}

collect_ptxas() {
    [ $tests = no ] || have_ptxas || have_pip || add python3-pip want "fetches NVIDIA's ptxas"
}

fetch_ptxas() {
    [ $tests = yes ] && ! have_ptxas || return 0
    if [ -n "$dry" ]; then
        say "$ptxas_what would be fetched to $ptxas_at: it assembles kernels for NVIDIA's GPUs"
        return 0
    fi
    if ! have_pip; then
        say "no pip to fetch $ptxas_what with; kernels for NVIDIA are compiled to PTX only"
        return 0
    fi
    say "fetching $ptxas_what to $ptxas_at"
    rm -rf "$ptxas_at"
    mkdir -p "$ptxas_at"
    if python3 -m pip --disable-pip-version-check download -q --no-deps --only-binary :all: \
        --retries 1 --timeout 30 -d "$ptxas_at" nvidia-cuda-nvcc >"$ptxas_at/log" 2>&1 &&
        python3 - "$ptxas_at" >>"$ptxas_at/log" 2>&1 <<'PYTHON'
import glob, os, sys, zipfile

folder = sys.argv[1]
wheel = zipfile.ZipFile(glob.glob(os.path.join(folder, "*.whl"))[0])
inside = [name for name in wheel.namelist() if name.endswith("/bin/ptxas")][0]
path = os.path.join(folder, "ptxas")
with open(path, "wb") as out:
    out.write(wheel.read(inside))
os.chmod(path, 0o755)
PYTHON
    then
        rm -f "$ptxas_at"/*.whl
    else
        say "it could not be fetched (no network? $ptxas_at/log has pip's words);" \
            'kernels for NVIDIA are compiled to PTX only'
        rm -f "$ptxas_at"/*.whl "$ptxas_at/ptxas"
    fi
}

# ---- installing ----------------------------------------------------------------------------------
may_become_root() {
    [ "$(id -u)" = 0 ] && return 0
    have_cmd sudo || return 1
    sudo -n true 2>/dev/null || [ -t 0 ]
}

apt_get() {
    sudo_=
    [ "$(id -u)" = 0 ] || sudo_=sudo
    $sudo_ env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
        -o Acquire::Retries=1 -o Acquire::http::Timeout=30 "$@"
}

network=unknown
fetch_lists() {
    [ $network = unknown ] || return 0
    network=yes
    say 'running: apt-get update'
    if ! apt_get -o APT::Update::Error-Mode=any update; then
        network=doubtful
        say 'not all package lists could be fetched (no network?); going on with what is here'
    fi
}

apt_install() { # packages: all at once; if that fails one by one, so that one spoils no other
    say "running: apt-get install -y --no-install-recommends $*"
    apt_get install -y --no-install-recommends "$@" && return 0
    [ $# -gt 1 ] && [ $network = yes ] || return 1
    say 'that failed; trying one by one'
    failed_=
    for package in "$@"; do
        apt_get install -y --no-install-recommends "$package" || failed_="$failed_ $package"
    done
    [ -z "$failed_" ] && return 0
    say "could not be installed:$failed_"
    return 1
}

# The lists may have been empty when the packages were chosen.
keep_offered() {
    hint_=
    grep -q '^ID=ubuntu' /etc/os-release 2>/dev/null &&
        hint_=' (sudo add-apt-repository universe?)'
    list=
    for package in "$@"; do
        if offered "$package"; then
            list="$list $package"
        else
            say "$package is not in this archive, going on without it$hint_"
        fi
    done
}

run_apt() {
    if ! may_become_root; then
        say 'not root, and no sudo without a password to type; going on with what is here.' \
            'To install by hand:'
        print_command
        return 1
    fi
    fetch_lists
    lists_are_here || return 1
    # shellcheck disable=SC2086 # a list of packages
    keep_offered $list
    [ -n "$list" ] || return 1
    # shellcheck disable=SC2086
    apt_install $list
}

print_command() {
    case $manager in
    apt) printf '    sudo apt-get install --no-install-recommends' ;;
    dnf) printf '    sudo dnf install' ;;
    pacman) printf '    sudo pacman -S --needed' ;;
    zypper) printf '    sudo zypper install' ;;
    brew) printf '    brew install' ;;
    esac
    for package in $(printf '%s' "$list" | tr ',' ' '); do
        case $package in
        *'('*) printf " '%s'" "$package" ;;
        *) printf ' %s' "$package" ;;
        esac
    done
    printf '\n'
}

install_list() {
    if [ -z "$list" ]; then
        say 'all that is needed is here'
    elif [ -n "$dry" ]; then
        say 'the command would be:'
        print_command
    elif [ "$manager" = apt ]; then
        run_apt || say 'not everything could be installed; going on with what is here'
    else
        say "only apt is served by this script itself. For $manager:"
        print_command
    fi
}

# A laptop's GPU is to be used, not its CPU: PoCL comes only when OpenCL shows no device at all.
fall_back() {
    [ $found_gpu = yes ] && ! device_is_here || return 0
    if [ -n "$dry" ] || [ "$manager" != apt ]; then
        say "should OpenCL show no device then: $(name_here pocl-opencl-icd), the CPU as a device"
        return
    fi
    tell_of_permission
    installed pocl-opencl-icd && return
    say 'OpenCL shows none of the GPUs (build/motley doctor will say why);' \
        'PoCL makes the CPU a device instead'
    list=pocl-opencl-icd
    run_apt || say 'PoCL could not be installed'
}

still_missing() {
    while read -r kind probe package why; do
        [ "$kind" = must ] && ! have "$probe" && printf ' %s' "${probe#*:}"
    done <<EOT
$(needs)
EOT
}

# ---- main ----------------------------------------------------------------------------------------
if [ $mode = print ]; then
    print_env
    exit 0
fi
for pair in apt:apt-get dnf:dnf pacman:pacman zypper:zypper brew:brew; do
    [ -z "$manager" ] && command -v "${pair#*:}" >/dev/null 2>&1 && manager=${pair%%:*}
done
case $manager in
apt | dnf | pacman | zypper | brew)
    collect_needs
    collect_drivers
    collect_fallback
    collect_ptxas
    install_list
    fall_back
    setting=$(print_env)
    [ -z "$setting" ] || say "Mesa shows the GPU only where this is set: export $setting"
    ;;
'') say 'no package manager that we know (apt, dnf, pacman, zypper, brew)' ;;
*) refuse "unknown package manager $manager" ;;
esac

fetch_ptxas
missing=$(still_missing)
[ -n "$missing" ] && [ -z "$dry" ] || exit 0
say "still missing for the build:$missing"
exit 1
