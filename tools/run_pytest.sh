#!/usr/bin/env bash
# Runs pytest of build/venv on the test folders that exist, a process a core (JOBS=N: so many);
# arguments are passed on.
# Finding no test is no failure: the tree may have none of the kind asked for.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folders=()
for folder in tests/python tests/mlx tests/torch; do
  [[ -d $folder ]] && folders+=("$folder")
done
if [[ ${#folders[@]} -eq 0 ]]; then
  echo "pytest: no test folder yet"
  exit 0
fi
status=0
build/venv/bin/python -m pytest -q -n "${JOBS:-$(nproc)}" "$@" "${folders[@]}" || status=$?
[[ $status -eq 5 ]] && { echo "pytest: no test of this kind"; exit 0; }
exit "$status"
