# Thin names for what cargo and npm do. `make` alone lists them.

.DEFAULT_GOAL := help
.PHONY: help run pages explorer playground licenses test test-cluster test-all bench bench-pages bench-http soak conformance format image release regenerate-graphql-js

# Where cargo leaves what it builds.
BUILT := $(or $(CARGO_TARGET_DIR),target)

# The tests that had nothing to look at, such as a catalog of the corpus; `make test` ends with them.
SKIPPED := $(abspath $(BUILT))/skipped-tests.txt

# How long `make soak` takes.
MINUTES ?= 10

# Where `make run` listens; port 0 is any that is free.
LISTEN ?= 127.0.0.1:8080

help: ## List what there is to make
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-24s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A first build takes less time without incremental compilation.
run test test-cluster: export CARGO_INCREMENTAL ?= 0

run: ## Serve the example catalog (LISTEN=HOST:PORT says where)
	@$(MAKE) --no-print-directory -j2 pages || echo 'running without the pages for people' >&2
	@[ -x $(BUILT)/debug/catalogql ] || echo '==> catalogql (6 minutes on two cores, once)' >&2
	cargo run --locked --no-default-features --features workspace-hack -- serve example=examples/catalog --listen $(LISTEN)

pages: explorer playground ## Build the pages for people (the next build of catalogql has them)

explorer: explorer/dist/site/index.html.gz ## Build the catalog explorer, the page at /
	@:

playground: playground/dist/site/index.html.gz ## Build the page at /playground/
	@:

licenses: release/dist/third-party.txt.gz ## Collect what `catalogql licenses` prints (the next build of catalogql has it)
	@:

# Prints each step with how long it takes.
STEP := tests/step.sh

# Tests wait for processes and clocks longer than they compute.
test test-cluster: export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
test test-cluster: export CATALOGQL_SKIPPED_TESTS = $(SKIPPED)

test: tests/js/node_modules tests/js/tools/node_modules pages licenses ## Run the tests that need Rust, Node and Python
	@tests/setup.sh
	@mkdir -p $(dir $(SKIPPED)) && : > $(SKIPPED)
	@$(STEP) 'Rust' '9 minutes, 15 with an empty cache' cargo test --workspace --locked
	@$(STEP) 'OpenPGP' '2 minutes, once' cargo test --locked --package signature-policy --features signatures-gpg
	@$(STEP) 'recorded answers of graphql-js' 'seconds' npm --prefix tests/js run check
	@$(STEP) 'GraphQL over HTTP audit' 'seconds' npm --prefix tests/js run audit
	@$(STEP) 'schema, paging and streams in JavaScript' 'half a minute' npm --prefix tests/js test
	@$(STEP) 'mutated documents against graphql-js' 'a minute' npm --prefix tests/js run differential
	@$(STEP) 'clients and tools of GraphQL' 'a minute' npm --prefix tests/js/tools test
	@$(STEP) 'playground in Chromium' 'a minute' npm --prefix playground test
	@$(STEP) 'explorer in Chromium' '5 minutes' npm --prefix explorer test
	@tests/skipped.sh $(SKIPPED)

test-cluster: pages licenses ## Run the tests against a real kube-apiserver, Helm and Go clients (needs Go)
	@tests/setup.sh
	@tests/setup.sh cluster
	@mkdir -p $(dir $(SKIPPED)) && : > $(SKIPPED)
	@$(STEP) 'Kubernetes' '7 minutes' cargo test --workspace --locked --test cluster
	@tests/skipped.sh $(SKIPPED)

test-all: ## Run every test
	@$(MAKE) --no-print-directory test-cluster
	@$(MAKE) --no-print-directory test

bench: ## Measure loading, look-ups and execution
	cargo bench --workspace --locked

bench-pages: pages playground/node_modules ## Measure the explorer over a real catalog against its budget (needs Node)
	cargo build --release --locked
	node explorer/bench.mjs $(BUILT)/release/catalogql

bench-http: benches/peers/graphql-js/node_modules benches/peers/mercurius/node_modules ## Measure HTTP against nginx, graphql-js and mercurius, and swaps under load (needs nginx, wrk, h2load and Node)
	cargo build --release --locked
	python3 benches/http/plain.py $(BUILT)/release/catalogql
	python3 benches/http/graphql.py $(BUILT)/release/catalogql
	python3 benches/http/fanout.py $(BUILT)/release/catalogql
	python3 benches/http/swaps.py $(BUILT)/release/catalogql
	python3 benches/http/attackers.py $(BUILT)/release/catalogql
	python3 benches/http/tls.py $(BUILT)/release/catalogql
	python3 benches/http/access.py $(BUILT)/release/catalogql

soak: ## Keep a controller busy with good and bad clients, then three replicas behind Varnish under faults, for MINUTES=10 in all; watch memory and descriptors (needs openssl, h2load and Go)
	cargo build --release --locked --features shared-store
	cargo build --locked --package testing --example cluster
	python3 benches/http/soak.py $(BUILT)/release/catalogql $(BUILT)/debug/examples/cluster $$(($(MINUTES) / 2))
	tests/conformance/replicas/replicas.py $(BUILT)/release/catalogql $(BUILT)/debug/examples/cluster $$(($(MINUTES) / 2))

conformance: export CATALOGQL_SKIPPED_TESTS = $(SKIPPED)
conformance: tests/js/node_modules tests/conformance/federation/node_modules ## The long form of what make test does briefly: schemathesis, graphql-js, paging, a cluster, every alert, traces, oauth2-proxy, oc-mirror, nginx, Varnish, HAProxy, replicas under faults and scaled by CPU time, DuckDB, DataFusion, MCP clients, and upstream's programs as clients
	@mkdir -p $(dir $(SKIPPED)) && : > $(SKIPPED)
	cargo build --locked --features export-parquet,mcp,shared-store,signatures-gpg,source-git
	CATALOGQL_CHURN=$$(date +%s):200:40:300 cargo test --locked --test cluster outages -- --nocapture
	CATALOGQL_ALL_FAULTS=1 cargo test --locked --test cluster prometheus -- --nocapture
	WALKS=1000 npm --prefix tests/js test
	CATALOGQL_BAD_QUERIES=14:20000 cargo test --locked --test it bad_queries -- --nocapture
	npm --prefix tests/js run differential -- 50000
	tests/conformance/schemathesis.sh $(BUILT)/debug/catalogql
	tests/conformance/clairvoyance.sh $(BUILT)/debug/catalogql
	tests/conformance/collector.sh $(BUILT)/debug/catalogql
	tests/conformance/systemd.sh $(BUILT)/debug/catalogql
	tests/conformance/signatures/signatures.py $(BUILT)/debug/catalogql
	tests/conformance/mirror/mirror.py $(BUILT)/debug/catalogql
	tests/conformance/mirror/mirror.py $(BUILT)/debug/catalogql measure
	cargo build --locked --package kubectl-catalog
	cargo build --locked --package testing --example cluster
	tests/conformance/publish/publish.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/oauth2-proxy/oauth2_proxy.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/upstream/extensions.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/upstream/subscriptions.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/upstream/many.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/renovate/renovate.py $(BUILT)/debug/catalogql
	tests/conformance/sources/sources.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	tests/conformance/caches/caches.py $(BUILT)/debug/catalogql
	tests/conformance/export/export.py $(BUILT)/debug/catalogql
	tests/conformance/mcp/mcp.py $(BUILT)/debug/catalogql
	tests/conformance/feeds/feeds.py $(BUILT)/debug/catalogql
	tests/conformance/shared-store/shared_store.py $(BUILT)/debug/catalogql
	tests/conformance/replicas/replicas.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster 3
	tests/conformance/autoscaling/autoscaling.py $(BUILT)/debug/catalogql $(BUILT)/debug/examples/cluster
	CATALOGQL_CHAOS=$${CATALOGQL_CHAOS:-38:50:60} cargo test --locked --test cluster chaos -- --nocapture
	tests/conformance/federation/federation.mjs $(BUILT)/debug/catalogql
	@tests/skipped.sh $(SKIPPED)

image: ## Build the image of a release for this machine (needs zstd); release/image.py says for others
	release/image.py $(BUILT)/catalogql.tar $$(uname -m)="$$(release/build.sh)"

release: ## Make everything of a release in a folder (MACHINES='x86_64 aarch64 ppc64le s390x x86_64-windows', URL=https://…); docs/how-to/publish-a-release.md
	MACHINES="$(MACHINES)" URL="$(URL)" release/make.sh

format: ## Format the code
	cargo fmt --all

regenerate-graphql-js: tests/js/node_modules ## Record anew what graphql-js answers
	npm --prefix tests/js run record

# What both pages are made of: the look of the head, texts and places, the icon, and what their builds do alike.
SHARED := $(wildcard explorer/src/style/* explorer/src/shared/*) playground/src/icon.svg playground/build.ts

# The types of its tests are checked too, which share a setup with those of the playground.
explorer/dist/site/index.html.gz: explorer/node_modules playground/node_modules $(shell find explorer/src explorer/scripts -type f -not -path '*/generated/*') $(wildcard explorer/*.*) $(SHARED) schema.graphql
	npm --prefix explorer run build

playground/dist/site/index.html.gz: playground/node_modules $(wildcard playground/src/* playground/*.*) $(SHARED) examples/operations.graphql
	npm --prefix playground run build

release/dist/third-party.txt.gz: release/third_party.py Cargo.lock explorer/dist/site/index.html.gz playground/dist/site/index.html.gz
	release/third_party.py licenses.gz $(or $(MACHINE),$(shell uname -m)) > $@.part
	@mv $@.part $@

# Exactly what the lock file says, again whenever it changed.
%/node_modules: %/package-lock.json
	@command -v npm >/dev/null || { echo 'npm is missing: install Node 20 or newer (Debian: apt-get install nodejs npm)' >&2; exit 1; }
	npm --prefix $* ci --no-audit --no-fund
	@touch $@
