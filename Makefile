# Thin names for what cargo and npm do. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help run test bench bench-http conformance format regenerate-graphql-js

# Where `make run` listens; port 0 is any that is free.
LISTEN ?= 127.0.0.1:8080

help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Serve the example catalog (LISTEN=HOST:PORT says where)
	cargo run --release --locked -- serve example=examples/catalog --listen $(LISTEN)

test: tests/js/node_modules ## Run every test
	cargo test --workspace --locked
	npm --prefix tests/js run check
	npm --prefix tests/js run audit

bench: ## Measure loading, look-ups and execution
	cargo bench --workspace --locked

bench-http: ## Measure plain HTTP against nginx (needs nginx and wrk)
	cargo build --release --locked
	python3 benches/http/run.py target/release/catalogql

conformance: ## Hold a server to its OpenAPI document (schemathesis)
	cargo build --locked
	tests/conformance/schemathesis.sh target/debug/catalogql

format: ## Format the code
	cargo fmt --all

regenerate-graphql-js: tests/js/node_modules ## Record anew what graphql-js answers
	npm --prefix tests/js run record

# Exactly what the lock file says, again whenever it changed.
tests/js/node_modules: tests/js/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node 20 or newer (Debian: apt-get install nodejs npm)' >&2; exit 1; }
	npm --prefix tests/js ci --no-audit --no-fund
	@touch $@
