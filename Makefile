# SPDX-License-Identifier: Apache-2.0
#
# Front door of the project: `make` lists what can be done. The build itself is CMake's.

.DEFAULT_GOAL := help
.PHONY: help setup build demo test test-cpp test-python test-full fuzz bench format lint clean

VENV := build/venv/bin
JOBS ?= $(shell nproc)
CXX_FILES = $(shell git ls-files --cached --others --exclude-standard '*.h' '*.cpp')

help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sort | \
	  awk -F ':.*## ' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## install what build and tests need (packages, build/venv, our package in it)
	@tools/setup.sh

build: setup ## build the C++ library, its tests and the package in one tree (preset dev)
	@cmake --preset dev --log-level=WARNING
	@cmake --build --preset dev --parallel $(JOBS)

demo: setup ## record a small MLX training run and report what held its peak
	@mkdir -p build/demo
	$(VENV)/strandline run -o build/demo/snapshot.pickle --json build/demo/report.json \
	  examples/mlx_char_transformer.py

test: test-cpp test-python ## set up, build and run the fast tests

test-cpp: build
	@ctest --preset dev

test-python: setup
	@tools/run_pytest.sh

test-full: export STRANDLINE_FULL = 1
test-full: test ## the fast tests, then the long ones, both sanitizers and the fuzzers
	@tools/run_sanitized.sh asan
	@tools/run_sanitized.sh tsan
	@tools/setup_torch.sh
	@tools/run_pytest.sh -m full
	@tools/fuzz.sh $(FUZZ_SECONDS)

FUZZ_SECONDS ?= 600
fuzz: ## run every fuzz target for FUZZ_SECONDS (600)
	@tools/fuzz.sh $(FUZZ_SECONDS)

bench: setup ## run every bench/<question>/run in turn
	@tools/setup.sh --system --bench
	@cmake --preset release >/dev/null && cmake --build --preset release --parallel $(JOBS)
	@tools/run_benches.sh

format: ## format C++ and Python in place
	@tools/setup.sh --venv
	@tools/format.sh

lint: ## check format, includes and clang-tidy on changed files
	@tools/setup.sh --venv --lint
	@tools/format.sh --check
	@$(VENV)/python tools/check_includes.py
	@tools/tidy_changed.sh

clean: ## remove build/
	@rm -rf build
