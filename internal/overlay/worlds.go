package overlay

import (
	"fmt"
	"math"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// MaxWorlds bounds the worlds of a job, one after the other or at a time: the header's
// World can tell as many apart.
const MaxWorlds = 1 << 16

// maxDepth bounds the levels of switches: hops are counted in a byte.
const maxDepth = 255

// World describes a world to the nodes that hold it. It is encoded once by the launcher
// and forwarded undecoded.
type World struct {
	KVSName string            `cbor:"1,keyasint"`
	Size    int               `cbor:"2,keyasint"`
	Apps    []job.App         `cbor:"3,keyasint"`
	Blocks  []job.Block       `cbor:"4,keyasint"`           // in rank order
	Mapping string            `cbor:"5,keyasint"`           // PMI_process_mapping
	Spawner string            `cbor:"6,keyasint,omitempty"` // KVSName of the world that asked; "" for the first
	Preput  map[string]string `cbor:"7,keyasint,omitempty"`
	// Programs are, by app, the names of those of the job's files that are the
	// programs, or ""; none where the job has no files.
	Programs []string `cbor:"8,keyasint,omitempty"`
	// Depth is the levels of switches of the network between the job's hosts, 0
	// where that is not known. Clusters are the switch clusters of the hosts that
	// hold ranks, in their order: of each at depth 1 to Depth, numbers that are the
	// same in all worlds of the job.
	Depth    int   `cbor:"9,keyasint,omitempty"`
	Clusters []int `cbor:"10,keyasint,omitempty"`
	// Slots are the CPUs of ranks for which the user names them (binding.ParseSlots):
	// they are bound to these in spite of LaunchOptions.BindTo.
	Slots map[job.Rank]string `cbor:"11,keyasint,omitempty"`
	// Names are those of the hosts that hold ranks, in their order, as hostlist.Fold has
	// them.
	Names string `cbor:"12,keyasint,omitempty"`
	// SpawnRank is the rank of the world Spawner that asked.
	SpawnRank job.Rank `cbor:"14,keyasint,omitempty"`
}

// ClustersOf returns the switch clusters of a node, by its number in the world, at
// depth 1 to Depth.
func (w *World) ClustersOf(node job.NodeID) []int {
	return w.Clusters[int(node)*w.Depth : (int(node)+1)*w.Depth]
}

// CheckClusters checks that they are those of so many nodes.
func (w *World) CheckClusters(nodes int) error {
	if w.Depth < 0 || w.Depth > maxDepth || len(w.Clusters) != nodes*w.Depth {
		return fmt.Errorf("%d switch clusters of %d nodes at %d depths", len(w.Clusters), nodes, w.Depth)
	}
	for _, c := range w.Clusters {
		if c < 0 || c > math.MaxInt32 {
			return fmt.Errorf("switch cluster %d does not exist", c)
		}
	}
	return nil
}

// SpawnRequest is a rank's request to start a world.
type SpawnRequest struct {
	Host  job.HostIndex `cbor:"1,keyasint"` // of the rank; each link checks that it lies in its child's subtree
	Rank  job.Rank      `cbor:"2,keyasint"`
	World int           `cbor:"3,keyasint"` // of the rank
	Spawn pmi.Spawn     `cbor:"4,keyasint"`
	// Files are the host files that the hints name, up to the first that could not
	// be read.
	Files []HostFile `cbor:"5,keyasint,omitempty"`
	Call  uint32     `cbor:"6,keyasint,omitempty"` // of PMIx, which the answer has; 0 over PMI
}

// HostFile is the content of a host file that a rank named, as its agent read it.
type HostFile struct {
	Name    string `cbor:"1,keyasint"`
	Hosts   string `cbor:"2,keyasint,omitempty"` // their names, as hostlist.Fold has them
	Failure string `cbor:"3,keyasint,omitempty"` // why they are not known; "" if they are
}

// SpawnAnswer tells that rank the outcome.
type SpawnAnswer struct {
	Host    job.HostIndex `cbor:"1,keyasint"`
	Rank    job.Rank      `cbor:"2,keyasint"`
	World   int           `cbor:"3,keyasint"`
	KVSName string        `cbor:"4,keyasint"` // of the new world
	Failure string        `cbor:"5,keyasint"` // why there is none; "" if all is well
	Codes   []int         `cbor:"6,keyasint"` // as in pmi.SpawnResult
	Call    uint32        `cbor:"7,keyasint,omitempty"`
}

// Started says that every rank of the world in the subtree was started, or
// could not be.
type Started struct {
	Ranks int `cbor:"1,keyasint"` // that were started
	// Failures of a spawned world, which end no job; those of the first world
	// are reported as job.Failure.
	Failures []StartFailure `cbor:"2,keyasint,omitempty"`
	// Bound has their CPUs, if that is asked for (LaunchOptions.ReportBindings).
	Bound []Bound `cbor:"3,keyasint,omitempty"`
}

// StartFailure is the reason for which ranks First to First+Count-1 do not run on a
// host.
type StartFailure struct {
	Host  job.HostIndex `cbor:"1,keyasint"`
	First job.Rank      `cbor:"2,keyasint"`
	Count int           `cbor:"3,keyasint"`
	Code  int           `cbor:"4,keyasint"` // exit code that golaunch has for it
	Text  string        `cbor:"5,keyasint"`
}

// Merge folds another subtree's part in.
func (s *Started) Merge(part Started) {
	s.Ranks += part.Ranks
	s.Failures = append(s.Failures, part.Failures...)
	s.Bound = mergeBound(s.Bound, part.Bound)
}

// Fail adds one rank that was not started.
func (s *Started) Fail(f StartFailure) {
	f.Text = cut(f.Text, maxCause)
	if n := len(s.Failures); n > 0 {
		last := &s.Failures[n-1]
		if last.Host == f.Host && last.First+job.Rank(last.Count) == f.First && last.Code == f.Code && last.Text == f.Text {
			last.Count += f.Count
			return
		}
	}
	s.Failures = append(s.Failures, f)
}
