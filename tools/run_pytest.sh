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
# A shell without job control starts what runs in its background with Ctrl-C ignored, and a program
# keeps that: the tests that interrupt programs would wait for ever.
build/venv/bin/python -c '
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))' -q -n "${JOBS:-$(nproc)}" "$@" "${folders[@]}" || status=$?
[[ $status -eq 5 ]] && { echo "pytest: no test of this kind"; exit 0; }
exit "$status"
