#!/usr/bin/env bash
# Formats C++ (clang-format) and Python (ruff) in place; with --check only says what differs.
# Both tools are pinned in tools/requirements.txt, so that everyone formats alike.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

files() { git ls-files -z --cached --others --exclude-standard -- "$@"; }

if [[ ${1:-} == --check ]]; then
  files '*.h' '*.cpp' | xargs -0 -r build/venv/bin/clang-format --dry-run -Werror
  files '*.py' '*.pyi' | xargs -0 -r build/venv/bin/ruff format --quiet --diff
  files '*.py' | xargs -0 -r build/venv/bin/ruff check --quiet
else
  files '*.h' '*.cpp' | xargs -0 -r build/venv/bin/clang-format -i
  files '*.py' '*.pyi' | xargs -0 -r build/venv/bin/ruff format --quiet
  files '*.py' | xargs -0 -r build/venv/bin/ruff check --quiet --fix
fi
