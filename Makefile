# golaunch: everything a developer runs. "make help" lists the targets.

GO      ?= go
CC      := gcc
FUZZTIME ?= 60s
RUNS    ?= 3
BENCH   ?=

# Git may refuse to speak about a checkout that another user owns; a build then
# goes without the revision in it.
VCS     := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
export GOFLAGS := $(GOFLAGS) -buildvcs=$(VCS)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'
# Packages whose tests bring clusters up: they need the machine for themselves,
# and run without the race detector (the unit tests have it).
CLUSTERED = $(shell $(GO) list ./integration/... ./cmd/cluster/...)
UNIT      = $(filter-out $(CLUSTERED),$(shell $(GO) list ./...))
# At most two packages at a time: many start processes, and some count them.
PARALLEL ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup build native demo check test test-unit test-integration bench fuzz lint man clean

help:
	@sed 's/^	//' scripts/help.txt

setup:
	@scripts/setup.sh

build:
	@mkdir -p bin
	$(BUILD) -o bin/golaunch ./cmd/golaunch
	$(BUILD) -o bin/nla ./cmd/nla
	$(BUILD) -o bin/cluster ./cmd/cluster

native:
	@CC="$(CC)" scripts/native.sh

demo: setup build native
	@scripts/demo.sh

check:
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); test -z "$$unformatted" || { echo "gofmt: run 'gofmt -w' on:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...

test: setup build native check test-unit test-integration

test-unit:
	$(GO) test -race -shuffle=on -count=1 -p $(PARALLEL) -timeout 10m $(UNIT)

test-integration:
	$(GO) test -count=1 -p 1 -timeout 15m $(CLUSTERED)

bench: setup build native
	$(GO) run ./integration/bench -runs $(RUNS) -o docs/results/main-job.md $(BENCH)

fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" scripts/fuzz.sh

lint:
	@GO="$(GO)" scripts/lint.sh

man: build
	@mkdir -p bin/man
	scripts/man.sh bin/golaunch >bin/man/golaunch.1

clean:
	rm -rf bin
