package main

import (
	"context"

	"github.com/golaunch/golaunch/integration/bench/cache"
	"github.com/golaunch/golaunch/integration/bench/chaos"
	"github.com/golaunch/golaunch/integration/bench/collectives"
	"github.com/golaunch/golaunch/integration/bench/commsplit"
	"github.com/golaunch/golaunch/integration/bench/culprit"
	"github.com/golaunch/golaunch/integration/bench/hardstart"
	"github.com/golaunch/golaunch/integration/bench/jobloop"
	"github.com/golaunch/golaunch/integration/bench/killtable"
	"github.com/golaunch/golaunch/integration/bench/launcherload"
	"github.com/golaunch/golaunch/integration/bench/levels"
	"github.com/golaunch/golaunch/integration/bench/mapping"
	"github.com/golaunch/golaunch/integration/bench/mpichsuite"
	"github.com/golaunch/golaunch/integration/bench/netsim"
	"github.com/golaunch/golaunch/integration/bench/pmgr"
	"github.com/golaunch/golaunch/integration/bench/pmi"
	"github.com/golaunch/golaunch/integration/bench/pmix"
	"github.com/golaunch/golaunch/integration/bench/profile"
	"github.com/golaunch/golaunch/integration/bench/scale"
	"github.com/golaunch/golaunch/integration/bench/scheduling"
	"github.com/golaunch/golaunch/integration/bench/startup"
	"github.com/golaunch/golaunch/integration/bench/torture"
	"github.com/golaunch/golaunch/integration/bench/uplink"
	"github.com/golaunch/golaunch/integration/bench/xrcsim"
	"github.com/golaunch/golaunch/integration/internal/results"
)

// benches has the measurements and trials, by their names.
var benches = []struct {
	name, measures string
	run            func(context.Context, *results.Flags) error
}{
	{"cache", "cache policies in an event model", cache.Run},
	{"chaos", "random jobs to which random things happen", chaos.Run},
	{"collectives", "operations of libgolaunch beside a star of connections and MPICH", collectives.Run},
	{"commsplit", "MPI_Comm_split by parallel sort, by its automatic choice and on the tree", commsplit.Run},
	{"culprit", "how often the rank that ended first is named", culprit.Run},
	{"hardstart", "starts over dead, slow and refusing hosts", hardstart.Run},
	{"jobloop", "many small jobs, one after another and at a time, beside Hydra", jobloop.Run},
	{"killtable", "the remains of jobs when parts of golaunch are killed in each phase", killtable.Run},
	{"launcherload", "the usage of golaunch itself with thousands of agents", launcherload.Run},
	{"levels", "maps of ranks onto a Cray XC, in a model", levels.Run},
	{"mapping", "hop-bytes of mappings beside other mappers", mapping.Run},
	{"mpichsuite", "the spawn programs of MPICH's test suite", mpichsuite.Run},
	{"netsim", "collective operations on known networks, in a model", netsim.Run},
	{"pmgr", "start-up over PMGR, PMI and one central server", pmgr.Run},
	{"pmi", "PMI exchanges beside Hydra and the floor", pmi.Run},
	{"pmix", "start-up and exchanges over PMIx beside mpirun and srun", pmix.Run},
	{"profile", "the cost of --profile", profile.Run},
	{"scale", "start-up up to 65,536 nodes, in a model", scale.Run},
	{"scheduling", "hosts that share no links, in a simulated resource manager", scheduling.Run},
	{"startup", "start-up beside its rivals and the floor", startup.Run},
	{"torture", "output under floods, long lines and stopped readers", torture.Run},
	{"uplink", "bytes between two leaf switches, of the tree and of a mapped stencil", uplink.Run},
	{"xrcsim", "InfiniBand connections of MPI jobs, in a model", xrcsim.Run},
}
