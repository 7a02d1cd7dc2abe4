#!/usr/bin/env bash
# Prepares build/torch for the long tests on PyTorch itself: a virtual environment with the CUDA
# wheel of PyTorch, pinned, and a fake CUDA runtime under it, so that its own caching allocator runs
# without a GPU. ../shared/tools/torch_oracle does it; where that is not there nothing is done, and
# those tests are skipped. About 550 MB are downloaded, once.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

oracle=../shared/tools/torch_oracle
python=build/venv/bin/python  # our compiled module is of its version
if [[ ! -x $oracle/setup.sh ]]; then
  echo "setup_torch: $oracle is not there; tests on PyTorch itself will be skipped" >&2
  exit 0
fi
if [[ ! -x $python ]]; then
  echo "setup_torch: $python is not there; make setup first" >&2
  exit 1
fi
wanted=$("$python" -c 'import sys; print(sys.base_prefix, sys.version)')
if [[ -e build/torch/python && $(<build/torch/python) != "$wanted" ]]; then
  rm -rf build/torch  # made for another Python
fi
mkdir -p build/torch
echo "$wanted" >build/torch/python
PYTHON=$PWD/$python "$oracle/setup.sh" build/torch
