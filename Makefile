SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
GO ?= go
FUZZTIME ?= 30s
SEEDS ?= 500
PARTS ?= 8
TOOLS := $(GO) tool -modfile=tools/go.mod

.PHONY: all
all: test lint ## Test and lint.

.PHONY: help
help: ## Say what the targets do.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 18

TAGS ?=
BUILD = $(GO) build -trimpath -tags=$(TAGS) -pgo=bench/default.pgo -ldflags=-s
.PHONY: build
build: ## Build both programs into bin/, without symbol tables, which profiles do not need. TAGS adds stores: gcs,azure.
	$(BUILD) -o bin/ ./cmd/...

.PHONY: profile
profile: ## Measure the profile that build optimises by.
	bench/profile.sh

.PHONY: demo
demo: build ## Run the main job end to end: generate, load, serve, query, fetch, watch.
	bench/demo.sh

# The log of the suites has another name each time, so go test does not take the packages that run them from its cache, which would
# not notice changed cases outside the module.
.PHONY: test
test: ## Run the tests with the race detector, and without it those that count memory; say which conformance suites ran.
	$(GO) vet ./...
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; export HOPGATE_CONFORMANCE_LOG=$$log; status=0; set -x; \
	$(GO) test -race -short -timeout 20m ./... && \
	$(GO) test -short -run 'Alloc|EmptyGraph|OfflineMemory' ./internal/shard/local ./internal/query ./internal/query/exec || status=$$?; \
	{ set +x; } 2>/dev/null; $(GO) run ./internal/conformance/tool summary "$$log"; exit $$status

.PHONY: conformance
conformance: ## Fetch conformance suites into the cache; CONFORMANCE_FLAGS="--opencypher URL --ldbc URL --lsqb URL" names mirrors.
	$(GO) run ./internal/conformance/tool fill $(CONFORMANCE_FLAGS)

.PHONY: test-full
test-full: ## Run the long tests, with internal checks on: SEEDS of each random test, those of the store in PARTS runs.
	HOPGATE_SEEDS=$(SEEDS) $(GO) test -tags invariants -timeout 60m $$($(GO) list ./... | grep -v /internal/shard/local$$)
	for part in $$(seq $(PARTS)); do \
	  HOPGATE_SEEDS=$(SEEDS) HOPGATE_PART=$$part/$(PARTS) $(GO) test -v -tags invariants -timeout 60m ./internal/shard/local | grep -E '^(---|ok|FAIL|panic)|seeds in'; \
	done

.PHONY: fuzz
fuzz: ## Run every fuzzer for FUZZTIME.
	@for pkg in $$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -hoE '^func Fuzz[A-Za-z0-9]+' $$pkg/*_test.go | cut -c6-); do \
	    $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; \
	done

.PHONY: lint
lint: ## Run go vet, the linters and buf.
	$(GO) vet ./...
	$(GO) vet -tags gcs,azure ./internal/cli
	$(TOOLS) golangci-lint run ./...
	$(TOOLS) buf lint

VULNDB ?= https://vuln.go.dev
.PHONY: vuln
vuln: ## Look for known vulnerabilities in what is called; VULNDB is the database.
	$(TOOLS) govulncheck -db $(VULNDB) ./...

.PHONY: fmt
fmt: ## Format the code.
	$(TOOLS) golangci-lint fmt ./...

.PHONY: generate
generate: ## Generate the API code.
	$(TOOLS) buf generate

.PHONY: checkgenerate
checkgenerate: generate ## Fail if generated code is not what is committed.
	git diff --exit-code -- api/gen

.PHONY: reference
reference: ## Write the pages of docs/reference and the answers of the documents' statements, which tests compare with the code.
	$(GO) test -count=1 -run '^Test(Reference|MetricsReference|ErrorsReference|Functions|Procedures|Pages)$$' ./internal/docs ./internal/config ./cmd/graphctl ./cmd/hopgate -rewrite

.PHONY: docs
docs: ## Build the documents as a site into bin/site; a link that leads nowhere is an error.
	NO_MKDOCS_2_WARNING=1 $$(tools/docs/venv.sh)/bin/mkdocs build

PROSE := README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md docs bench/README.md
.PHONY: prose
prose: ## Check the style of the documents by the rules in tools/docs/vale, and their spelling.
	$(GO) run github.com/vale-cli/vale/v3/cmd/vale@v3.21.0 $(PROSE)
	$$(tools/docs/venv.sh)/bin/codespell --config tools/docs/codespell.ini ARCHITECTURE.md $(PROSE)

.PHONY: bench
bench: ## Run the benchmarks.
	$(GO) test -run '^$$' -bench . -benchmem ./bench/...

.PHONY: cover
cover: ## Show the coverage by package.
	$(GO) test -short -cover ./internal/...

.PHONY: chart-test
chart-test: ## Render the chart over a matrix of values and check every object.
	cd deploy/helm/test && $(GO) vet ./... && $(GO) test ./...

.PHONY: console-test
console-test: ## Drive the console in Chromium; without one, say so.
	$(GO) test -v ./internal/console/browser

.PHONY: chart-golden
chart-golden: ## Write the renders of the chart that reviews compare.
	cd deploy/helm/test && $(GO) test -run TestGolden -rewrite ./...

.PHONY: chart-docs
chart-docs: ## Write the chart's README from its values.
	$(GO) run github.com/norwoodj/helm-docs/cmd/helm-docs@v1.14.2 -c deploy/helm/hopgate

IMAGE ?= ghcr.io/hopgate/hopgate
VERSION ?= $(shell sed -n 's/^appVersion: "\(.*\)"/\1/p' deploy/helm/hopgate/Chart.yaml)
# A list of modules and an attestation of how it was built travel with the image; --load alone leaves them out.
IMAGE_FLAGS ?= --sbom=true --provenance=mode=max --output type=oci,dest=bin/hopgate-image.tar

.PHONY: image
image: ## Build the image of both programs into bin/hopgate-image.tar; IMAGE_FLAGS=--load or --push puts it elsewhere.
	mkdir -p bin
	docker buildx build -f deploy/Dockerfile -t $(IMAGE):$(VERSION) \
	  --build-arg VERSION=$(VERSION) --build-arg REVISION=$$(git rev-parse HEAD) $(IMAGE_FLAGS) .

# The programs of a release have all object stores, and need no library of the system.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
.PHONY: release
release: ## Build archives, packages, SBOMs, wheels, the chart, the compose file, the formula and checksums into bin/release, for PLATFORMS.
	GO="$(GO)" BUILD="$(BUILD)" VERSION=$(VERSION) deploy/release/release.sh $(PLATFORMS)
release: TAGS = gcs,azure
release: export CGO_ENABLED = 0
release: export WHEELS = yes

.PHONY: release-snapshot
release-snapshot: ## Build the same for this machine alone from what make build builds, without its wheel, which make python-test builds.
	GO="$(GO)" BUILD="$(BUILD)" VERSION=$(VERSION) deploy/release/release.sh $$($(GO) env GOOS)/$$($(GO) env GOARCH)

.PHONY: publish
publish: ## Publish what make release has built at GitHub, for the pushed tag of VERSION.
	gh release create v$(VERSION) --verify-tag --title "Hopgate $(VERSION)" --notes "CHANGELOG.md says what it brings." bin/release/*

.PHONY: ci
ci: ## Run everything that must pass before a change lands.
	.ci/run

WHEELS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
.PHONY: wheels
wheels: ## Build the Python package with the server for each platform of WHEELS into bin/wheels.
	GO="$(GO)" python/wheels.sh $(WHEELS)

.PHONY: python-test
python-test: ## Install the Python package of this machine in a new virtual environment and run its tests.
	GO="$(GO)" python/test.sh

.PHONY: clean
clean: ## Remove what was built.
	rm -rf bin
