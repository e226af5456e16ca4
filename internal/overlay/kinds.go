package overlay

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Protocol is the version of the messages. It rises with each new kind, and where one
// comes to mean something else. An agent and its parent must agree on it; they are the same
// executable unless architectures are mixed.
const Protocol = 10

// Kinds of messages. A number keeps its meaning: a new kind takes the next that is
// free in its group (1 the job and its nodes, 64 names, 72 worlds, 96 and on servers
// of ranks).
const (
	KindHello      tree.Kind = 1
	KindRange      tree.Kind = 2
	KindReady      tree.Kind = 3
	KindLaunch     tree.Kind = 4
	KindStarted    tree.Kind = 5
	KindFailure    tree.Kind = 6
	KindDone       tree.Kind = 7
	KindSignal     tree.Kind = 8
	KindKill       tree.Kind = 9
	KindNote       tree.Kind = 10
	KindSign       tree.Kind = 11
	KindSigned     tree.Kind = 12
	KindBoard      tree.Kind = 13
	KindOutput     tree.Kind = 14
	KindDrained    tree.Kind = 15
	KindInput      tree.Kind = 16
	KindInputAck   tree.Kind = 17
	KindHome       tree.Kind = 18
	KindFile       tree.Kind = 19
	KindFileEnd    tree.Kind = 20
	KindDied       tree.Kind = 21
	KindWaiting    tree.Kind = 22
	KindSummon     tree.Kind = 23
	KindSchedule   tree.Kind = 24
	KindScheduled  tree.Kind = 25
	KindDemand     tree.Kind = 26
	KindResize     tree.Kind = 27
	KindAddress    tree.Kind = 28
	KindClaim      tree.Kind = 29
	KindClaimed    tree.Kind = 30
	KindName       tree.Kind = 64
	KindNamed      tree.Kind = 65
	KindWorld      tree.Kind = 72
	KindSpawn      tree.Kind = 73
	KindSpawned    tree.Kind = 74
	KindEndWorld   tree.Kind = 75
	KindForget     tree.Kind = 76
	KindGrow       tree.Kind = 77
	KindGrown      tree.Kind = 78
	KindLateLaunch tree.Kind = 79
	KindCollect    tree.Kind = 80
	KindCollected  tree.Kind = 81
	KindPing       tree.Kind = 82
	KindPong       tree.Kind = 83
	KindProgress   tree.Kind = 84
	KindStalled    tree.Kind = 85
	KindAskWaits   tree.Kind = 86
	KindWaits      tree.Kind = 87
	KindGroup      tree.Kind = 88
	KindProfile    tree.Kind = 89
	KindRecords    tree.Kind = 96
	KindPMIxFence  tree.Kind = 97
	KindPMIxCall   tree.Kind = 98
	KindPMIxAnswer tree.Kind = 99
	KindPMIxModex  tree.Kind = 100
	KindMaster     tree.Kind = 112
)

// way is the direction of a kind of message.
type way string

const (
	up   way = "up"   // from a child to its parent
	down way = "down" // from a parent to its children
	both way = "both"
)

// by tells who may send a kind of message.
type by string

const (
	byChild    by = "a child"
	byBelow    by = "an agent below" // for the launcher: each agent passes it on as it is
	byRoot     by = "the root"       // the one child of the launcher
	byParent   by = "the parent"
	byLauncher by = "the launcher" // to the root alone
	byNeighbor by = "a neighbor"   // parent or child
	byNode     by = "any node"     // whose host the header names; it is below the neighbor that passes it on
	byNewcomer by = "a newcomer"   // an agent that is not a child yet
)

// of tells what a message may speak of; its body's check holds it to that.
type of string

const (
	ofNothing of = "nothing"
	ofHosts   of = "hosts of its range"
	ofEach    of = "each host of its range, once"
	ofGrown   of = "each host that it was to start, once"
	ofRanks   of = "ranks of its range, and their hosts"
	ofCounts  of = "as many ranks as its range has"
	ofWorld   of = "a world with ranks in its range"
	ofBelow   of = "whom the receiver is, and has below it"
)

// kind is one kind of message: everything that holds for all of it.
type kind struct {
	name   string
	stream link.Stream
	way    way
	by     by
	of     of
	world  bool // the header's World says which one it is about
	bytes  size // of the payload
	values size // in the payload, see weigh
	body   body
}

// kinds is what may be sent between agents, and by whom. Nothing else is
// received: Origin holds every neighbor to it. docs/protocol-tree.md has the
// same table for people.
var kinds = [...]kind{
	KindHello:   {"hello", link.Control, up, byNewcomer, ofNothing, false, small, few, coded[Hello](nil)},
	KindRange:   {"range", link.Service, down, byParent, ofBelow, false, large, many, coded[Range](nil)},
	KindReady:   {"ready", link.Service, up, byChild, ofEach, false, causes, records, coded((*Origin).ready)},
	KindLaunch:  {"launch", link.KVS, down, byParent, ofBelow, false, large, many, coded[Launch](nil)},
	KindStarted: {"started", link.Control, up, byChild, ofRanks, true, reasons, perRank, coded((*Origin).started)},
	KindFailure: {"failure", link.Control, up, byChild, ofRanks, false, losses, runsOfHosts, coded((*Origin).failure)},
	KindDone:    {"done", link.Control, up, byChild, ofCounts, true, small, few, coded((*Origin).done)},
	KindSignal:  {"signal", link.Control, down, byParent, ofNothing, false, small, few, coded[Signal](nil)},
	KindKill:    {"kill", link.Control, down, byParent, ofNothing, false, small, few, coded[Kill](nil)},
	KindNote:    {"note", link.Control, up, byBelow, ofHosts, false, text, few, coded((*Origin).note)},
	KindSign:    {"sign", link.Service, up, byChild, ofHosts, false, small, few, coded((*Origin).sign)},
	KindSigned:  {"signed", link.Service, down, byParent, ofNothing, false, small, few, coded[SignAnswer](nil)},
	KindBoard:   {"board", link.KVS, both, byNeighbor, ofWorld, true, large, few, raw((*Origin).aboutWorld)},
	KindOutput:  {"output", link.Stdio, up, byChild, ofRanks, false, chunk, few, raw((*Origin).output)},
	KindDrained: {"drained", link.Stdio, up, byChild, ofWorld, true, empty, few, raw((*Origin).drained)},
	KindInput:   {"input", link.Stdio, down, byParent, ofNothing, false, chunk, few, raw(nil)},
	KindInputAck: {"input ack", link.Control, up, byChild, ofNothing, false, small, few,
		coded((*Origin).inputAck)},
	KindHome:       {"home", link.KVS, both, byNode, ofWorld, true, large, few, raw((*Origin).home)},
	KindFile:       {"file", link.Data, down, byParent, ofNothing, false, chunk, few, raw(nil)},
	KindFileEnd:    {"file end", link.Data, down, byParent, ofNothing, false, small, few, raw(nil)},
	KindDied:       {"died", link.Service, up, byBelow, ofHosts, false, causes, records, coded((*Origin).died)},
	KindWaiting:    {"waiting", link.Control, up, byBelow, ofRanks, true, runs, perRank, coded((*Origin).waiting)},
	KindAddress:    {"address", link.Service, up, byChild, ofHosts, false, small, few, coded((*Origin).address)},
	KindSummon:     {"summon", link.Service, up, byChild, ofHosts, false, small, few, coded((*Origin).summon)},
	KindSchedule:   {"schedule", link.Service, up, byBelow, ofRanks, false, small, few, coded((*Origin).schedule)},
	KindScheduled:  {"scheduled", link.Service, down, byParent, ofNothing, false, large, many, coded[ScheduleAnswer](nil)},
	KindDemand:     {"demand", link.Control, up, byBelow, ofHosts, false, small, few, coded((*Origin).demand)},
	KindResize:     {"resize", link.Control, down, byParent, ofNothing, false, small, few, coded[unix.Window](nil)},
	KindClaim:      {"claim", link.Service, down, byParent, ofBelow, false, large, many, coded[Claim](nil)},
	KindClaimed:    {"claimed", link.Service, up, byBelow, ofHosts, false, small, few, coded((*Origin).claimed)},
	KindName:       {"name", link.Service, up, byChild, ofRanks, false, text, few, coded((*Origin).name)},
	KindNamed:      {"named", link.Service, down, byParent, ofNothing, false, text, few, coded[NameAnswer](nil)},
	KindWorld:      {"world", link.KVS, down, byParent, ofBelow, true, large, many, coded[World](nil)},
	KindSpawn:      {"spawn", link.Service, up, byBelow, ofRanks, false, spawns, words, coded((*Origin).spawn)},
	KindSpawned:    {"spawned", link.Service, down, byParent, ofNothing, false, large, many, coded[SpawnAnswer](nil)},
	KindEndWorld:   {"end world", link.Control, down, byParent, ofNothing, true, empty, few, raw(nil)},
	KindForget:     {"forget", link.KVS, down, byParent, ofNothing, true, empty, few, raw(nil)},
	KindGrow:       {"grow", link.KVS, down, byLauncher, ofBelow, false, large, many, coded[Range](nil)},
	KindGrown:      {"grown", link.Service, up, byRoot, ofGrown, false, causes, records, coded((*Origin).grown)},
	KindLateLaunch: {"late launch", link.KVS, down, byLauncher, ofBelow, false, large, many, coded[Launch](nil)},
	KindCollect:    {"collect", link.Service, down, byParent, ofNothing, false, empty, few, raw(nil)},
	KindCollected: {"collected", link.Service, up, byChild, ofRanks, false, large, counters,
		coded((*Origin).collected)},
	KindPing:       {"ping", link.Control, down, byParent, ofNothing, false, small, few, coded[Ping](nil)},
	KindPong:       {"pong", link.Control, up, byChild, ofNothing, false, small, few, coded((*Origin).pong)},
	KindProgress:   {"progress", link.Control, up, byChild, ofCounts, false, small, few, coded((*Origin).progress)},
	KindStalled:    {"stalled", link.Control, up, byChild, ofNothing, false, empty, few, raw(nil)},
	KindAskWaits:   {"ask waits", link.Control, down, byParent, ofNothing, false, small, few, coded[WaitQuestion](nil)},
	KindWaits:      {"waits", link.Control, up, byChild, ofRanks, false, stalls, waiters, coded((*Origin).waits)},
	KindGroup:      {"group", link.KVS, both, byNode, ofWorld, true, large, many, coded((*Origin).group)},
	KindProfile:    {"profile", link.Service, up, byBelow, ofRanks, true, chunk, parts, coded((*Origin).profile)},
	KindRecords:    {"records", link.Data, both, byNeighbor, ofWorld, true, large, few, raw((*Origin).aboutWorld)},
	KindPMIxFence:  {"PMIx fence", link.KVS, both, byNeighbor, ofWorld, true, large, few, raw((*Origin).aboutWorld)},
	KindPMIxCall:   {"PMIx call", link.Service, up, byBelow, ofHosts, false, large, few, coded((*Origin).pmixCall)},
	KindPMIxAnswer: {"PMIx answer", link.Service, down, byParent, ofNothing, false, large, many, coded[PMIxAnswer](nil)},
	KindPMIxModex:  {"PMIx modex", link.KVS, both, byNode, ofHosts, false, large, few, coded((*Origin).pmixModex)},
	KindMaster:     {"master", link.KVS, both, byNeighbor, ofWorld, true, small, few, raw((*Origin).aboutWorld)},
}

// BetweenServers tells whether messages of a kind are between those who serve the
// ranks of a world, on nodes of either side of an edge.
func BetweenServers(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].way == both }

// Word is what a kind of message is called.
func Word(k tree.Kind) string {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", k)
}

// ForLauncher tells whether agents pass such messages on to the launcher as they are.
func ForLauncher(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].by == byBelow }

// FromAnyNode tells whether their sender may be any node, which the header names.
func FromAnyNode(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].by == byNode }

// size is a bound on a message: so much, and more for each host and rank that
// its sender may speak of.
type size struct{ base, host, rank int }

// Bounds on the bytes of payloads.
var (
	empty   = size{}
	small   = size{base: 64 << 10}
	text    = size{base: 2*maxText + 4<<10}           // a text of maxText, or two
	losses  = size{base: 2*maxText + 4<<10, host: 16} // and every other host is lost
	chunk   = size{base: 4 << 20}                     // of output, input or a file
	spawns  = size{base: 8 << 20}                     // package pmi takes 1 MiB of text
	causes  = size{base: 4 << 10, host: 2 * maxCause} // each host is dead, and may have hints
	reasons = size{base: 4 << 10, rank: 2 * maxCause} // no rank was started
	runs    = size{base: 2 * maxCause, rank: 16}      // every other rank waits
	stalls  = size{base: 16 * maxCause, rank: 32 * lists}
	large   = size{base: tree.MaxMessage}
)

// Bounds on the values of payloads that are encoded.
var (
	few         = size{base: 128}
	runsOfHosts = size{base: 128, host: 8}                      // Failure.Lost
	many        = size{base: 1 << 24}                           // a range of 65,536 hosts with their keys takes a fifth
	words       = size{base: 1 << 20}                           // of a spawn's commands
	parts       = size{base: 1 << 17}                           // profile.MaxPart of the longest
	records     = size{base: 64, host: 32}                      // NodeInfo, DeadHost
	perRank     = size{base: 64, rank: 32}                      // StartFailure
	waiters     = size{base: 4096, host: 1, rank: 16 * lists}   // heads of Waits and States, and WaitRun
	counters    = size{base: 64 << 10, host: 8 << 10, rank: 32} // records of a node with its trace, and of a rank
)

// body is how a payload is read, and held to what its sender may speak of.
type body func(o *Origin, h tree.Header, payload []byte, values int) (any, error)

// coded is a payload in CBOR. Where check is nil, as of what comes from the parent,
// it is read when it is wanted: so that it can be passed on before.
func coded[T any](check func(*Origin, tree.Header, T) error) body {
	return func(o *Origin, h tree.Header, payload []byte, values int) (any, error) {
		if check == nil {
			return nil, nil
		}
		v, err := weighed[T](payload, values)
		if err != nil {
			return nil, err
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		return v, check(o, h, v)
	}
}

// weighed decodes a payload of at most so many values.
func weighed[T any](payload []byte, values int) (v T, err error) {
	if err := weigh(payload, values); err != nil {
		return v, err
	}
	return Decode[T](payload)
}

// raw is a payload in a form of its own; check may be nil.
func raw(check func(*Origin, tree.Header, []byte) error) body {
	return func(o *Origin, h tree.Header, payload []byte, _ int) (any, error) {
		if check == nil {
			return nil, nil
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		return nil, check(o, h, payload)
	}
}

// As is what a message says, as the type that its kind has.
func As[T any](m Message) (T, error) {
	if v, ok := m.Value.(T); ok {
		return v, nil
	}
	return weighed[T](m.Body, kinds[m.Header.Kind].values.base)
}

// Take hands what As makes of a message to do. The error is that of either: the message
// breaks the protocol.
func Take[T any](m Message, do func(T) error) error {
	body, err := As[T](m)
	if err != nil {
		return err
	}
	return do(body)
}

// TakeAny is Take where any body that can be read is right.
func TakeAny[T any](m Message, do func(T)) error {
	return Take(m, func(body T) error {
		do(body)
		return nil
	})
}
