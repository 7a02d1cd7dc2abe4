#!/usr/bin/env bash
# Builds the libFuzzer targets (preset fuzz: clang, address and undefined-behaviour sanitizers) and
# runs each for some seconds: tools/fuzz.sh SECONDS [NAME...]
# A target tests/<room>/<name>_fuzz.cpp begins with what lies in tests/<room>/corpus/<name>; what it
# finds on its way stays in build/fuzz/corpus/<name>, inputs that broke something go to
# build/fuzz/finds. JOBS targets run at once.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:?usage: tools/fuzz.sh SECONDS [NAME...]}
shift
jobs=${JOBS:-$(nproc)}
build=build/fuzz
tools/setup.sh --system --lint
cmake --preset fuzz --log-level=WARNING
cmake --build --preset fuzz --parallel "$jobs" --target strandline_fuzzers

run_one() {  # run_one ROOM/NAME_fuzz SECONDS
  local room=${1%%/*} name=${1##*/}
  name=${name%_fuzz}
  local found=$build/corpus/$name kept=tests/$room/corpus/$name folders log=$build/$name.log
  mkdir -p "$found" "$build/finds"
  folders=("$found")
  [[ -d $kept ]] && folders+=("$kept")
  if ! ASAN_OPTIONS=detect_leaks=1 "$build/fuzz/$1" -max_total_time="$2" -timeout=20 \
      -rss_limit_mb=2048 -print_final_stats=1 -verbosity=1 \
      -artifact_prefix="$build/finds/$name-" "${folders[@]}" >"$log" 2>&1; then
    tail -n 60 "$log"
    printf 'fuzz: %s broke; the input is in %s\n' "$name" "$build/finds"
    return 1
  fi
  printf 'fuzz: %s clean, %s\n' "$name" \
    "$(grep -E 'number_of_executed_units|new_units_added' "$log" | tr -s ' :' ' ' | sed 's/stat //' |
      tr '\n' ' ')"
}
export -f run_one
export build

targets=()
for binary in "$build"/fuzz/*/*_fuzz; do
  name=$(basename "$binary" _fuzz)
  [[ $# -eq 0 || " $* " == *" $name "* ]] || continue
  targets+=("$(basename "$(dirname "$binary")")/$(basename "$binary")")
done
[[ ${#targets[@]} -gt 0 ]] || { echo "fuzz: no target of that name: $*" >&2; exit 2; }
printf '%s\n' "${targets[@]}" | xargs -P "$jobs" -I{} bash -c 'run_one {} '"$seconds"
