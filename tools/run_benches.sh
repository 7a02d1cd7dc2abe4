#!/usr/bin/env bash
# Runs every bench: each folder of bench/ answers one question with an executable `run`.
# `run` is called from the project's root, prints its table, and fails when its own check of
# the answers fails. build/venv/bin comes first in PATH; C++ benches lie in build/release/bench.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export PATH="$PWD/build/venv/bin:$PATH"
failed=()
for bench in bench/*/run; do
  [[ -x $bench ]] || continue
  printf '\n== %s\n' "$(dirname "$bench")"
  "$bench" || failed+=("$bench")
done
if [[ ${#failed[@]} -gt 0 ]]; then
  echo "failed: ${failed[*]}" >&2
  exit 1
fi
