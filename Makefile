# The short verbs; `make` alone lists them. Nothing here needs more than .venv, which `make setup` makes.
MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := help
.PHONY: help setup setup-dev check test bench simulate simulate-rpc simulate-hub fuzz fuzz-properties attacks buffers chaos chaos-hub chaos-journal chaos-remote resets pipeline-kills cluster client console screenshots docs lock stale clean

bin := .venv/bin
typed := src tests benchmarks scripts fuzz examples
ARGS ?=

help: ## list these verbs
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with the framehub command in it
	@scripts/setup.sh --venv run

setup-dev: ## the same, with what checks and tests need
	@scripts/setup.sh --venv dev

check: setup-dev ## lint, formatting, types and import contracts
	@$(bin)/ruff check --quiet .
	@$(bin)/ruff format --check --quiet .
	@$(bin)/mypy $(typed)
	@$(bin)/lint-imports --no-logo

test: setup-dev ## all tests; ARGS="tests/unit -k codec" chooses
	@scripts/test.sh $(ARGS)

bench: setup-dev ## measure; ARGS="mfp" chooses, ARGS=--list lists
	@$(bin)/python -m benchmarks $(ARGS)

simulate: setup-dev ## two connections on a modelled wire; ARGS="--connections 100000 --seed 1"
	@$(bin)/python -m tests.simulation $(ARGS)

simulate-rpc: setup-dev ## clients, a proxy and workers on a modelled network; ARGS="--queries 1000000 --jobs 2"
	@$(bin)/python -m tests.simulation.rpc $(ARGS)

simulate-hub: setup-dev ## clients, the hub and services on a modelled network; ARGS="--streams 1000000 --jobs 2"
	@$(bin)/python -m tests.simulation.hub $(ARGS)

fuzz: setup-dev ## guided by coverage; ARGS="codec --runs 10000000", or connection, envelope, all
	@scripts/fuzz.sh $(or $(ARGS),all)

fuzz-properties: setup-dev ## the property tests with many more examples
	@HYPOTHESIS_PROFILE=fuzz scripts/test.sh tests/property --timeout=1800 $(ARGS)

attacks: setup-dev ## throw everything in tests/attacks as often as it says; takes some minutes
	@FRAMEHUB_ATTACKS=full scripts/test.sh tests/attacks --timeout=1800 $(ARGS)

buffers: setup-dev ## connect, send 1 MiB, close, 1,000 times: a gateway's memory stays; ARGS="--rounds 5000 --most 16"
	@$(bin)/python -m tests.chaos.buffers $(ARGS)

chaos: setup-dev ## kill -9 of workers, the proxy and clients, 100 of each; ARGS="--kills 10 proxy mixed"
	@$(bin)/python -m tests.chaos.rpc $(ARGS)

chaos-hub: setup-dev ## kill -9 of the hub, services and clients, 100 of each; ARGS="--kills 10 hub mixed"
	@$(bin)/python -m tests.chaos.hub $(ARGS)

chaos-remote: setup-dev ## a DataFrame calls a function while tasks, an executor, the proxy and a worker die
	@$(bin)/python -m tests.chaos.remote $(ARGS)

chaos-journal: setup-dev ## kill -9 of a gateway 100 times: what it acknowledged as durable is read back; ARGS="--kills 10"
	@$(bin)/python -m tests.chaos.journal $(ARGS)

resets: setup-dev ## reset connections to a gateway under full queues, 100,000 times; ARGS="--resets 10000 curve"
	@$(bin)/python -m tests.chaos.resets $(ARGS)

pipeline-kills: setup-dev ## kill -9 of the pipeline's driver and executors; ARGS="--kills 30 --seed 2"
	@$(bin)/python -m tests.chaos.pipeline $(ARGS)

cluster: setup-dev ## a run on a standalone Spark master with two workers on this machine
	@$(bin)/python -m tests.cluster $(ARGS)

client: setup-dev ## build the TypeScript client, for itself and for the wheel
	@scripts/npm.sh ci --silent
	@scripts/npm.sh run --silent build

console: setup-dev ## build the admin port's page, for the wheel
	@scripts/npm.sh ci --silent
	@scripts/npm.sh --prefix ../../web run --silent build

screenshots: setup-dev ## photograph the console in Chromium: docs/images/console-*.png
	@FRAMEHUB_SCREENSHOTS=docs/images $(bin)/python -m pytest -q tests/browser/test_console_pictures.py

docs: setup ## regenerate the pages of docs/reference that come from the code
	@$(bin)/python scripts/cli_reference.py
	@$(bin)/python scripts/tables_reference.py
	@$(bin)/python scripts/config_example.py

lock: ## choose the newest versions that fit and pin them in requirements/*.txt
	@scripts/lock.sh

stale: ## list saved results that are older than what they measure
	@$(or $(wildcard $(bin)/python),python3) -m scripts.stale

clean: ## remove caches and build output; .venv stays
	@rm -rf build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
	@find src tests benchmarks scripts fuzz -name __pycache__ -type d -prune -exec rm -rf {} +
