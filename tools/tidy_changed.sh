#!/usr/bin/env bash
# Runs clang-tidy, with clang's own warnings and its thread-safety analysis, on what changed:
# since the merge base with the main branch and in the work tree; where HEAD is the main branch
# (a fresh clone), in the last commits. A changed header is checked through a source including it.
# Usage: tools/tidy_changed.sh [--all]
#   TIDY_BASE=REV      compare with REV instead
#   TIDY_COMMITS=N     how far back where there is no base (10)
#   TIDY_LIMIT=N       at most so many sources, newest changes first (40)
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

limit=${TIDY_LIMIT:-40}
commits=${TIDY_COMMITS:-10}
build=build/tidy

merge_base() {
  local branch
  for branch in ${TIDY_BASE:-} origin/main origin/master; do
    git rev-parse -q --verify "$branch^{commit}" >/dev/null || continue
    git merge-base HEAD "$branch"
    return
  done
}

# Names of changed files, the newest first.
changed_files() {
  if [[ ${1:-} == --all ]]; then
    git ls-files
    return
  fi
  git ls-files --modified --others --exclude-standard
  local base
  base=$(merge_base)
  if [[ -n $base && $base != $(git rev-parse HEAD) ]]; then
    git log --format= --name-only "$base..HEAD"
  else
    git log --format= --name-only -n "$commits"
  fi
}

first_including() {
  grep -rlE --include='*.cpp' "#include [<\"]$1[>\"]" src tests adapters python 2>/dev/null |
    head -n 1 || true
}

# Sources of the compilation database to check, one a line.
sources_of() {
  local file
  while read -r file; do
    [[ -e $file ]] || continue
    case $file in
      *.cpp) echo "$file" ;;
      include/*.h) first_including "${file#include/}" ;;
      src/*.h) first_including "${file#src/}" ;;
    esac
  done | awk '!seen[$0]++' | while read -r file; do
    grep -qF "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"
  done || true
}

configure() {
  local python=()
  if [[ -x build/venv/bin/python ]]; then
    python=(-DSTRANDLINE_PYTHON=ON -DSTRANDLINE_MLX=ON
            "-DPython_EXECUTABLE=$PWD/build/venv/bin/python")
  fi
  cmake --preset tidy --log-level=WARNING -DSTRANDLINE_TIDY=OFF "${python[@]}" >/dev/null
}

main() {
  configure
  local sources total
  mapfile -t sources < <(changed_files "$@" | sources_of)
  total=${#sources[@]}
  if [[ ${1:-} != --all && $total -gt $limit ]]; then
    sources=("${sources[@]:0:limit}")
  fi
  echo "clang-tidy: ${#sources[@]} of $total changed sources"
  [[ ${#sources[@]} -gt 0 ]] || return 0
  printf '%s\0' "${sources[@]}" |
    xargs -0 -P "${JOBS:-$(nproc)}" -n 1 clang-tidy -p "$build" --quiet \
      2> >(grep -v 'warnings.* generated' >&2)
}

main "$@"
