# golaunch: everything a developer runs. "make help" lists the targets.

GO      ?= go
CC      := gcc
FUZZTIME ?= 60s
FUZZPART ?= 4
RUNS    ?= 3
BENCH   ?=
CHAOS   ?=
BIN     ?= bin
PREFIX  ?= /usr/local
DESTDIR ?=

# Git may refuse to speak about a checkout that another user owns; a build then
# goes without the revision in it.
VCS     := $(shell git rev-parse HEAD >/dev/null 2>&1 && echo auto || echo false)
export GOFLAGS := $(GOFLAGS) -buildvcs=$(VCS)
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'
# What travels to nodes, where golaunch looks for it.
AGENT   := libexec/golaunch/nla-$(shell $(GO) env GOOS)-$(shell $(GO) env GOARCH)
# Packages whose tests bring clusters up, each its own: without the race detector (the
# unit tests have it).
CLUSTERED = $(shell $(GO) list ./integration/... ./cmd/cluster/...)
# Pure rooms have no goroutines, which internal/archtest sees to and has none of either:
# nothing for the race detector, which makes their tests up to ten times as long. Tests
# of network/topology/cluster and of commsplit have some.
PURE      = cache internal/agent/ending internal/agent/input internal/archtest internal/environ internal/hostlist internal/job internal/lines internal/pmix internal/stdio network pmgr pmi tree xrcsim
MODULE    = $(shell $(GO) list -m)
PLAIN     = $(filter-out %/topology/cluster,$(filter $(foreach room,$(PURE),$(MODULE)/$(room) $(MODULE)/$(room)/%),$(shell $(GO) list ./...)))
UNIT      = $(filter-out $(CLUSTERED) $(PLAIN),$(shell $(GO) list ./...))
# At most two packages at a time: many start processes, and some count them.
PARALLEL ?= 2

.DEFAULT_GOAL := help
.PHONY: help setup setup-bench build native image demo demo-docker check test test-unit test-fuzz test-integration bench bench-docker bench-slurm bench-pmi bench-scale bench-split results chaos fuzz lint man install uninstall deb rpm clean FORCE

help:
	@sed 's/^	//' scripts/help.txt

setup:
	@scripts/setup.sh

setup-bench:
	@scripts/setup.sh bench

build:
	@mkdir -p bin
	$(BUILD) -o bin/golaunch ./cmd/golaunch
	$(BUILD) -o bin/$(AGENT) ./cmd/nla
	$(BUILD) -o bin/cluster ./cmd/cluster
	@CC="$(CC)" scripts/native.sh native/libpmi native/libmpichfinalize native/libmpiinit native/libprofile native/libgolaunch native/pmix

native:
	@CC="$(CC)" scripts/native.sh

# What the nodes are that are containers: once, where an engine runs. Without it
# tests of containers say that they skip.
image: build
	@bin/cluster image --where-possible >bin/image.log 2>&1 || { cat bin/image.log; echo "image: containers are not tested"; }

demo: setup build native
	@scripts/demo.sh

demo-docker: setup build native image
	@PROVIDER=docker scripts/demo.sh

check:
	@unformatted=$$(gofmt -l $$($(GO) list -f '{{.Dir}}' ./...)); test -z "$$unformatted" || { echo "gofmt: run 'gofmt -w' on:"; echo "$$unformatted"; exit 1; }
	$(GO) vet ./...

test: setup build native image check test-unit test-fuzz test-integration
	@$(GO) run ./integration/skips bin/tests/*.json

test-unit:
	@GO="$(GO)" scripts/gotest.sh race -race -shuffle=on -count=1 -p $(PARALLEL) -timeout 10m $(UNIT)
	@cd deploy/kubernetes/schema && $(GO) test ./... # a module of its own
	@GO="$(GO)" scripts/gotest.sh plain -shuffle=on -count=1 -timeout 10m $(PLAIN)

# A quarter of the fuzz targets, another one every day, for 3 seconds each.
test-fuzz:
	@GO="$(GO)" FUZZTIME=3s FUZZPART=$(FUZZPART) scripts/fuzz.sh

test-integration: bin/programs
	@TEST_PROGRAMS="$(CURDIR)/bin/programs" GO="$(GO)" scripts/gotest.sh clustered -count=1 -p $(PARALLEL) -parallel 4 -timeout 45m $(CLUSTERED)

# What tests on clusters run, as integration/programs builds it for a package that is
# tested alone.
bin/programs: FORCE
	@mkdir -p $@
	@$(BUILD) -o $@/ ./cmd/golaunch ./client/examples/... ./integration/bench/collectives/star
	@$(BUILD) -o $@/$(AGENT) ./cmd/nla
	@CC="$(CC)" OUT=$@ LIB=$@/lib/golaunch scripts/native.sh

# All measurements (bin/bench lists them). Built, not run by go: the cluster's nodes see
# the project, not go's cache.
bin/bench: FORCE
	$(GO) build -o $@ ./integration/bench

# The rivals are installed for this alone.
bench: setup-bench build native bin/bench
	bin/bench startup -runs $(RUNS) -o docs/results/startup.md $(BENCH)

# Starts in an allocation of Slurm's.
bench-slurm: setup-bench build native bin/bench
	bin/bench startup -provider slurm -runs $(RUNS) -budget 40s -limit 2m -o docs/results/startup-slurm.md $(BENCH)

bench-docker: setup build native image bin/bench
	bin/bench startup -provider docker -runs $(RUNS) -o docs/results/startup-docker.md $(BENCH)

bench-pmi: setup build native bin/bench
	bin/bench pmi -runs $(RUNS) -o docs/results/pmi.md $(BENCH)

# Measures what the model of start-up is held against, and its costs.
bench-scale: setup build bin/bench
	bin/bench scale -measure -runs $(RUNS) -o docs/results/scale.md $(BENCH)

bench-split: setup build bin/bench
	bin/bench commsplit -p 2,4,8,16,32,64,128,256 -runs 1 -o docs/results/commsplit.md
	bin/bench commsplit -what auto -runs 1 -grid 32K -o docs/results/commsplit-auto.md
	bin/bench commsplit -what tree -runs 3 -o docs/results/commsplit-tree.md

# Everything in docs/results that no target beside this one writes.
results: setup build native bin/bench
	bin/bench hardstart -o docs/results/hard-start.md
	bin/bench culprit -o docs/results/culprit.md
	bin/bench torture -o docs/results/torture.md
	bin/bench mpichsuite -limit 1m -o docs/results/mpich-spawn.md
	bin/bench killtable -v -o docs/results/kill-table.md
	bin/bench collectives -o docs/results/collectives.md
	bin/bench uplink
	bin/bench profile -o docs/results/profile.md
	bin/bench pmgr -o docs/results/pmgr.md
	bin/bench pmix -o docs/results/pmix.md
	bin/bench jobloop -o docs/results/job-loop.md
	bin/bench cache
	bin/bench scale -o docs/results/scale.md
	bin/bench netsim
	bin/bench launcherload -o docs/results/launcher.md
	bin/bench launcherload -calls -nodes 64,256,1024 -ppn 1 -o docs/results/launcher-bulk.md
	bin/bench levels
	bin/bench scheduling
	bin/bench xrcsim
	$(GO) test -count=1 -v -run AtScale ./tree/collective -large
	STDIN_BYTES=$$((1 << 30)) $(GO) test -count=1 -v -run StdinVolume -timeout 25m ./integration/e2e

chaos: setup build native bin/bench
	bin/bench chaos -race -o docs/results/chaos.md $(CHAOS)

fuzz:
	@GO="$(GO)" FUZZTIME="$(FUZZTIME)" scripts/fuzz.sh

lint: setup check
	@GO="$(GO)" scripts/lint.sh

man: build
	@mkdir -p bin/man
	@for page in $(basename $(basename $(notdir $(wildcard docs/man/*.in)))); do \
		echo bin/man/$$page.1; scripts/man.sh bin/golaunch $$page >bin/man/$$page.1 || exit; done

# Of what was built: root, who installs, may have no compilers.
install uninstall:
	@BIN="$(BIN)" PREFIX="$(PREFIX)" DESTDIR="$(DESTDIR)" scripts/install.sh $@

deb: build
	@BIN="$(BIN)" OUT="$(BIN)" scripts/deb.sh

rpm: build
	@BIN="$(BIN)" OUT="$(BIN)" scripts/rpm.sh

clean:
	rm -rf bin .cache/mpich-* .cache/pmix-* .cache/openmpi5 .cache/openssh10 .cache/gridengine
