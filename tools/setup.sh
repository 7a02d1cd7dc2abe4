#!/usr/bin/env bash
# Installs what the build and the tests need, and nothing that is there already:
#   1. Debian or Ubuntu packages, through apt (with sudo when not root);
#   2. build/venv: a CPython 3.11 to 3.13 that has its headers, with tools/requirements.txt;
#   3. our own package in it, again whenever a source of it changed.
# Usage: tools/setup.sh [--system | --venv] [--lint] [--bench]
#   --system   only step 1          --venv   only steps 1 and 2
#   --lint     step 1 also brings clang, its libFuzzer, and clang-tidy
#   --bench    step 1 also brings valgrind, which counts instructions, and the peers of
#              bench/allocators: mimalloc, and RMM's headers in build/rmm
# The interpreter may be chosen with PYTHON=/path/to/python.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=build/venv
STAMPS=build/stamps

# What must be there | the package that brings it.
SYSTEM_NEEDS=(
  "command:g++|g++" "command:make|make" "command:cmake|cmake" "command:ninja|ninja-build"
  "command:git|git" "command:ccache|ccache"
  "header:fmt/format.h|libfmt-dev" "header:CLI/CLI.hpp|libcli11-dev"
  "header:zlib.h|zlib1g-dev" "header:zstd.h|libzstd-dev"
  "header:nlohmann/json.hpp|nlohmann-json3-dev" "header:gtest/gtest.h|libgtest-dev"
  "header:gmock/gmock.h|libgmock-dev" "header:benchmark/benchmark.h|libbenchmark-dev"
  "library:libopenblas.so.0|libopenblas0-pthread"
)
LINT_NEEDS=("command:clang++|clang" "command:clang-tidy|clang-tidy" "fuzzer:|libclang-rt-dev")
BENCH_NEEDS=("command:valgrind|valgrind" "header:mimalloc.h|libmimalloc-dev")

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

present() {  # present command:NAME | header:PATH | library:NAME | fuzzer:
  case $1 in
    command:*) command -v "${1#command:}" >/dev/null ;;
    library:*) PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -F "${1#library:} " >/dev/null ;;
    header:*) [[ -e /usr/include/${1#header:} || -e /usr/local/include/${1#header:} ]] ;;
    fuzzer:)
      [[ -n $(find "$(clang++ -print-resource-dir 2>/dev/null)" -name 'libclang_rt.fuzzer*' \
        -print -quit 2>/dev/null) ]] ;;
  esac
}

apt_install() {
  local sudo=()
  command -v apt-get >/dev/null ||
    die "no apt-get here; install what these Debian packages hold, then try again: $*"
  if [[ $(id -u) -ne 0 ]]; then
    command -v sudo >/dev/null || die "not root and no sudo; install these first: $*"
    sudo=(sudo)
  fi
  say "apt: installing $* (log: build/apt.log)"
  mkdir -p build
  if ! {
    "${sudo[@]}" apt-get update -qq &&
      "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -qq --no-install-recommends "$@"
  } </dev/null >build/apt.log 2>&1; then
    tail -n 30 build/apt.log >&2
    die "apt could not install: $*"
  fi
}

install_system() {
  local missing=() need
  for need in "$@"; do
    present "${need%%|*}" && continue
    # Without apt a header may lie where only find_package looks; CMake says so if it does not.
    [[ $need == header:* || $need == library:* ]] && ! command -v apt-get >/dev/null && continue
    missing+=("${need#*|}")
  done
  [[ ${#missing[@]} -eq 0 ]] || apt_install "${missing[@]}"
}

# A supported CPython with headers and venv; launchers such as pyenv's may exist and still fail.
usable_python() {
  "$1" - 2>/dev/null <<'PY'
import ensurepip, os, sys, sysconfig, venv
headers = os.path.join(sysconfig.get_paths()["include"], "Python.h")
ok = (3, 11) <= sys.version_info[:2] <= (3, 13) and os.path.exists(headers)
sys.exit(not (ok and sys.implementation.name == "cpython"))
PY
}

find_python() {
  if [[ -n ${PYTHON:-} ]]; then
    usable_python "$PYTHON" || die "PYTHON=$PYTHON is no CPython 3.11 to 3.13 with headers and venv"
    echo "$PYTHON"
    return
  fi
  local pyenv=${PYENV_ROOT:-${HOME:-}/.pyenv}/versions candidate
  for candidate in python3.13 python3.12 python3.11 python3 \
      "$pyenv"/3.13*/bin/python3 "$pyenv"/3.12*/bin/python3 "$pyenv"/3.11*/bin/python3; do
    if usable_python "$candidate"; then
      echo "$candidate"
      return
    fi
  done
  return 1
}

make_venv() {
  local python
  if ! python=$(find_python); then
    [[ -z ${PYTHON:-} ]] || exit 1
    apt_install python3 python3-dev python3-venv
    python=$(find_python) || die "no CPython 3.11 to 3.13 with headers; set PYTHON=/path/to/python"
  fi
  say "venv: $("$python" --version) ($python) in $VENV"
  rm -rf "$VENV" build/dev
  "$python" -m venv "$VENV"
}

install_requirements() {
  local stamp=$STAMPS/requirements
  if [[ -x $VENV/bin/python ]] && cmp -s tools/requirements.txt "$stamp" &&
      { [[ -z ${PYTHON:-} ]] || same_python; }; then
    return
  fi
  rm -f "$stamp" "$STAMPS/package"
  make_venv
  say "venv: installing tools/requirements.txt"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r tools/requirements.txt
  cp tools/requirements.txt "$stamp"
}

same_python() {
  local of='import sys; print(sys.base_prefix, sys.version)'
  [[ $("$PYTHON" -c "$of") == "$("$VENV/bin/python" -c "$of")" ]]
}

# Names, sizes and times of everything the package is made of.
package_state() {
  local parts=() part
  for part in CMakeLists.txt pyproject.toml README.md LICENSE cmake include src python adapters; do
    [[ -e $part ]] && parts+=("$part")
  done
  find "${parts[@]}" -type f ! -name '*.pyc' -printf '%p %s %T@\n' | LC_ALL=C sort | sha256sum
}

install_package() {
  local stamp=$STAMPS/package state
  state=$(package_state)
  if [[ -e $stamp && $(<"$stamp") == "$state" ]]; then
    return
  fi
  say "package: building and installing strandline (log: build/package.log)"
  # In the tree of the preset dev, with its settings: what the tests link is compiled once.
  local settings=(--config-settings=build-dir=build/dev
                  --config-settings=cmake.define.STRANDLINE_TESTS=ON
                  --config-settings=cmake.define.STRANDLINE_WERROR=ON)
  if ! CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-$(nproc)} "$VENV/bin/python" -m pip install \
      --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall --verbose \
      "${settings[@]}" . >build/package.log 2>&1; then
    tail -n 60 build/package.log >&2
    die "the package did not build"
  fi
  echo "$state" >"$stamp"
}

# What cannot be had is no failure: the bench says which peer it leaves out.
install_bench_peers() {
  local stamp=$STAMPS/bench_requirements
  [[ -x $VENV/bin/python ]] || return 0
  if [[ -d build/rmm ]] && cmp -s tools/bench_requirements.txt "$stamp"; then
    return 0
  fi
  say "bench: laying RMM's headers into build/rmm"
  rm -rf build/rmm
  if "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
      --target build/rmm -r tools/bench_requirements.txt; then
    cp tools/bench_requirements.txt "$stamp"
  fi
}

main() {
  local steps=3 needs=("${SYSTEM_NEEDS[@]}") bench=no argument
  for argument in "$@"; do
    case $argument in
      --system) steps=1 ;;
      --venv) steps=2 ;;
      --lint) needs+=("${LINT_NEEDS[@]}") ;;
      --bench) needs+=("${BENCH_NEEDS[@]}"); bench=yes ;;
      *) die "unknown argument $argument" ;;
    esac
  done
  install_system "${needs[@]}"
  [[ $bench == no ]] || install_bench_peers
  [[ $steps -ge 2 ]] || return 0
  mkdir -p "$STAMPS"
  install_requirements
  [[ $steps -ge 3 ]] || return 0
  install_package
}

main "$@"
