# Countersign. "make help" lists what can be made.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BIN     := bin
TOOLS   := $(BIN)/tools
GO      ?= go
LDFLAGS := -s -w -X main.version=$(VERSION)

# For every go command, so that the tests share the compiled packages of the build. Nobody speaks the
# web framework's msgpack, and it would be a fifth of the program. TAGS=azure includes Azure Blob Storage, as
# releases do; TAGS=pkcs11 includes keys of hardware modules, which need cgo.
TAGS  ?=
comma := ,
export GOFLAGS := -trimpath -tags=nomsgpack$(addprefix $(comma),$(TAGS)) $(GOFLAGS)

# The packages to test, and those that are tested without the race detector: those that only compute (seal), that hash
# passwords by the hundred, minutes of it under the detector (api), or that drive processes of their own (test).
PKG     ?= ./...
NORACE  ?= ^countersign/(api|seal|test)(/|$$)
TIMEOUT ?= 25m

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##### Build

# The pages wait for their packages and Temporal compiles meanwhile. The server comes after both: at once with
# Temporal it would compile again what they share.
.PHONY: build
build: ## Build bin/countersign and bin/countersign-temporal
	@$(MAKE) --no-print-directory -j2 web temporal
	@$(MAKE) --no-print-directory server

# go build decides itself what is out of date, and links nothing when nothing is. The compiler frees memory less often
# than by default: a fifth less work for the largest package, for 1.1 GB instead of 0.8.
.PHONY: server
server: web
	GOGC=400 $(GO) build -ldflags '$(LDFLAGS)' -o $(BIN)/countersign ./cmd/countersign

# The bundled Temporal changes rarely and links slowly, so its version is not stamped into it.
.PHONY: temporal
temporal: ## Build bin/countersign-temporal (several minutes the first time)
	GOGC=400 $(GO) -C temporal/devserver build -ldflags '-s -w' -o $(CURDIR)/$(BIN)/countersign-temporal .

# The pages are built only when one of their sources is newer than the last build.
WEB_SOURCES := $(wildcard web/*.ts web/*.mjs web/*.json web/*.html) $(shell find web/src web/public locales -type f 2>/dev/null)

.PHONY: web
web: $(if $(wildcard web/vite.config.*),$(BIN)/.web)

$(BIN)/.web: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run build
	@mkdir -p $(BIN) && touch $@

# Not "npm ci": that demands the optional packages of every other platform in the lock file, and a
# registry need not have them. Versions and digests are those of the lock file all the same.
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
clean: ## Remove what was built (data/ stays)
	rm -rf $(BIN) web/dist web/node_modules

# Not part of the build, so that a first run does not wait for it.
$(BIN)/.web-checked: web/node_modules/.package-lock.json $(WEB_SOURCES)
	npm --prefix web run check
	@mkdir -p $(BIN) && touch $@

##### Check

.PHONY: check-web
check-web: $(BIN)/.web-checked ## Check the pages' types, imports and texts

# Each test server that the environment does not name (COUNTERSIGN_TEST_POSTGRES,
# COUNTERSIGN_TEST_TEMPORAL) is a private one.
suite = PKG='$(PKG)' NORACE='$(NORACE)' TIMEOUT='$(TIMEOUT)' $(TOOLS)/testenv .ci/suite $(1) | \
	$(TOOLS)/gotestsum --format pkgname-and-test-fails --hide-summary=output --jsonfile $(BIN)/$(1).json --raw-command -- cat

# What the tests need beside the build. Most of the time it is fetched, so all at once.
.PHONY: tests-need
tests-need: build
	@.ci/step 'what the tests need' $(MAKE) --no-print-directory -j4 --output-sync=target setup $(BIN)/.clients $(TOOLS)/gotestsum $(TOOLS)/testenv

.PHONY: test
test: tests-need ## Run every package's tests once, on real PostgreSQL, Temporal, Chromium and PDF tools (PKG=./store/...)
	@$(call suite,test)

# Each step goes on when one before it failed, so that one run names all that is wrong.
.PHONY: check
check: ## After "make test": lint, clients, and the tests that take longer: race detector, PgBouncer, faults, all languages (PKG=./store/...)
	@status=0; for target in lint clients check-tests; do .ci/step "make $$target" $(MAKE) --no-print-directory $$target || status=1; done; exit $$status

.PHONY: check-tests
check-tests: tests-need
	@$(call suite,check)

.PHONY: quick
quick: ## Within a minute, with nothing installed: what changed, the rules, the workflows, the store on SQLite
	@.ci/quick

# Those whose tests use PostgreSQL, one after another: there are four connections to the server. What test/clients and
# test/browser drive is dev, on SQLite.
POOLED ?= ./store ./activities ./operate/... ./worker ./workflows ./api ./test/conformance ./test/e2e ./test/faults

.PHONY: test-pgbouncer
test-pgbouncer: setup build $(TOOLS)/testenv ## Run the tests that use PostgreSQL through PgBouncer in transaction mode (POOLED=./store)
	$(TOOLS)/testenv -pgbouncer $(GO) test -p 1 -count=1 -timeout $(TIMEOUT) $(POOLED)

# A failure has an input that fails. Without one, "context deadline exceeded" is the fuzzing engine's own:
# the end of the time, which it now and then takes for an error.
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
lint: web check-web $(TOOLS)/golangci-lint $(TOOLS)/workflowcheck check-compose check-deploy check-contract check-mutants check-notice check-workflows ## Check style, imports, formatting and that workflows are deterministic
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

# A module of npm beside those of Go: it needs no other package.
CONTRACT_NODE := tools/contract/node_modules/.package-lock.json

$(CONTRACT_NODE): tools/contract/package-lock.json
	npm --prefix tools/contract install --no-save --no-audit --no-fund
	@touch $@

.PHONY: manifests
manifests: $(TOOLS)/deploycheck ## Write the Kubernetes manifests that the Helm chart renders
	$(TOOLS)/deploycheck -write deploy

.PHONY: check-contract
check-contract: $(CONTRACT_NODE) ## Check the contract by the rules that Redocly recommends
	cd tools/contract && REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true node_modules/.bin/redocly lint ../../api/openapi.yaml ../../api/console.yaml

.PHONY: check-compose
check-compose: $(TOOLS)/composecheck ## Parse docker-compose.yml and check what it refers to
	$(TOOLS)/composecheck -env deploy/env.example docker-compose.yml
	$(GO) -C tools test -vet=off ./composecheck

.PHONY: check-deploy
check-deploy: $(TOOLS)/deploycheck ## Parse the alert rules, the dashboard and the Kubernetes manifests, and lint and render the Helm chart
	$(TOOLS)/deploycheck deploy
	$(GO) -C tools/deploycheck test -vet=off ./...

.PHONY: notice
notice: web $(TOOLS)/notice ## Write NOTICE: the licences of all that releases bundle
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

# Each row ROUNDS times, with choices that SEED decides (0: another one each time, which is printed).
ROUNDS ?= 10
SEED   ?= 0

.PHONY: faults
faults: build $(TOOLS)/testenv ## Break everything on purpose, many times (ROUNDS=10 SEED=0; up to an hour)
	$(TOOLS)/testenv $(GO) test -count=1 -timeout 3h -v ./test/faults -rounds $(ROUNDS) -seed $(SEED)

# One fault after another in random order, each a minute and a calm of half one: 3m has two, 20m each twice. ONLY=temporal,mail names some.
NIGHT ?= 20m
RATE  ?= 2

.PHONY: night
night: build $(TOOLS)/alertwatch ## A night of faults under load: nothing is lost, the right alerts fire, nobody types a command (NIGHT=20m RATE=2 SEED=0 ONLY=)
	$(GO) test -tags nomsgpack,night -count=1 -timeout 3h -v -run '^TestNight$$' ./test/faults -night $(NIGHT) -rate $(RATE) -seed $(SEED) -only '$(ONLY)'

# Of each of three kinds, on each of six files: CHECKS=20000 takes more than an hour.
CHECKS ?= 500

.PHONY: forgeries
forgeries: setup web/node_modules/.package-lock.json ## Attack the verification: every forgery, every byte, CHECKS=500 generated ones of each kind (2 minutes of two processors)
	$(GO) test -count=1 -timeout 3h ./test/forgeries -long -rapid.checks=$(CHECKS)

# SEED decides which COUNT changes are tried. -count 0 with no limit tries all, which takes days.
COUNT ?= 155

.PHONY: mutants
mutants: build $(TOOLS)/testenv $(TOOLS)/mutants ## Change the rules in small ways and name the changes that no test notices (COUNT=155 SEED=0; up to two hours)
	$(TOOLS)/testenv $(TOOLS)/mutants -count $(COUNT) -seed $(SEED) -time 2h

# Released versions keep theirs: envelopes that began under them must go on. Renamed workflows or
# activities need new ones.
HISTORIES ?= unreleased

.PHONY: histories
histories: $(TOOLS)/testenv ## Record the workflows' histories anew, on a real Temporal (HISTORIES=unreleased names the folder)
	rm -rf workflows/testdata/histories/$(HISTORIES)
	$(TOOLS)/testenv $(GO) test ./workflows -run 'TestFreshHistoriesReplay|TestContinuedHistoriesReplay' -count=1 -record '$(HISTORIES)'

CLIENTS_NODE := clients/typescript/node_modules/.package-lock.json

# Programs of others that test/clients runs.
TESTS_NODE := test/clients/node_modules/.package-lock.json

.PHONY: clients
clients: $(TOOLS)/oapi-codegen $(TOOLS)/oasdiff $(CLIENTS_NODE) $(TESTS_NODE) ## Check and build the client libraries: generated code, broken promises, tests
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
load: build $(TOOLS)/testenv ## Measure under load: a mix, 2,000 envelopes at once, 20,000 deliveries to a dead endpoint
	$(TOOLS)/testenv -durable $(GO) run ./test/bench load burst backlog

.PHONY: profile
profile: build ## Profile API and worker under the mix of make load: files in bin/profiles, and what takes most
	$(GO) run ./test/bench profile

.PHONY: soak
soak: build $(TOOLS)/testenv ## Ten minutes of the mix of make load
	$(TOOLS)/testenv -durable $(GO) run ./test/bench soak

.PHONY: bench-send
bench-send: build $(TOOLS)/testenv ## Measure envelopes of a template beside uploaded ones, and a bulk send of ROWS (1000) beside single sends
	$(TOOLS)/testenv -durable $(GO) run ./test/bench -rows $(or $(ROWS),1000) send bulk

.PHONY: bench-hang
bench-hang: build $(TOOLS)/testenv ## Measure expiry, void, seal, mail and delivery while 500 mails and 500 deliveries of another app hang, in turns with a control
	$(TOOLS)/testenv -durable $(GO) run ./test/bench memory actions hang

.PHONY: bench-scale
bench-scale: $(TOOLS)/testenv ## Compare 1,000 and ENVELOPES (1000000) envelopes (several minutes; 1.7 KB of disk for each)
	$(TOOLS)/testenv -durable $(GO) run ./test/bench/scale -envelopes $(or $(ENVELOPES),1000000)

.PHONY: bench-archive
bench-archive: $(TOOLS)/testenv ## Move ENVELOPES (10000) completed envelopes to archives: bytes before and after, how fast, and what reading one takes (AMONG=others, S3=1)
	$(TOOLS)/testenv -durable $(GO) run ./test/bench/scale -archive $(or $(ENVELOPES),10000) $(if $(AMONG),-among $(AMONG)) $(if $(S3),-s3)

.PHONY: walk
walk: $(TOOLS)/testenv ## Count the packages whose code one signature runs (TREE=another working tree)
	$(TOOLS)/testenv $(GO) run ./test/walk -tree $(or $(TREE),.)

.PHONY: bench-web
bench-web: build $(BIN)/.clients ## Measure the pages (script size, largest contentful paint; the builder with 100 fields and with 500 pages)
	BROWSER_TEST_FIGURES=1 $(GO) test ./test/browser -run TestFigures -v -count=1

.PHONY: bench-pages
bench-pages: ## Measure what a picture of a page takes: processor time, size, and the memory of a process
	$(GO) test ./seal/appearance -run '^$$' -bench 'Page|Process' -benchtime 10x

.PHONY: bench-prepare
bench-prepare: $(TOOLS)/testenv ## What preparing takes: an upload of 50 pages with all options and a plain one, tags and anchors of 4,000 pages beside pdftotext
	$(TOOLS)/testenv $(GO) test ./api -run '^$$' -bench Upload -benchtime 100x
	$(GO) test ./seal/admission -run '^$$' -bench Upload -benchtime 20x -count 3
	$(GO) test ./prepare -run '^$$' -bench Large -benchtime 2x

.PHONY: bench-seal
bench-seal: ## Measure the sealing engine
	$(GO) run ./seal/bench

# CORPUS is outside of the repository: these are other people's files. FILES=0 takes all.
CORPUS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/countersign/corpus
FILES  ?= 1200

.PHONY: corpus
corpus: setup ## Seal PDFs of many producers and have five programs verify them (FILES=1200; downloads 2 GB once, then a quarter of an hour)
	seal/corpus/collect '$(CORPUS)'
	$(GO) run ./seal/corpus -files $(FILES) '$(CORPUS)/packages/' '$(CORPUS)/made/'

##### Release

# For one platform, a copy of the description names it alone.
.PHONY: snapshot
snapshot: $(TOOLS)/goreleaser ## Build what a release consists of into bin/release: archives, packages, checksums, SBOMs (TARGET=linux_amd64 for one platform)
	target='$(TARGET)'; sed -e '' $${target:+-e "s/\[linux, darwin\]/[$${target%_*}]/" -e "s/\[amd64, arm64\]/[$${target#*_}]/"} .goreleaser.yaml >$(BIN)/goreleaser.yaml
	$(TOOLS)/goreleaser release --config $(BIN)/goreleaser.yaml --snapshot --clean --skip=docker,sign --parallelism 1 --timeout 3h

.PHONY: check-release
check-release: $(TOOLS)/goreleaser ## Check the description of a release
	$(TOOLS)/goreleaser check

.PHONY: check-workflows
check-workflows: $(TOOLS)/actionlint ## Check the workflows of .github
	$(TOOLS)/actionlint

.PHONY: rename
rename: ## Give the modules the path of their host: MODULE=example.org/countersign
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

# A module of its own: what it parses with is large, and nothing else needs it.
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
