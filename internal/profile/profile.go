package profile

import "time"

// Format and Version are those of docs/profile-v1.schema.json. The file may gain
// members; a change of existing ones takes a new number.
const (
	Format  = "golaunch-profile"
	Version = 1
)

// Profile is the file of --profile.
type Profile struct {
	Format   string    `json:"format"`  // Format
	Version  int       `json:"version"` // Version
	Job      string    `json:"job"`     // its identity
	Command  []string  `json:"command"` // words, with ":" between apps
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`     // from then until the file was written
	Status   int       `json:"exit_status"` // golaunch's own
	Quantity Quantity  `json:"quantity"`
	From     Trigger   `json:"from"`
	Worlds   []World   `json:"worlds"` // the first, then each that was spawned
}

// Quantity is a recorded quantity.
type Quantity string

// The quantities.
const (
	Volume Quantity = "volume" // messages and bytes
	Time   Quantity = "time"   // besides, the nanoseconds in the calls
)

// Quantities returns all of them.
func Quantities() []Quantity { return []Quantity{Volume, Time} }

// Help describes a quantity.
func (q Quantity) Help() string {
	return map[Quantity]string{Volume: "messages and bytes", Time: "besides, the time that ranks spend in the calls"}[q]
}

// Trigger is an event that begins the counting.
type Trigger string

// The triggers.
const (
	FromStart    Trigger = "start"    // MPI_Init
	FromPcontrol Trigger = "pcontrol" // the program's MPI_Pcontrol(1)
	FromSignal   Trigger = "signal"   // SIGUSR2 to golaunch, which ends it, too
)

// Triggers returns all of them.
func Triggers() []Trigger { return []Trigger{FromStart, FromPcontrol, FromSignal} }

// Help describes a trigger.
func (t Trigger) Help() string {
	return map[Trigger]string{
		FromStart: "MPI_Init", FromPcontrol: "MPI_Pcontrol(1) of the program",
		FromSignal: "SIGUSR2 to golaunch; the next one ends the counting",
	}[t]
}

// World holds the counts of one world's ranks.
type World struct {
	World         int            `json:"world"`
	Size          int            `json:"size"`
	MPI           string         `json:"mpi"`   // "" if no rank told
	Nodes         []string       `json:"nodes"` // names of hosts
	NodeOf        []OnNode       `json:"node_of"`
	Missing       []int          `json:"missing"`    // ranks without a profile, ascending
	Unfinished    []int          `json:"unfinished"` // ranks that ended without MPI_Finalize, ascending
	Dropped       int64          `json:"dropped"`    // calls of collective operations without a record
	Sent          []Sent         `json:"sent"`       // ascending by source and destination
	Outside       []Outside      `json:"outside"`    // ascending by source
	Communicators []Communicator `json:"communicators"`
	Collectives   []Collective   `json:"collectives"`
}

// OnNode says that Count ranks from First on ran on a node, an index into Nodes.
type OnNode struct{ Node, First, Count int }

// Sent counts the messages of one rank to another.
type Sent struct {
	Source, Destination int32
	Counts
}

// Outside counts the messages of a rank to processes of other worlds.
type Outside struct {
	Source int32
	Counts
}

// Communicator is some ranks of the world in an order of their own.
type Communicator struct {
	Size  int   `json:"size"`
	Ranks []Run `json:"ranks"` // empty if not all are known
}

// Collective is a collective operation on a communicator, or those of one root and
// similar sizes.
type Collective struct {
	Call         string `json:"call"`         // such as "MPI_Allreduce"
	Communicator int    `json:"communicator"` // index
	Root         int    `json:"root"`         // in the communicator; -1 for none
	Calls        int64  `json:"calls"`        // the most that one rank called it
	Bytes        int64  `json:"bytes"`        // that all ranks together gave
	Nanoseconds  int64  `json:"nanoseconds"`  // that all ranks together spent
	InSent       bool   `json:"in_sent"`      // Sent has it, part by part
}
