# Thin names for what cargo and npm do. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help run playground test bench bench-http conformance format regenerate-graphql-js

# Where `make run` listens; port 0 is any that is free.
LISTEN ?= 127.0.0.1:8080

help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Serve the example catalog (LISTEN=HOST:PORT says where)
	@$(MAKE) --no-print-directory playground || echo 'running without the playground' >&2
	cargo run --release --locked -- serve example=examples/catalog --listen $(LISTEN)

playground: playground/dist/site/index.html.gz ## Build the page that is served at / (the next build of catalogql has it)
	@:

test: tests/js/node_modules playground ## Run every test
	tests/setup.sh
	cargo test --workspace --locked
	npm --prefix tests/js run check
	npm --prefix tests/js run audit
	npm --prefix playground test

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

playground/dist/site/index.html.gz: playground/node_modules $(wildcard playground/src/* playground/*.*) examples/operations.graphql
	npm --prefix playground run build

# Exactly what the lock file says, again whenever it changed.
%/node_modules: %/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node 20 or newer (Debian: apt-get install nodejs npm)' >&2; exit 1; }
	npm --prefix $* ci --no-audit --no-fund
	@touch $@
