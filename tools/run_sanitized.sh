#!/usr/bin/env bash
# Builds one sanitizer preset (asan or tsan) and runs its tests: tools/run_sanitized.sh PRESET
# Address randomisation is switched off for the tests where the system allows it: the thread
# sanitizer of g++ 12 cannot map its shadow when vm.mmap_rnd_bits is high.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?usage: tools/run_sanitized.sh asan|tsan}
tools/setup.sh --system
cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}"
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_layout=(setarch "$(uname -m)" -R)
fi
"${fixed_layout[@]}" ctest --preset "$preset"
