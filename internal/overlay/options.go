package overlay

import (
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/profile"
)

// Options of golaunch that agents need travel to them as they are: launcher.Options
// has both structs, and what an agent is told before the launch, and by it, has one
// each. So a new one is a field here, its flag, and what uses it.

// StartOptions are the options that agents need to start others, and before the launch.
// They are in Common, with which they share their numbers.
type StartOptions struct {
	// ConnectTimeout bounds one attempt to reach a host.
	ConnectTimeout time.Duration `cbor:"15,keyasint"`
	// MissAfter bounds it for a host that does not even answer the first packet of a
	// connection (bootstrap.Limits), if the job can do without it: AllowDeadNodes, and
	// slots to spare. 0 is ConnectTimeout. For ssh.
	MissAfter time.Duration `cbor:"27,keyasint"`
	// LateAfter bounds for how long a host is tried that refuses connections, and
	// UnknownAfter one whose name no resolver knows (bootstrap.Limits). 0 is
	// ConnectTimeout.
	LateAfter    time.Duration `cbor:"34,keyasint"`
	UnknownAfter time.Duration `cbor:"35,keyasint"`
	// LostAfter is the time that a link may be silent before its peer counts as lost.
	LostAfter time.Duration `cbor:"16,keyasint"`
	// StallAfter is the time that ranks may wait for others over the tree's service
	// before the user is told their names; 0 never tells.
	StallAfter time.Duration `cbor:"28,keyasint"`
	// KeepAgent leaves the staged agent on the hosts for the next job.
	KeepAgent bool `cbor:"17,keyasint"`
	// AgentPath is the path of a golaunch, or nla, on the hosts that is the agent: it is started
	// without a shell and without a copy. "" has the agent brought.
	AgentPath string `cbor:"38,keyasint,omitempty"`
	// BindTo is the thing that ranks are bound to (binding.Parse); "" binds none.
	// Agents say before the launch for how many ranks they have room (NodeInfo.Room).
	BindTo string `cbor:"31,keyasint,omitempty"`
	// Verbose is the amount that golaunch tells of itself, 0 to 3.
	Verbose int `cbor:"18,keyasint"`
}

// Limits bound the tries to reach a host.
func (o StartOptions) Limits() bootstrap.Limits {
	return bootstrap.Limits{
		ConnectTimeout: o.ConnectTimeout, MissAfter: o.MissAfter, LateAfter: o.LateAfter, UnknownAfter: o.UnknownAfter,
	}
}

// LaunchOptions are the options that agents need for the ranks. They are in Launch,
// with which they share their numbers.
type LaunchOptions struct {
	// Cache is the policy by which nodes hold the puts of PMI clients, and CacheBytes
	// the memory, in bytes, for entries that a node can ask for again
	// (cache.Config.Budget).
	Cache      cache.Policy `cbor:"12,keyasint"`
	CacheBytes int          `cbor:"13,keyasint"`
	// OpenMPI has every program count as one of Open MPI, also where its file does not
	// show that it is.
	OpenMPI bool `cbor:"15,keyasint"`
	// PMIPort has ranks connect to a port of the loopback interface (PMI_PORT) instead
	// of inheriting a descriptor (PMI_FD).
	PMIPort bool `cbor:"18,keyasint"`
	// PMIVersion is the highest version of PMI-1 that ranks are granted
	// (pmi.World.Version): "1.1" ("" too), or "1.2", which has barriers of groups.
	PMIVersion string `cbor:"19,keyasint"`
	// PMIx has every program's ranks served over PMIx, beside PMI, also where the program
	// does not show that it needs it.
	PMIx bool `cbor:"29,keyasint,omitempty"`
	// NoMPI has ranks left alone by what finds out about their MPI library, and serves it.
	NoMPI bool `cbor:"36,keyasint,omitempty"`
	// EnvFrom selects the variables of Launch.Env for ranks on each node; "" is
	// environ.Launcher: all.
	EnvFrom environ.From `cbor:"31,keyasint,omitempty"`
	// PMGR has every agent serve PMGR_COLLECTIVE, beside PMI, at a port of the loopback
	// interface.
	PMGR bool `cbor:"21,keyasint"`
	// ReportBindings has agents tell to which CPUs each rank is bound.
	ReportBindings bool `cbor:"25,keyasint,omitempty"`
	// GPUsPerRank is the number of GPUs of its host that each rank has for itself
	// (package gpu); 0 leaves that to the programs.
	GPUsPerRank int `cbor:"33,keyasint,omitempty"`
	// Iface is the network interface by which ranks are to talk, by its name or a subnet
	// that it has an address in (package iface); "" leaves that to the programs.
	Iface string `cbor:"45,keyasint,omitempty"`
	// Names tells ranks who they are by another launcher's variables, too.
	Names RankNames `cbor:"35,keyasint,omitempty"`
	// Unbuffered has standard output of ranks be a raw pseudo-terminal (proc.Child).
	Unbuffered bool `cbor:"50,keyasint,omitempty"`
	// Timed has agents stamp ranks' output with the time of its reading (Chunk.At).
	Timed bool `cbor:"51,keyasint,omitempty"`
	// Profile is the quantity of their messages that ranks count; in Launch, "" has
	// them count nothing.
	Profile profile.Quantity `cbor:"27,keyasint,omitempty"`
	// ProfileFrom is the event that begins the counting.
	ProfileFrom profile.Trigger `cbor:"28,keyasint,omitempty"`
}
