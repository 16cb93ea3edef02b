# Countersign. "make help" lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := bin
TOOLS   := $(BIN)/tools
GO      ?= go
LDFLAGS := -s -w -X main.version=$(VERSION)

# These flags apply to every go command, so that tests share compiled packages with the build. The web framework's msgpack
# support is not used and would account for a fifth of the program. TAGS=azure includes Azure Blob Storage, as in releases.
# TAGS=pkcs11 includes support for keys in hardware modules, which requires cgo.
TAGS  ?=
comma := ,
export GOFLAGS := -trimpath -tags=nomsgpack$(addprefix $(comma),$(TAGS)) $(GOFLAGS)

# PKG selects the packages to test. NORACE matches the packages that are tested without the race detector, because they
# only compute (seal), hash hundreds of passwords, which takes minutes under the detector (api), or mainly control other
# processes (test).
PKG     ?= ./...
NORACE  ?= ^countersign/(api|seal|test)(/|$$)
TIMEOUT ?= 25m

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Build

# Temporal is compiled while the npm packages for the pages are downloaded. The server is built afterwards, because a
# parallel build would compile the packages that it shares with Temporal twice.
.PHONY: build
build: ## Build bin/countersign and bin/countersign-temporal
	@$(MAKE) --no-print-directory -j2 web temporal
	@$(MAKE) --no-print-directory server

# go build determines what is out of date, and does not link if nothing is. GOGC makes the compiler collect garbage less
# often than by default. For the largest package, this saves a fifth of the time but needs 1.1 GB of memory instead of 0.8.
.PHONY: server
server: web
	GOGC=400 $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/countersign ./cmd/countersign

# The bundled Temporal rarely changes and is slow to link, so the version number is not linked into it.
.PHONY: temporal
temporal: ## Build bin/countersign-temporal (several minutes the first time)
	GOGC=400 $(GO) -C temporal/devserver build -ldflags '-s -w' -o $(CURDIR)/$(BIN)/countersign-temporal .

# The pages are built only if one of their source files is newer than the last build.
WEB_SOURCES := $(wildcard web/*.ts web/*.mjs web/*.json web/*.html) $(shell find web/src web/public locales -type f 2>/dev/null)

.PHONY: web
web: $(if $(wildcard web/vite.config.*),$(BIN)/.web)

$(BIN)/.web: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run build
	@mkdir -p $(BIN) && touch $@

# "npm ci" is not used because it requires the optional packages for all other platforms in the lock file, which a registry
# might not have. Versions and digests are nevertheless taken from the lock file.
web/node_modules/.package-lock.json: web/package-lock.json
	npm --prefix web install --no-save --no-audit --no-fund
	@touch $@

LISTEN ?= 127.0.0.1:8080

.PHONY: dev
dev: ## Build and run the whole service on this machine (LISTEN=127.0.0.1:8080)
	@MAKE='$(MAKE)' GO='$(GO)' LISTEN='$(LISTEN)' exec tools/dev

.PHONY: generate
generate: ## Run the code generators
	$(GO) generate ./...

.PHONY: clean
clean: ## Remove the build output (data/ is kept)
	rm -rf $(BIN) web/dist web/node_modules

# This check is not part of the build, so that a first run does not have to wait for it.
$(BIN)/.web-checked: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run check
	@mkdir -p $(BIN) && touch $@

##### Check

.PHONY: check-web
check-web: $(BIN)/.web-checked ## Check the pages' types, imports and messages

# A private instance is started for each test server that is not specified in the environment (COUNTERSIGN_TEST_POSTGRES,
# COUNTERSIGN_TEST_TEMPORAL).
suite = PKG='$(PKG)' NORACE='$(NORACE)' TIMEOUT='$(TIMEOUT)' $(TOOLS)/testenv .ci/suite $(1) | \
	$(TOOLS)/gotestsum --format pkgname-and-test-fails --hide-summary=output --jsonfile $(BIN)/$(1).json --raw-command -- cat

# Everything that the tests need in addition to the build. Most of it is downloaded, so the targets run in parallel.
.PHONY: tests-need
tests-need: build
	@.ci/step 'what the tests need' $(MAKE) --no-print-directory -j4 --output-sync=target setup $(BIN)/.clients $(TOOLS)/gotestsum $(TOOLS)/testenv

.PHONY: test
test: tests-need ## Run every package's tests once, on real PostgreSQL, Temporal, Chromium and PDF tools (PKG=./store/...)
	@$(call suite,test)

# The steps continue after a failure, so that one run reports all problems.
.PHONY: check
check: ## After "make test": lint, clients, and the tests that take longer: race detector, PgBouncer, faults, all languages (PKG=./store/...)
	@status=0; for target in lint clients check-tests; do .ci/step "make $$target" $(MAKE) --no-print-directory $$target || status=1; done; exit $$status

.PHONY: check-tests
check-tests: tests-need
	@$(call suite,check)

.PHONY: quick
quick: ## Test changed files, the rules, the workflows and the store on SQLite (within a minute, without other software)
	@.ci/quick

# The packages whose tests use PostgreSQL. They run one after another, because there are only four connections to the
# server. test/clients and test/browser are not included because they test dev, which uses SQLite.
POOLED ?= ./store ./activities ./operate/... ./worker ./workflows ./api ./test/conformance ./test/e2e ./test/faults

.PHONY: test-pgbouncer
test-pgbouncer: setup build $(TOOLS)/testenv ## Run the tests that use PostgreSQL through PgBouncer in transaction mode (POOLED=./store)
	$(TOOLS)/testenv -pgbouncer $(GO) test -p 1 -count=1 -timeout $(TIMEOUT) $(POOLED)

# An actual failure includes the failing input. Without an input, "context deadline exceeded" comes from the fuzzing engine,
# which occasionally reports the end of the fuzzing time as an error.
FUZZTIME ?= 10m

.PHONY: fuzz
fuzz: ## Fuzz every target, one after another (FUZZTIME=10m each)
	@status=0; while IFS=: read -r file name; do \
		echo "$$file $$name"; log=$$(mktemp); \
		$(GO) test "$$(dirname "$$file")" -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x -parallel 1 >"$$log" 2>&1 \
			|| ! grep -qv -e '^fuzz: elapsed' -e '^--- FAIL' -e '^    context deadline exceeded$$' -e '^FAIL' -e '^exit status 1$$' "$$log" \
			|| { cat "$$log"; status=1; }; \
		grep '^fuzz: elapsed' "$$log" | tail -1; rm "$$log"; \
	done < <(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' ./*/); exit $$status

.PHONY: setup
setup: ## Install the Debian packages that the tests need and this machine lacks
	@.ci/packages

.PHONY: lint
lint: web check-web $(TOOLS)/golangci-lint $(TOOLS)/workflowcheck check-compose check-deploy check-contract check-mutants check-notice check-workflows ## Check style, imports, formatting, and the determinism of workflows
	$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	cd temporal/devserver && $(CURDIR)/$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	cd tools && $(CURDIR)/$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	cd tools/deploycheck && $(CURDIR)/$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	cd clients/go && $(CURDIR)/$(TOOLS)/golangci-lint run --allow-parallel-runners ./...
	$(TOOLS)/workflowcheck ./workflows/...

.PHONY: fmt
fmt: $(TOOLS)/golangci-lint ## Format the Go code
	$(TOOLS)/golangci-lint fmt ./...
	cd temporal/devserver && $(CURDIR)/$(TOOLS)/golangci-lint fmt ./...
	cd tools && $(CURDIR)/$(TOOLS)/golangci-lint fmt ./...

# This npm module is separate from the Go modules.
CONTRACT_NODE := tools/contract/node_modules/.package-lock.json

$(CONTRACT_NODE): tools/contract/package-lock.json
	npm --prefix tools/contract install --no-save --no-audit --no-fund
	@touch $@

.PHONY: manifests
manifests: $(TOOLS)/deploycheck ## Write the Kubernetes manifests that the Helm chart renders
	$(TOOLS)/deploycheck -write deploy

.PHONY: check-contract
check-contract: $(CONTRACT_NODE) ## Check the contract with Redocly's recommended rules
	cd tools/contract && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true node_modules/.bin/redocly lint ../../api/openapi.yaml ../../api/console.yaml

.PHONY: check-compose
check-compose: $(TOOLS)/composecheck ## Parse docker-compose.yml and check its references
	$(TOOLS)/composecheck -env deploy/env.example docker-compose.yml
	$(GO) -C tools test -vet=off ./composecheck

.PHONY: check-deploy
check-deploy: $(TOOLS)/deploycheck ## Parse the alert rules, the dashboard and the Kubernetes manifests, and lint and render the Helm chart
	$(TOOLS)/deploycheck deploy
	$(GO) -C tools/deploycheck test -vet=off ./...

.PHONY: notice
notice: web $(TOOLS)/notice ## Write NOTICE: the licenses of everything bundled in releases
	$(TOOLS)/notice

.PHONY: check-notice
check-notice: web $(TOOLS)/notice ## Check that NOTICE lists all modules, npm packages, fonts and files that releases bundle
	$(TOOLS)/notice -check
	$(GO) -C tools test -vet=off ./notice

.PHONY: check-mutants
check-mutants: web $(TOOLS)/mutants ## Check that test/mutants.txt names only changes that exist (bin/tools/mutants -mend renames those that moved)
	$(TOOLS)/mutants -list -count 0 >/dev/null
	$(GO) -C tools test -vet=off ./mutants

.PHONY: conformance
conformance: build $(TOOLS)/testenv ## Check a deployment against the interface (BASE_URL=… CLIENT_ID=… CLIENT_SECRET=…)
	$(TOOLS)/testenv $(GO) test -count=1 ./test/conformance/...

# Each row is tested ROUNDS times. SEED determines the random choices. If it is 0, a new seed is used and printed.
ROUNDS ?= 10
SEED   ?= 0

.PHONY: faults
faults: build $(TOOLS)/testenv ## Run the fault injection tests (ROUNDS=10 SEED=0; up to an hour)
	$(TOOLS)/testenv $(GO) test -count=1 -timeout 3h -v ./test/faults -rounds $(ROUNDS) -seed $(SEED)

# The faults occur one after another in random order. Each lasts a minute and is followed by half a minute without faults,
# so 3m covers two faults, and 20m covers each fault twice. ONLY=temporal,mail selects certain faults.
NIGHT ?= 20m
RATE  ?= 2

.PHONY: night
night: build $(TOOLS)/alertwatch ## Inject faults under load, and check that nothing is lost, the right alerts fire, and recovery is automatic (NIGHT=20m RATE=2 SEED=0 ONLY=)
	$(GO) test -tags nomsgpack,night -count=1 -timeout 3h -v -run '^TestNight$$' ./test/faults -night $(NIGHT) -rate $(RATE) -seed $(SEED) -only '$(ONLY)'

# The number of forgeries of each of three kinds, for each of six files. CHECKS=20000 takes more than an hour.
CHECKS ?= 500

.PHONY: forgeries
forgeries: setup web/node_modules/.package-lock.json ## Test the verification with forged files: every known forgery, every byte, and CHECKS=500 generated ones of each kind (2 minutes on two processors)
	$(GO) test -count=1 -timeout 3h ./test/forgeries -long -rapid.checks=$(CHECKS)

# SEED determines which COUNT changes are tested. COUNT=0 without a time limit tests all changes, which takes days.
COUNT ?= 155

.PHONY: mutants
mutants: build $(TOOLS)/testenv $(TOOLS)/mutants ## Run mutation tests and list the changes that no test detects (COUNT=155 SEED=0; up to two hours)
	$(TOOLS)/testenv $(TOOLS)/mutants -count $(COUNT) -seed $(SEED) -time 2h

# Keep the histories of released versions, because envelopes started with them must continue to work. New histories are
# needed if workflows or activities are renamed.
HISTORIES ?= unreleased

.PHONY: histories
histories: $(TOOLS)/testenv ## Record the workflow histories again, using a real Temporal server (HISTORIES=unreleased is the folder)
	rm -rf workflows/testdata/histories/$(HISTORIES)
	$(TOOLS)/testenv $(GO) test ./workflows -run 'TestFreshHistoriesReplay|TestContinuedHistoriesReplay' -count=1 -record '$(HISTORIES)'

CLIENTS_NODE := clients/typescript/node_modules/.package-lock.json

# Third-party programs that test/clients runs.
TESTS_NODE := test/clients/node_modules/.package-lock.json

.PHONY: clients
clients: $(TOOLS)/oapi-codegen $(TOOLS)/oasdiff $(CLIENTS_NODE) $(TESTS_NODE) ## Check and build the client libraries: generated code, breaking changes, tests
	clients/check.sh

.PHONY: generate-clients
generate-clients: $(TOOLS)/oapi-codegen ## Generate the Go client from the contract
	clients/check.sh --generate

$(CLIENTS_NODE): clients/typescript/package-lock.json
	npm --prefix clients/typescript install --no-save --no-audit --no-fund
	@touch $@

$(TESTS_NODE): test/clients/package-lock.json
	npm --prefix test/clients install --no-save --no-audit --no-fund
	@touch $@

$(BIN)/.clients: $(CLIENTS_NODE) $(TESTS_NODE) api/openapi.yaml $(wildcard clients/typescript/src/*.ts)
	npm --prefix clients/typescript run --silent build
	@mkdir -p $(BIN) && touch $@

##### Measure

.PHONY: bench
bench: build $(TOOLS)/testenv ## Measure the service (PostgreSQL with fsync on)
	$(TOOLS)/testenv -durable $(GO) run ./test/bench

.PHONY: load
load: build $(TOOLS)/testenv ## Measure under load: a mix, 2,000 envelopes at once, 20,000 deliveries to an unavailable endpoint
	$(TOOLS)/testenv -durable $(GO) run ./test/bench load burst backlog

.PHONY: profile
profile: build ## Profile the API and worker under the mixed load of "make load": writes bin/profiles and prints the top consumers
	$(GO) run ./test/bench profile

.PHONY: soak
soak: build $(TOOLS)/testenv ## Run the mixed load of "make load" for ten minutes
	$(TOOLS)/testenv -durable $(GO) run ./test/bench soak

.PHONY: bench-send
bench-send: build $(TOOLS)/testenv ## Compare envelopes from a template with uploaded ones, and a bulk send of ROWS (1000) with single sends
	$(TOOLS)/testenv -durable $(GO) run ./test/bench -rows $(or $(ROWS),1000) send bulk

.PHONY: bench-hang
bench-hang: build $(TOOLS)/testenv ## Measure expiry, voiding, sealing, emails and deliveries while 500 emails and 500 deliveries of another app hang, alternating with a control
	$(TOOLS)/testenv -durable $(GO) run ./test/bench memory actions hang

.PHONY: bench-scale
bench-scale: $(TOOLS)/testenv ## Compare 1,000 and ENVELOPES (1000000) envelopes (several minutes; 1.7 KB of disk for each)
	$(TOOLS)/testenv -durable $(GO) run ./test/bench/scale -envelopes $(or $(ENVELOPES),1000000)

.PHONY: bench-archive
bench-archive: $(TOOLS)/testenv ## Archive ENVELOPES (10000) completed envelopes and measure size, speed and the cost of reading one (AMONG=others, S3=1)
	$(TOOLS)/testenv -durable $(GO) run ./test/bench/scale -archive $(or $(ENVELOPES),10000) $(if $(AMONG),-among $(AMONG)) $(if $(S3),-s3)

.PHONY: walk
walk: $(TOOLS)/testenv ## Count the packages whose code a signature executes (TREE=another working tree)
	$(TOOLS)/testenv $(GO) run ./test/walk -tree $(or $(TREE),.)

.PHONY: bench-web
bench-web: build $(BIN)/.clients ## Measure the pages (script size, largest contentful paint; the builder with 100 fields and with 500 pages)
	BROWSER_TEST_FIGURES=1 $(GO) test ./test/browser -run TestFigures -v -count=1

.PHONY: bench-pages
bench-pages: build $(TOOLS)/testenv ## Measure rendering: CPU time, image size and memory for a page; CPU time for two signers who view all pages
	$(GO) test ./seal/appearance -run '^$$' -bench 'Page|Process' -benchtime 10x
	$(TOOLS)/testenv -durable $(GO) run ./test/bench pages

.PHONY: bench-prepare
bench-prepare: $(TOOLS)/testenv ## Measure preparation: an upload of 50 pages with and without all options, and tags and anchors on 4,000 pages compared with pdftotext
	$(TOOLS)/testenv $(GO) test ./api -run '^$$' -bench Upload -benchtime 100x
	$(GO) test ./seal/admission -run '^$$' -bench Upload -benchtime 20x -count 3
	$(GO) test ./prepare -run '^$$' -bench Large -benchtime 2x

.PHONY: bench-seal
bench-seal: ## Measure the sealing engine
	$(GO) run ./seal/bench

# CORPUS is outside the repository, because it contains other people's files. FILES=0 selects all files.
CORPUS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/countersign/corpus
FILES  ?= 1200

.PHONY: corpus
corpus: setup ## Seal PDFs from many producers and verify them with five programs (FILES=1200; downloads 2 GB once, then takes 15 minutes)
	seal/corpus/collect '$(CORPUS)'
	$(GO) run ./seal/corpus -files $(FILES) '$(CORPUS)/packages/' '$(CORPUS)/made/'

##### Release

# To build for a single platform, a copy of the release configuration is used that lists only that platform.
.PHONY: snapshot
snapshot: $(TOOLS)/goreleaser ## Build the files of a release in bin/release: archives, packages, checksums, SBOMs (TARGET=linux_amd64 for one platform)
	target='$(TARGET)'; sed -e '' $${target:+-e "s/\[linux, darwin\]/[$${target%_*}]/" -e "s/\[amd64, arm64\]/[$${target#*_}]/"} .goreleaser.yaml >$(BIN)/goreleaser.yaml
	$(TOOLS)/goreleaser release --config $(BIN)/goreleaser.yaml --snapshot --clean --skip=docker,sign --parallelism 1 --timeout 3h

.PHONY: check-release
check-release: $(TOOLS)/goreleaser ## Check the release configuration
	$(TOOLS)/goreleaser check

.PHONY: check-workflows
check-workflows: $(TOOLS)/actionlint ## Check the workflows of .github
	$(TOOLS)/actionlint

.PHONY: rename
rename: ## Change the module paths to those of the repository host: MODULE=example.org/countersign
	$(GO) -C tools run ./rename -root .. -to '$(MODULE)'

##### Tools, pinned in tools/go.mod

TOOLS_SOURCES := tools/go.mod tools/go.sum

$(TOOLS)/golangci-lint: $(TOOLS_SOURCES)
	$(GO) -C tools build -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

$(TOOLS)/gotestsum: $(TOOLS_SOURCES)
	$(GO) -C tools build -o $(CURDIR)/$@ gotest.tools/gotestsum

$(TOOLS)/mutants: $(TOOLS_SOURCES) $(wildcard tools/mutants/*.go)
	$(GO) -C tools build -o $(CURDIR)/$@ ./mutants

$(TOOLS)/workflowcheck: $(TOOLS_SOURCES)
	$(GO) -C tools build -o $(CURDIR)/$@ go.temporal.io/sdk/contrib/tools/workflowcheck

RELEASE_SOURCES := tools/release/go.mod tools/release/go.sum

$(TOOLS)/goreleaser: $(RELEASE_SOURCES)
	$(GO) -C tools/release build -o $(CURDIR)/$@ github.com/goreleaser/goreleaser/v2

$(TOOLS)/cyclonedx-gomod: $(RELEASE_SOURCES)
	$(GO) -C tools/release build -o $(CURDIR)/$@ github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod

$(TOOLS)/actionlint: tools/actionlint/go.mod tools/actionlint/go.sum
	$(GO) -C tools/actionlint build -o $(CURDIR)/$@ github.com/rhysd/actionlint/cmd/actionlint

# deploycheck is a separate module because its parsers are large and not needed elsewhere.
$(TOOLS)/deploycheck: $(wildcard tools/deploycheck/*)
	$(GO) -C tools/deploycheck build -o $(CURDIR)/$@ .

$(TOOLS)/alertwatch: $(wildcard tools/deploycheck/alertwatch/*.go tools/deploycheck/go.mod)
	$(GO) -C tools/deploycheck build -o $(CURDIR)/$@ ./alertwatch

$(TOOLS)/notice: $(TOOLS_SOURCES) $(wildcard tools/notice/*.go tools/notice/licenses/*)
	$(GO) -C tools build -o $(CURDIR)/$@ ./notice

$(TOOLS)/composecheck: $(TOOLS_SOURCES) $(wildcard tools/composecheck/*.go)
	$(GO) -C tools build -o $(CURDIR)/$@ ./composecheck

$(TOOLS)/oapi-codegen: tools/contract/go.mod tools/contract/go.sum
	$(GO) -C tools/contract build -o $(CURDIR)/$@ github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen

$(TOOLS)/oasdiff: tools/contract/go.mod tools/contract/go.sum
	$(GO) -C tools/contract build -o $(CURDIR)/$@ github.com/oasdiff/oasdiff

.PHONY: $(TOOLS)/testenv
$(TOOLS)/testenv:
	@$(GO) build -o $@ ./test/kit/testenv
