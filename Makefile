# Every command that a user or a maintainer types. `make help` lists them.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
CARGO ?= cargo
# Tests mount and make loop devices; only the kernel's rules need root, so only the runner asks for it.
ifneq ($(shell id -u),0)
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER ?= sudo -E
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER ?= sudo -E
endif

TARGET := $(or $(CARGO_TARGET_DIR),target)
COMMA := ,
# What users run is static: nothing can be missing beside it, and it takes less memory.
TRIPLE := $(shell uname -m)-unknown-linux-gnu
RELEASE := $(TARGET)/$(TRIPLE)/release
# Equal functions become one where the linker can do that: a megabyte less in the memory of each process.
FOLD := $(if $(filter x86_64-%,$(TRIPLE)),-Clink-arg=-Wl$(COMMA)--icf=all)
BUILD_RELEASE = RUSTFLAGS="-Ctarget-feature=+crt-static $(FOLD)" $(CARGO) build --quiet --locked --release --target $(TRIPLE)
AS_ROOT := $(if $(filter 0,$(shell id -u)),,sudo --preserve-env=DEMO_FAST,NO_COLOR,TERM)

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: ## install the system packages that the other targets need
	@test/setup/packages.sh

.PHONY: test
test: setup lint unit oracle contract sanity sanity-docker-if-any ## everything that a change must pass

.PHONY: lint
lint: fmt clippy doc deny ## formatting, lints, documentation, dependency rules

.PHONY: fmt
fmt: ## check the formatting
	$(CARGO) fmt --all --check

.PHONY: clippy
clippy: ## lints, warnings denied
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

.PHONY: doc
doc: ## documentation, broken links denied
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --locked --quiet

.PHONY: deny
deny: ## dependency bans, licences, sources
	"$$(test/setup/cargo-deny.sh)" --log-level error check bans licenses sources

.PHONY: audit
audit: ## known vulnerabilities; says so when the database cannot be reached
	@tool="$$(test/setup/cargo-deny.sh)"; \
	if [ -n "$${ADVISORY_DB:-}" ]; then "$$tool" check --disable-fetch advisories; else "$$tool" check advisories; fi \
	  || { echo "audit: NOT passed: see above. Where the advisory database cannot be reached, clone it elsewhere and set ADVISORY_DB." >&2; exit 1; }

.PHONY: unit
unit: setup ## unit, property and integration tests (as root: loop devices and mounts)
	$(CARGO) build --workspace --bins --locked
	$(CARGO) test --workspace --locked

.PHONY: sanity
sanity: setup ## the real csi-sanity over the binaries, nothing skipped (a selection; SANITY=--full: all)
	$(CARGO) build --quiet --locked -p azcsi-sim -p azcsi-disk -p azcsi-sanity
	suite="$$(test/sanity/build.sh)"; $(AS_ROOT) $(TARGET)/debug/azcsi-sanity $(SANITY) \
	  --bin $(TARGET)/debug --suite "$$suite" --reports $(TARGET)/sanity

.PHONY: sanity-docker
sanity-docker: setup ## the same suite with every process in a container (needs a Docker engine)
	$(CARGO) build --quiet --locked -p azcsi-sim -p azcsi-disk -p azcsi-sanity
	suite="$$(test/sanity/build.sh)"; $(AS_ROOT) test/sanity/docker/run.sh \
	  $(TARGET)/debug "$$suite" $(TARGET)/sanity-docker $(SANITY)

# run.sh leaves a file that says why when no Docker engine can run here; any other failure is one.
.PHONY: sanity-docker-if-any
sanity-docker-if-any:
	@# The reason of an earlier run must not excuse what fails before run.sh begins.
	@$(AS_ROOT) rm -f $(TARGET)/sanity-docker/no-engine
	@$(MAKE) --no-print-directory sanity-docker || { code=$$?; \
	  test -e $(TARGET)/sanity-docker/no-engine || exit $$code; \
	  echo "NOT RUN: csi-sanity in containers: $$(cat $(TARGET)/sanity-docker/no-engine)"; }

.PHONY: oracle
oracle: setup ## in-tree translation against Kubernetes' own translator (ORACLE: how many objects)
	program="$$(test/oracle/build.sh)"; \
	$(CARGO) run --quiet --locked -p azcsi-migration --example oracle -- "$$program" $(or $(ORACLE),20000)

.PHONY: full
full: test ## the long way: a large model run, and csi-sanity in every combination and 20 seeds
	AZCSI_MODEL_CASES=$${AZCSI_MODEL_CASES:-1000} $(CARGO) test --locked -p azcsi-it --test it model
	AZCSI_FAULT_EVERY=1 $(CARGO) test --locked -p azcsi-it --test it harness
	$(MAKE) sanity SANITY=--full
	$(MAKE) sanity-docker SANITY=--full
	$(MAKE) oracle ORACLE=1000000

.PHONY: contract
contract: setup ## the simulator against official Azure clients and the models of an SDK
	@test/contract/run.sh

.PHONY: deploy-check
deploy-check: ## charts, manifests and examples without a cluster (builds helm once)
	@test/deploy/check.sh

.PHONY: image
image: setup ## the drivers' images as archives for containerd, in target/image (no engine, no registry)
	$(BUILD_RELEASE) -p azcsi-disk -p azcsi-file
	@deploy/image/build.sh disk $(RELEASE)/azuredisk-csi $(TARGET)/image
	@deploy/image/build.sh file $(RELEASE)/azurefile-csi $(TARGET)/image

.PHONY: e2e
e2e: setup ## the charts on a real Kubernetes with the real sidecars (E2E='--only life': a selection)
	@test/setup/e2e.sh
	$(CARGO) build --quiet --locked -p azcsi-sim -p azcsi-disk -p azcsi-e2e
	programs="$$(test/e2e/build.sh --all)"; helm="$$(test/deploy/build.sh helm)"; \
	rm -rf $(TARGET)/e2e-images; test/e2e/images.sh "$$programs" $(TARGET)/e2e-images; \
	deploy/image/build.sh disk $(TARGET)/debug/azuredisk-csi $(TARGET)/e2e-driver e2e; \
	ln $(TARGET)/e2e-driver/azuredisk-csi-e2e.tar $(TARGET)/e2e-images/; \
	$(AS_ROOT) $(TARGET)/debug/azcsi-e2e --bin $(TARGET)/debug --programs "$$programs" --helm "$$helm" \
	  --images $(TARGET)/e2e-images --deploy deploy $(E2E)

.PHONY: demo
demo: setup ## a volume's whole life on real devices, told while it happens (DEMO_FAST=1: quickly)
	$(CARGO) build --quiet --locked -p azcsi-sim -p azcsi-disk -p azcsi-demo
	@$(AS_ROOT) $(TARGET)/debug/azcsi-demo --bin $(TARGET)/debug

.PHONY: lab
lab: ## the drivers on virtual nodes with hot-plugged disks and real shares (LAB=--quick: a selection)
	@test/setup/lab.sh
	$(CARGO) build --quiet --locked -p azcsi-sim -p azcsi-disk -p azcsi-file -p azcsi-lab
	@suite="$$(test/sanity/build.sh)"; $(TARGET)/debug/azcsi-lab --bin $(TARGET)/debug --suite "$$suite" $(LAB)

.PHONY: bench
bench: setup ## speed and size of the release binaries, beside their budgets
	$(BUILD_RELEASE) -p azcsi-sim -p azcsi-disk -p azcsi-file -p azcsi-bench
	$(BUILD_RELEASE) -p azcsi-migrate --bins --examples
	@$(AS_ROOT) $(RELEASE)/azcsi-bench --bin $(RELEASE)
	@$(RELEASE)/examples/scan_size $(RELEASE)/azcsi-migrate

.PHONY: clean
clean: ## remove what was built
	$(CARGO) clean
