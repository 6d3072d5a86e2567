# shellcheck shell=bash disable=SC2034
# The Debian and Ubuntu packages that Headscope is built and tested with, and one function that installs what is missing.
# Sourced by app/run, tests/run and .ci/run; does nothing by itself. "a|b" means: a, or b where a does not exist.

build_packages=(
    g++ cmake ninja-build
    qt6-base-dev "qt6-svg-dev|libqt6svg6-dev" libqcustomplot-dev
    libeigen3-dev nlohmann-json3-dev libicu-dev libsentencepiece-dev libcli11-dev zlib1g-dev
)
# OpenCL (--backend opencl): headers to build with, the library and CLBlast to run with. Built without where they are not.
build_packages+=(opencl-c-headers ocl-icd-libopencl1 libclblast-dev)
# pocl-opencl-icd is an OpenCL driver for the processor.
test_packages=(libgtest-dev poppler-utils python3 python3-numpy pocl-opencl-icd)

say() { printf '%s\n' "$*" >&2; }

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# install_packages NAME...: says what it installs. Touches nothing, not even the package lists, when all are there.
install_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        say "Packages are installed with apt-get (Debian 12, Ubuntu 24.04), which is not here; going on with what there is."
        say "Needed are: ${*%%|*}"
        return 0
    fi
    local wanted name missing=()
    for wanted in "$@"; do
        for name in ${wanted//|/ }; do
            is_installed "$name" && continue 2
        done
        missing+=("$wanted")
    done
    [ ${#missing[@]} -eq 0 ] && return 0

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            say "These packages are missing and installing them needs root or sudo, neither of which is here: ${missing[*]%%|*}"
            return 1
        fi
        as_root=(sudo)
    fi
    say "Missing packages, installing them now: ${missing[*]%%|*}"
    local apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300)
    "${apt[@]}" update >&2 || say "The package lists could not be renewed; trying with those that are here."

    local chosen=()
    for wanted in "${missing[@]}"; do
        for name in ${wanted//|/ }; do
            if apt-cache show "$name" >/dev/null 2>&1; then
                chosen+=("$name")
                continue 2
            fi
        done
        say "This system has no package ${wanted//|/ or }; Headscope needs Debian 12, Ubuntu 24.04 or newer."
        return 1
    done
    if ! "${apt[@]}" install -y --no-install-recommends "${chosen[@]}" >&2 </dev/null; then
        say "apt-get could not install: ${chosen[*]}"
        return 1
    fi
}

# A compiler cache where there is one; read by cmake when it configures a build folder for the first time.
use_ccache() {
    if command -v ccache >/dev/null; then
        export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}"
    fi
}
