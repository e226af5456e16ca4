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
# One goroutine simulates thousands of nodes there: nothing for the race
# detector, which makes it ten times as long.
PLAIN     = $(shell $(GO) list ./tree/collective)
UNIT      = $(filter-out $(CLUSTERED) $(PLAIN),$(shell $(GO) list ./...))
# At most two packages at a time: many start processes, and some count them.
PARALLEL ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup setup-bench build native demo check test test-unit test-integration bench bench-pmi bench-scale bench-split results fuzz lint man clean FORCE

help:
	@sed 's/^	//' scripts/help.txt

setup:
	@scripts/setup.sh

setup-bench:
	@scripts/setup.sh bench

build:
	@mkdir -p bin
	$(BUILD) -o bin/golaunch ./cmd/golaunch
	$(BUILD) -o bin/nla ./cmd/nla
	$(BUILD) -o bin/cluster ./cmd/cluster
	@CC="$(CC)" scripts/native.sh native/libpmi.c

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
	$(GO) test -shuffle=on -count=1 -timeout 10m $(PLAIN)

test-integration:
	$(GO) test -count=1 -p 1 -timeout 25m $(CLUSTERED)

# Built, not run by go: the cluster's nodes see the project, not go's cache.
bin/bench bin/hardstart bin/killtable bin/torture: FORCE
	$(GO) build -o $@ ./integration/$(@F)

# The rivals are installed for this alone.
bench: setup-bench build native bin/bench
	bin/bench -runs $(RUNS) -o docs/results/startup.md $(BENCH)

bench-pmi: setup build native
	$(GO) run ./integration/pmibench -runs $(RUNS) -o docs/results/pmi.md $(BENCH)

# Measures what the model of start-up is held against, and its costs.
bench-scale: setup build
	$(GO) run ./integration/scalebench -measure -runs $(RUNS) -o docs/results/scale.md $(BENCH)

bench-split: setup build
	$(GO) run ./integration/splitbench -p 2,4,8,16,32,64,128,256 -runs 1 -o docs/results/commsplit.md
	$(GO) run ./integration/splitbench -what auto -runs 1 -grid 32K -o docs/results/commsplit-auto.md
	$(GO) run ./integration/splitbench -what tree -runs 3 -o docs/results/commsplit-tree.md

# Everything else in docs/results.
results: setup build native bin/hardstart bin/killtable bin/torture
	bin/hardstart -o docs/results/hard-start.md
	bin/torture -o docs/results/torture.md
	bin/killtable -v -o docs/results/kill-table.md
	$(GO) run ./integration/collbench -o docs/results/collectives.md
	$(GO) run ./integration/pmgrbench -o docs/results/pmgr.md
	$(GO) run ./integration/cachebench
	$(GO) run ./integration/scalebench -o docs/results/scale.md
	$(GO) run ./integration/launcherload -o docs/results/launcher.md
	$(GO) test -count=1 -v -run AtScale ./tree/collective -large

fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" scripts/fuzz.sh

lint:
	@GO="$(GO)" scripts/lint.sh

man: build
	@mkdir -p bin/man
	scripts/man.sh bin/golaunch >bin/man/golaunch.1

clean:
	rm -rf bin
