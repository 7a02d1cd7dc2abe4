#!/usr/bin/env bash
# Builds one sanitizer preset (asan or tsan) and runs the tests of the rooms it can tell something
# of, for tsan those with threads: tools/run_sanitized.sh PRESET [ROOM...]
# Address randomisation is switched off for the tests where the system allows it: the thread
# sanitizer of g++ 12 cannot map its shadow when vm.mmap_rnd_bits is high.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset=${1:?usage: tools/run_sanitized.sh asan|tsan [ROOM...]}
shift
rooms=("$@")
if [[ ${#rooms[@]} -eq 0 ]]; then
  rooms=(core record device alloc array)
  [[ $preset == tsan ]] || rooms+=(snapshot)
fi
tools/setup.sh --system
cmake --preset "$preset" --log-level=WARNING
cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}" \
  --target $(printf "strandline_%s_tests " "${rooms[@]}")
fixed_layout=()
if setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed_layout=(setarch "$(uname -m)" -R)
fi
"${fixed_layout[@]}" ctest --preset "$preset" -R "^($(IFS='|'; echo "${rooms[*]}"))\$"
