package overlay

import (
	"fmt"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/internal/unix"
)

// Hello is the first message of an agent to its parent.
type Hello struct {
	Protocol int    `cbor:"1,keyasint"`
	OSArch   string `cbor:"3,keyasint"`
	Cores    int    `cbor:"4,keyasint"`
	HostName string `cbor:"5,keyasint"` // the node's own name
	Addr     string `cbor:"6,keyasint"` // address at which the node was reached; may be empty
}

// HostEntry is one host that an agent is to start, with all that it takes to
// reach it.
type HostEntry struct {
	Index  job.HostIndex `cbor:"1,keyasint"`
	Name   string        `cbor:"2,keyasint"`
	Addr   string        `cbor:"3,keyasint"`
	Access *Access       `cbor:"4,keyasint,omitempty"` // nil where name and address are enough
	// Below makes this a relay: an agent on the launcher's host, without ranks,
	// for so many of the entries that follow. A host has 0.
	Below int `cbor:"7,keyasint,omitempty"`
	// Cut is the number of following entries that the network puts below this host
	// (tree.Cut); 0 for a leaf, and where no network cuts the ranges.
	Cut int `cbor:"8,keyasint,omitempty"`
	// Told says that the user knows that this host is awaited.
	Told bool `cbor:"9,keyasint,omitempty"`
	// Share is the job's claim there; nil where no other golaunch counts.
	Share *Share `cbor:"10,keyasint,omitempty"`
}

// Access is a bootstrap's further knowledge for reaching a host.
type Access struct {
	User string `cbor:"1,keyasint,omitempty"` // as given
	Port int    `cbor:"2,keyasint,omitempty"` // as given
	Data []byte `cbor:"3,keyasint,omitempty"` // bootstrap.Route.Data
}

// access is that of a host, or nothing.
func (h HostEntry) access() Access {
	if h.Access == nil {
		return Access{}
	}
	return *h.Access
}

// Reach notes how the bootstrap reaches h.
func (h *HostEntry) Reach(r bootstrap.Route) {
	h.Addr = r.Addr
	if r.Data != nil {
		access := h.access()
		access.Data = r.Data
		h.Access = &access
	}
}

// Data is bootstrap.Node.Data for hosts.
func Data(hosts []HostEntry) map[job.HostIndex][]byte {
	data := make(map[job.HostIndex][]byte, len(hosts))
	for _, h := range hosts {
		if d := h.access().Data; d != nil {
			data[h.Index] = d
		}
	}
	return data
}

// Relay tells whether h is a relay and not a host of the job.
func (h HostEntry) Relay() bool { return h.Below > 0 }

// Range tells an agent its place and the hosts to start below itself.
type Range struct {
	Self  HostEntry   `cbor:"1,keyasint"`
	Hosts []HostEntry `cbor:"2,keyasint"` // in the pre-order of the tree
	Root  bool        `cbor:"3,keyasint"` // the parent is the launcher
	// Parent is the name of the agent's host that is the parent; "" for the launcher.
	Parent string `cbor:"4,keyasint,omitempty"`
	Level  int    `cbor:"5,keyasint"` // links between Self and the launcher
	Common
}

// Common is the part of a Range that every agent hands on unchanged.
type Common struct {
	StartOptions
	JobID     string          `cbor:"10,keyasint"`
	Bootstrap string          `cbor:"11,keyasint"` // bootstrap.Kind.Name
	Setup     []byte          `cbor:"29,keyasint"` // bootstrap.Node.Setup
	Degree    int             `cbor:"12,keyasint"`
	Agent     stage.Installed `cbor:"19,keyasint"` // none: every host gets a copy
	Relayed   bool            `cbor:"22,keyasint"` // only relays start others, and only what is Below them
	Gate      string          `cbor:"23,keyasint"` // of the relays; "" for none
	Trace     bool            `cbor:"24,keyasint"` // keep what --trace wants to know
	Entries   bool            `cbor:"26,keyasint"` // keep the entries of nodes and ranks for the report
	Progress  bool            `cbor:"25,keyasint"` // tell how far a long start-up is
	Grace     time.Duration   `cbor:"32,keyasint"` // between SIGTERM and SIGKILL, where a node has to know before it is told
	Levels    int             `cbor:"33,keyasint"` // between the launcher and the lowest agents, as planned
	// Allocation tells allocations apart in which hosts have a Share; "" where none has.
	Allocation string `cbor:"40,keyasint,omitempty"`
	Bulk       bool   `cbor:"30,keyasint"` // all agents were started at once, and call (package rendezvous)
}

// NodeInfo describes a live host to the launcher.
type NodeInfo struct {
	Index    job.HostIndex `cbor:"1,keyasint"`
	HostName string        `cbor:"2,keyasint"`
	Addr     string        `cbor:"3,keyasint"`
	Cores    int           `cbor:"4,keyasint"`
	Room     *Room         `cbor:"5,keyasint,omitempty"` // nil where ranks are not bound
	Shared   *Shared       `cbor:"6,keyasint,omitempty"` // nil where the host has no Share
}

// Room counts the ranks that a host has room for if they are bound as
// StartOptions.BindTo asks. Has names its parts: "4 cores". None is the reason for no
// room.
type Room struct {
	Ranks int    `cbor:"1,keyasint,omitempty"`
	Has   string `cbor:"2,keyasint,omitempty"`
	None  string `cbor:"3,keyasint,omitempty"`
}

// DeadHost is a host on which no agent could be started, and why.
type DeadHost struct {
	Index job.HostIndex `cbor:"1,keyasint"`
	Phase string        `cbor:"2,keyasint"`
	Cause string        `cbor:"3,keyasint"`
	Hint  string        `cbor:"4,keyasint"`
}

// Ready says that the subtree is complete, with its live and dead hosts.
type Ready struct {
	Live []NodeInfo `cbor:"1,keyasint"`
	Dead []DeadHost `cbor:"2,keyasint"`
}

// Settle leaves of r each host once: one that is said to be dead lived for a
// while, and one that is said twice to live was started again.
func (r *Ready) Settle() {
	dead := make(map[job.HostIndex]bool, len(r.Dead))
	r.Dead = slices.DeleteFunc(r.Dead, func(d DeadHost) bool {
		again := dead[d.Index]
		dead[d.Index] = true
		return again
	})
	at := make(map[job.HostIndex]int, len(r.Live))
	for i, n := range r.Live {
		at[n.Index] = i
	}
	last := -1
	r.Live = slices.DeleteFunc(r.Live, func(n NodeInfo) bool {
		last++
		return dead[n.Index] || at[n.Index] != last
	})
}

// Died lists hosts that were lost between their Ready and the launch.
type Died struct {
	Dead []DeadHost `cbor:"1,keyasint"`
}

// LongWait is the time after which waiting ranks are told of in Waiting. The others may
// still compute.
const LongWait = 10 * time.Second

// Waiting says that ranks of a node have waited for other ranks of their world for
// LongWait, where their MPI library may hang.
type Waiting struct {
	Ranks   []RankRange `cbor:"1,keyasint"`
	Library string      `cbor:"2,keyasint"`
	Fixed   bool        `cbor:"3,keyasint,omitempty"` // LibMPICHFinalize, which ends that library's hang, is loaded
}

// RankRange is Count ranks from First on.
type RankRange struct {
	First job.Rank `cbor:"1,keyasint"`
	Count int      `cbor:"2,keyasint"`
}

// Merge folds another subtree's part in.
func (r *Ready) Merge(part Ready) {
	r.Live = append(r.Live, part.Live...)
	r.Dead = append(r.Dead, part.Dead...)
}

// Launch is the final plan: the common part of all worlds, and the first of them. It is
// encoded once by the launcher and forwarded undecoded.
type Launch struct {
	LaunchOptions
	World     World           `cbor:"1,keyasint"`
	Env       []string        `cbor:"4,keyasint"`            // of the launcher, as far as EnvFrom says; the agent makes the ranks' of it
	EnvGiven  []string        `cbor:"32,keyasint,omitempty"` // set for every rank, whatever else they get
	Umask     int             `cbor:"5,keyasint"`
	Rlimits   []unix.Rlimit   `cbor:"6,keyasint"`
	Nodes     []job.HostIndex `cbor:"8,keyasint"`  // NodeID to host
	StdinRank job.Rank        `cbor:"10,keyasint"` // StdinNone, StdinAll or a rank of the first world
	Universe  int             `cbor:"23,keyasint"` // pmi.World.UniverseSize
	// Terminal has rank 0 of the first world, which is StdinRank, have a pseudo-terminal of
	// that size, at first, as standard input, output and error.
	Terminal *unix.Window `cbor:"34,keyasint,omitempty"`
	// ShareCPUs lets ranks share CPUs where there are more than they can be bound to
	// alone.
	ShareCPUs bool `cbor:"26,keyasint,omitempty"`

	Libraries []Library `cbor:"14,keyasint"` // for ranks of some MPI libraries; those that the launcher has
	MPICHFix  Fix       `cbor:"22,keyasint"` // ranks that get LibMPICHFinalize

	Files []stage.File `cbor:"16,keyasint"` // that come on the data stream, before the ranks start
}

// Library is a shared library, or PMIxHelper, that travels to the nodes.
type Library struct {
	Name     string `cbor:"1,keyasint"`
	Contents []byte `cbor:"2,keyasint"`
}

// Names of libraries.
const (
	LibPMI           = "libpmi.so"           // PMI for Open MPI 3 and 4
	LibMPIInit       = "libmpiinit.so"       // asks by which variables a rank's MPI finds golaunch
	LibMPICHFinalize = "libmpichfinalize.so" // ends the hang of some MPICHs in MPI_Finalize
	// Those that count what ranks send.
	LibProfileMPICH   = "libprofile-mpich.so"
	LibProfileOpenMPI = "libprofile-openmpi.so"
	PMIxHelper        = "golaunch-pmix" // a program: the PMIx server of a node
)

// Fix selects the ranks that get a cure for a fault of their library.
type Fix uint8

// Values of Fix. Their numbers travel.
const (
	FixAffected Fix = iota // those of programs that have the fault
	FixAll                 // those of every program
	FixNone
)

// Values of Launch.StdinRank that are not a rank.
const (
	StdinNone job.Rank = -1
	StdinAll  job.Rank = -2
)

// Done says that every rank of the world in the subtree has ended.
type Done struct {
	Ranks  int `cbor:"1,keyasint"`           // that exited 0, unprovoked
	Failed int `cbor:"2,keyasint"`           // that failed unprovoked; each was reported
	Ended  int `cbor:"3,keyasint"`           // that ended because they were told to
	Cut    int `cbor:"4,keyasint,omitempty"` // of Ended: killed since they outlived the grace
	Never  int `cbor:"5,keyasint,omitempty"` // of Ended: that never ran
}

// Merge folds another subtree's part in.
func (d *Done) Merge(part Done) {
	d.Ranks += part.Ranks
	d.Failed += part.Failed
	d.Ended += part.Ended
	d.Cut += part.Cut
	d.Never += part.Never
}

// Signal is passed on to every rank's process group.
type Signal struct {
	Number int `cbor:"1,keyasint"`
}

// Kill ends every rank: SIGTERM, then SIGKILL after Grace.
type Kill struct {
	Grace time.Duration `cbor:"1,keyasint"`
}

// Note is a line for the user, shown when the job's verbosity is at least
// Level, which may be NoteAlways.
type Note struct {
	Level int           `cbor:"1,keyasint"`
	Host  job.HostIndex `cbor:"2,keyasint"`
	Text  string        `cbor:"3,keyasint"`
	// Silent says that the host's agent owed something at the end of the job, and was cut
	// off.
	Silent bool `cbor:"4,keyasint,omitempty"`
}

// NoteAlways is the Level of a note that users see even if they asked for quiet.
const NoteAlways = -1

// Demand asks the launcher to end the job: an agent's host, its resource manager or
// somebody there, has told the agent to terminate.
type Demand struct {
	Host job.HostIndex `cbor:"1,keyasint"`
}

// SignRequest asks the launcher for a signature. ID is rewritten on each link
// and echoed in the answer.
type SignRequest struct {
	ID      uint64                `cbor:"1,keyasint"`
	Request bootstrap.SignRequest `cbor:"2,keyasint"`
	By      job.HostIndex         `cbor:"3,keyasint"` // it dials; each link checks it lies in its child's subtree
}

// Summon asks the launcher to have the agent of a host, which called it, call By
// at Addr. It is answered as a SignRequest is, without a signature.
type Summon struct {
	ID   uint64        `cbor:"1,keyasint"` // as SignRequest's
	Host job.HostIndex `cbor:"2,keyasint"`
	Addr string        `cbor:"3,keyasint"` // IP address and port
	By   job.HostIndex `cbor:"4,keyasint"` // it wants the agent for its child
}

// AddrRequest asks the launcher for the address of a host whose name By does not know.
// It is answered as a SignRequest is, with the address as text.
type AddrRequest struct {
	ID   uint64        `cbor:"1,keyasint"` // as SignRequest's
	Host job.HostIndex `cbor:"2,keyasint"`
	By   job.HostIndex `cbor:"3,keyasint"` // it is to start the host
}

// SignAnswer is the launcher's answer: a signature or a refusal.
type SignAnswer struct {
	ID        uint64 `cbor:"1,keyasint"`
	Signature []byte `cbor:"2,keyasint"`
	Refusal   string `cbor:"3,keyasint"`
	Final     bool   `cbor:"4,keyasint,omitempty"` // asking again is no use
}

// InputAck is the number of bytes of standard input that every reader in the subtree
// has taken.
type InputAck struct {
	Bytes int64 `cbor:"1,keyasint"` // stdio.Ended once no reader is left
	Read  int64 `cbor:"2,keyasint"` // the most that a reader which has ended took
}

// Texts of users and programs have any encoding: the decoder takes them as they are.
var (
	encoder = mustMode(cbor.EncOptions{Time: cbor.TimeUnixMicro}.EncMode())
	decoder = mustMode(cbor.DecOptions{
		MaxArrayElements: 1 << 24, MaxMapPairs: 1 << 24, MaxNestedLevels: maxNested, UTF8: cbor.UTF8DecodeInvalid,
	}.DecMode())
)

func mustMode[T any](mode T, err error) T {
	if err != nil {
		panic(err) // a constant of this file is wrong
	}
	return mode
}

// Encode renders a message's payload.
func Encode(message any) []byte {
	b, err := encoder.Marshal(message)
	if err != nil {
		panic(fmt.Sprintf("message %T cannot be encoded: %v", message, err)) // a type of this file is wrong
	}
	return b
}

// Decode parses a message's payload into a new T.
func Decode[T any](payload []byte) (T, error) {
	var m T
	if err := decoder.Unmarshal(payload, &m); err != nil {
		return m, fmt.Errorf("message %T: %w", m, err)
	}
	return m, nil
}
