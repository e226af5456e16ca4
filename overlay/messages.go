package overlay

import (
	"fmt"
	"slices"
	"time"

	"github.com/fxamacker/cbor/v2"

	sshboot "github.com/golaunch/golaunch/bootstrap/ssh"
	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// Protocol is the version of the messages below. An agent and its parent must
// agree on it; they are the same executable unless architectures are mixed.
const Protocol = 2

// Kinds of messages. Numbers are stable. The stream a kind travels on is fixed
// and given with it.
const (
	KindHello    tree.Kind = 1 + iota // control, up one link: Hello
	KindRange                         // service, down one link: Range
	KindReady                         // service, up one link: Ready
	KindLaunch                        // kvs, broadcast: Launch
	KindStarted                       // control, up one link: Started
	KindFailure                       // control, to the launcher: job.Failure
	KindDone                          // control, up one link: Done
	KindSignal                        // control, broadcast: Signal
	KindKill                          // control, broadcast: Kill
	KindNote                          // control, to the launcher: Note
	KindSign                          // service, up one link: SignRequest
	KindSigned                        // service, down one link: SignAnswer
	KindBoard                         // kvs, up or down one link: a cache message
	KindOutput                        // stdio, to the launcher: output records
	KindDrained                       // stdio, up one link: no more output of the world below
	KindInput                         // stdio, down: standard input
	KindInputAck                      // control, up one link: bytes of input taken
	KindHome                          // kvs, to any node: a cache message
	KindFile                          // data, broadcast: bytes of the file of Launch.Files that arrives
	KindFileEnd                       // data, broadcast: the SHA-256 of that file, which ends here
	KindDied                          // service, to the launcher: Died
)

// Hello is the first message of an agent to its parent.
type Hello struct {
	Protocol int    `cbor:"1,keyasint"`
	Build    string `cbor:"2,keyasint"` // hash of the agent's executable
	OSArch   string `cbor:"3,keyasint"`
	Cores    int    `cbor:"4,keyasint"`
	HostName string `cbor:"5,keyasint"` // the node's own name
	Addr     string `cbor:"6,keyasint"` // address at which the node was reached; may be empty
}

// HostEntry is one host that an agent is to start, with all that it takes to
// reach it.
type HostEntry struct {
	Index  job.HostIndex   `cbor:"1,keyasint"`
	Name   string          `cbor:"2,keyasint"`
	Addr   string          `cbor:"3,keyasint"`
	Target *sshboot.Target `cbor:"4,keyasint,omitempty"` // bootstrap ssh only
	User   string          `cbor:"5,keyasint,omitempty"` // bootstrap exec only, as given
	Port   int             `cbor:"6,keyasint,omitempty"` // bootstrap exec only, as given
	// Below makes this a relay: an agent on the launcher's host, without ranks,
	// for so many of the entries that follow. A host has 0.
	Below int `cbor:"7,keyasint,omitempty"`
}

// Relay tells whether h is a relay and not a host of the job.
func (h HostEntry) Relay() bool { return h.Below > 0 }

// Range tells an agent who it is and which hosts to start below itself.
type Range struct {
	Self  HostEntry   `cbor:"1,keyasint"`
	Hosts []HostEntry `cbor:"2,keyasint"` // in HostIndex order
	Root  bool        `cbor:"3,keyasint"` // the parent is the launcher
	Common
}

// Common is the part of a Range that every agent hands on unchanged.
type Common struct {
	JobID          string              `cbor:"10,keyasint"`
	Bootstrap      string              `cbor:"11,keyasint"` // "fork", "ssh" or "exec"
	Degree         int                 `cbor:"12,keyasint"`
	Keys           []sshboot.PublicKey `cbor:"13,keyasint"`
	PreferKey      int                 `cbor:"14,keyasint"` // index of the key that worked before, or -1
	ConnectTimeout time.Duration       `cbor:"15,keyasint"`
	LostAfter      time.Duration       `cbor:"16,keyasint"`
	KeepAgent      bool                `cbor:"17,keyasint"`
	Verbose        int                 `cbor:"18,keyasint"`
	Agent          stage.Installed     `cbor:"19,keyasint"` // none: every host gets a copy
	KeyNotes       []string            `cbor:"20,keyasint"` // why other keys cannot be offered
	Exec           string              `cbor:"21,keyasint"` // bootstrap exec: the template
	Relayed        bool                `cbor:"22,keyasint"` // only relays start others, and only what is Below them
	Gate           string              `cbor:"23,keyasint"` // of the relays; "" for none
	Trace          bool                `cbor:"24,keyasint"` // keep what --trace wants to know
	Records        bool                `cbor:"26,keyasint"` // keep the records of nodes and ranks for the report
	Progress       bool                `cbor:"25,keyasint"` // tell how far a long start-up is
	MissAfter      time.Duration       `cbor:"27,keyasint"` // sshboot.DialerConfig; 0 if no host may be missing
}

// Values of Common.Bootstrap.
const (
	BootstrapFork = "fork"
	BootstrapSSH  = "ssh"
	BootstrapExec = "exec"
)

// NodeInfo is what the launcher learns of a live host.
type NodeInfo struct {
	Index    job.HostIndex `cbor:"1,keyasint"`
	HostName string        `cbor:"2,keyasint"`
	Addr     string        `cbor:"3,keyasint"`
	Cores    int           `cbor:"4,keyasint"`
}

// DeadHost is a host on which no agent could be started, and why.
type DeadHost struct {
	Index job.HostIndex `cbor:"1,keyasint"`
	Phase string        `cbor:"2,keyasint"`
	Cause string        `cbor:"3,keyasint"`
	Hint  string        `cbor:"4,keyasint"`
}

// Ready says that the subtree is complete: who lives and who does not.
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

// Died says which hosts were lost between their Ready and the launch.
type Died struct {
	Dead []DeadHost `cbor:"1,keyasint"`
}

// Merge folds another subtree's part in.
func (r *Ready) Merge(part Ready) {
	r.Live = append(r.Live, part.Live...)
	r.Dead = append(r.Dead, part.Dead...)
}

// Launch is the final plan: what all worlds have in common, and the first of
// them. It is encoded once by the launcher and forwarded undecoded.
type Launch struct {
	World     World           `cbor:"1,keyasint"`
	Env       []string        `cbor:"4,keyasint"`
	Umask     int             `cbor:"5,keyasint"`
	Rlimits   []unix.Rlimit   `cbor:"6,keyasint"`
	Nodes     []job.HostIndex `cbor:"8,keyasint"`  // NodeID to host
	StdinRank job.Rank        `cbor:"10,keyasint"` // StdinNone, StdinAll or a rank of the first world

	Cache      cache.Policy `cbor:"12,keyasint"`
	CacheBytes int          `cbor:"13,keyasint"` // cache.Config.Budget

	PMILibrary []byte `cbor:"14,keyasint"` // libpmi.so for Open MPI; empty where there is none
	OpenMPI    bool   `cbor:"15,keyasint"` // every program counts as one of Open MPI

	Files []stage.File `cbor:"16,keyasint"` // that come on the data stream, before the ranks start

	PMIPort    bool   `cbor:"18,keyasint"` // ranks connect to a port instead of inheriting a descriptor
	PMGR       bool   `cbor:"21,keyasint"` // ranks of the first world are told of PMGR, too
	PMIVersion string `cbor:"19,keyasint"` // pmi.World.Version

	Late bool `cbor:"20,keyasint"` // the nodes that get it were started for a spawn: the first world has nothing on them
}

// Values of Launch.StdinRank that are not a rank.
const (
	StdinNone job.Rank = -1
	StdinAll  job.Rank = -2
)

// Done says that every rank of the world in the subtree has ended.
type Done struct {
	Ranks  int `cbor:"1,keyasint"` // that exited 0, unprovoked
	Failed int `cbor:"2,keyasint"` // that failed unprovoked; each was reported
	Ended  int `cbor:"3,keyasint"` // that ended because they were told to
}

// Merge folds another subtree's part in.
func (d *Done) Merge(part Done) {
	d.Ranks += part.Ranks
	d.Failed += part.Failed
	d.Ended += part.Ended
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
// Level.
type Note struct {
	Level int           `cbor:"1,keyasint"`
	Host  job.HostIndex `cbor:"2,keyasint"`
	Text  string        `cbor:"3,keyasint"`
}

// SignRequest asks the launcher for a signature. ID is rewritten on each link
// and echoed in the answer.
type SignRequest struct {
	ID      uint64              `cbor:"1,keyasint"`
	Request sshboot.SignRequest `cbor:"2,keyasint"`
	By      job.HostIndex       `cbor:"3,keyasint"` // who dials; each link checks it lies in its child's subtree
}

// SignAnswer is the launcher's answer: a signature or a refusal.
type SignAnswer struct {
	ID        uint64 `cbor:"1,keyasint"`
	Signature []byte `cbor:"2,keyasint"`
	Refusal   string `cbor:"3,keyasint"`
}

// InputAck says how many bytes of standard input every reader in the subtree
// has taken.
type InputAck struct {
	Bytes int64 `cbor:"1,keyasint"` // stdio.Ended once no reader is left
	Read  int64 `cbor:"2,keyasint"` // the most that a reader which has ended took
}

// Text is what users and programs say, in whatever encoding: the decoder takes
// it as it is.
var (
	encoder = mustMode(cbor.EncOptions{Time: cbor.TimeUnixMicro}.EncMode())
	decoder = mustMode(cbor.DecOptions{MaxArrayElements: 1 << 24, MaxNestedLevels: 16, UTF8: cbor.UTF8DecodeInvalid}.DecMode())
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
