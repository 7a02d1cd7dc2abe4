#!/usr/bin/env bash
# Formats C++ (clang-format) and Python (ruff) in place; with --check only says what differs.
# Both tools are pinned in tools/requirements.txt, so that everyone formats alike.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

bin=build/venv/bin
status=0
# on PATTERN... -- COMMAND...: runs the command on the project's files of these names.
on() {
  local patterns=() file found=()
  while [[ $1 != -- ]]; do patterns+=("$1"); shift; done
  shift
  while IFS= read -r -d '' file; do
    [[ -e $file ]] && found+=("$file")
  done < <(git ls-files -z --cached --others --exclude-standard -- "${patterns[@]}")
  [[ ${#found[@]} -eq 0 ]] || "$@" "${found[@]}" || status=1
}

if [[ ${1:-} == --check ]]; then
  on '*.h' '*.cpp' -- "$bin/clang-format" --dry-run -Werror
  on '*.py' '*.pyi' -- "$bin/ruff" format --quiet --diff
  on '*.py' -- "$bin/ruff" check --quiet
else
  on '*.h' '*.cpp' -- "$bin/clang-format" -i
  on '*.py' '*.pyi' -- "$bin/ruff" format --quiet
  on '*.py' -- "$bin/ruff" check --quiet --fix
fi
exit "$status"
