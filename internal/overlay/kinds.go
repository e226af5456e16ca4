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
const Protocol = 11

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
	KindJobOver    tree.Kind = 31
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

// direction is the way of a kind of message.
type direction string

const (
	up   direction = "up"   // from a child to its parent
	down direction = "down" // from a parent to its children
	both direction = "both"
)

// sender is the role of the agents that send a kind of message.
type sender string

const (
	byChild    sender = "a child"
	byBelow    sender = "an agent below" // for the launcher: each agent passes it on as it is
	byRoot     sender = "the root"       // the one child of the launcher
	byParent   sender = "the parent"
	byLauncher sender = "the launcher" // to the root alone
	byNeighbor sender = "a neighbor"   // parent or child
	byNode     sender = "any node"     // the header names its host, which is below the neighbor that passes it on
	byNewcomer sender = "a newcomer"   // an agent that is not a child yet
)

// scope limits the subjects of a kind of message; its body's check holds messages to
// it.
type scope string

const (
	ofNothing scope = "nothing"
	ofHosts   scope = "hosts of its range"
	ofEach    scope = "each host of its range, once"
	ofGrown   scope = "each host that it was to start, once"
	ofRanks   scope = "ranks of its range, and their hosts"
	ofCounts  scope = "as many ranks as its range has"
	ofWorld   scope = "a world with ranks in its range"
	ofBelow   scope = "the receiver and nodes below it"
)

// subject is the job, or the tree, as the matter of a kind of message.
type subject string

const (
	ofJob    subject = "a job"
	ofTree   subject = "the tree"
	ofEither subject = "a job, or the tree"
)

// kind is one kind of message: everything that holds for all of it.
type kind struct {
	name      string
	stream    link.Stream
	direction direction
	sender    sender
	scope     scope
	of        subject   // a job has its number in the header's Job
	world     bool      // the header's World says which one it is about
	bytes     allowance // of the payload
	values    allowance // in the payload, see weigh
	body      payloadDecoder
}

// kinds lists the messages between agents, with their senders. Nothing else is
// received: Origin holds every neighbor to it. docs/protocol-tree.md has the same table
// for people.
var kinds = [...]kind{
	KindHello:   {name: "hello", stream: link.Control, direction: up, sender: byNewcomer, scope: ofNothing, of: ofTree, bytes: small, values: few, body: coded[Hello](nil)},
	KindRange:   {name: "range", stream: link.Service, direction: down, sender: byParent, scope: ofBelow, of: ofTree, bytes: large, values: many, body: coded[Range](nil)},
	KindReady:   {name: "ready", stream: link.Service, direction: up, sender: byChild, scope: ofEach, of: ofTree, bytes: causes, values: records, body: coded((*Origin).ready)},
	KindLaunch:  {name: "launch", stream: link.KVS, direction: down, sender: byParent, scope: ofBelow, of: ofJob, bytes: large, values: many, body: coded[Launch](nil)},
	KindStarted: {name: "started", stream: link.Control, direction: up, sender: byChild, scope: ofRanks, of: ofJob, world: true, bytes: reasons, values: perRank, body: coded(inJob((*claims).started))},
	KindFailure: {name: "failure", stream: link.Control, direction: up, sender: byChild, scope: ofRanks, of: ofJob, bytes: losses, values: runsOfHosts, body: coded(inJob((*claims).failure))},
	KindDone:    {name: "done", stream: link.Control, direction: up, sender: byChild, scope: ofCounts, of: ofJob, world: true, bytes: small, values: few, body: coded(inJob((*claims).done))},
	KindSignal:  {name: "signal", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: small, values: few, body: coded[Signal](nil)},
	KindKill:    {name: "kill", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: small, values: few, body: coded[Kill](nil)},
	KindNote:    {name: "note", stream: link.Control, direction: up, sender: byBelow, scope: ofHosts, of: ofEither, bytes: text, values: few, body: coded((*Origin).note)},
	KindSign:    {name: "sign", stream: link.Service, direction: up, sender: byChild, scope: ofHosts, of: ofTree, bytes: small, values: few, body: coded((*Origin).sign)},
	KindSigned:  {name: "signed", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofTree, bytes: small, values: few, body: coded[SignAnswer](nil)},
	KindBoard:   {name: "board", stream: link.KVS, direction: both, sender: byNeighbor, scope: ofWorld, of: ofJob, world: true, bytes: large, values: few, body: raw(inJob((*claims).aboutWorld))},
	KindOutput:  {name: "output", stream: link.Stdio, direction: up, sender: byChild, scope: ofRanks, of: ofJob, bytes: chunk, values: few, body: raw(inJob((*claims).output))},
	KindDrained: {name: "drained", stream: link.Stdio, direction: up, sender: byChild, scope: ofWorld, of: ofJob, world: true, bytes: empty, values: few, body: raw(inJob((*claims).drained))},
	KindInput:   {name: "input", stream: link.Stdio, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: chunk, values: few, body: raw(nil)},
	KindInputAck: {name: "input ack", stream: link.Control, direction: up, sender: byChild, scope: ofNothing, of: ofJob, bytes: small, values: few,
		body: coded((*Origin).inputAck)},
	KindHome:       {name: "home", stream: link.KVS, direction: both, sender: byNode, scope: ofWorld, of: ofJob, world: true, bytes: large, values: few, body: raw(inJob((*claims).home))},
	KindFile:       {name: "file", stream: link.Data, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: chunk, values: few, body: raw(nil)},
	KindFileEnd:    {name: "file end", stream: link.Data, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: small, values: few, body: raw(nil)},
	KindDied:       {name: "died", stream: link.Service, direction: up, sender: byBelow, scope: ofHosts, of: ofTree, bytes: causes, values: records, body: coded((*Origin).died)},
	KindWaiting:    {name: "waiting", stream: link.Control, direction: up, sender: byBelow, scope: ofRanks, of: ofJob, world: true, bytes: runs, values: perRank, body: coded(inJob((*claims).waiting))},
	KindAddress:    {name: "address", stream: link.Service, direction: up, sender: byChild, scope: ofHosts, of: ofTree, bytes: small, values: few, body: coded((*Origin).address)},
	KindSummon:     {name: "summon", stream: link.Service, direction: up, sender: byChild, scope: ofHosts, of: ofTree, bytes: small, values: few, body: coded((*Origin).summon)},
	KindSchedule:   {name: "schedule", stream: link.Service, direction: up, sender: byBelow, scope: ofRanks, of: ofJob, bytes: small, values: few, body: coded(inJob((*claims).schedule))},
	KindScheduled:  {name: "scheduled", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: large, values: many, body: coded[ScheduleAnswer](nil)},
	KindDemand:     {name: "demand", stream: link.Control, direction: up, sender: byBelow, scope: ofHosts, of: ofTree, bytes: small, values: few, body: coded((*Origin).demand)},
	KindResize:     {name: "resize", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: small, values: few, body: coded[unix.Window](nil)},
	KindClaim:      {name: "claim", stream: link.Service, direction: down, sender: byParent, scope: ofBelow, of: ofJob, bytes: large, values: many, body: coded[Claim](nil)},
	KindClaimed:    {name: "claimed", stream: link.Service, direction: up, sender: byBelow, scope: ofHosts, of: ofJob, bytes: small, values: few, body: coded((*Origin).claimed)},
	KindJobOver:    {name: "job over", stream: link.KVS, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: empty, values: few, body: raw(nil)},
	KindName:       {name: "name", stream: link.Service, direction: up, sender: byChild, scope: ofRanks, of: ofJob, bytes: text, values: few, body: coded(inJob((*claims).name))},
	KindNamed:      {name: "named", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: text, values: few, body: coded[NameAnswer](nil)},
	KindWorld:      {name: "world", stream: link.KVS, direction: down, sender: byParent, scope: ofBelow, of: ofJob, world: true, bytes: large, values: many, body: coded[World](nil)},
	KindSpawn:      {name: "spawn", stream: link.Service, direction: up, sender: byBelow, scope: ofRanks, of: ofJob, bytes: spawns, values: words, body: coded(inJob((*claims).spawn))},
	KindSpawned:    {name: "spawned", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: large, values: many, body: coded[SpawnAnswer](nil)},
	KindEndWorld:   {name: "end world", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofJob, world: true, bytes: empty, values: few, body: raw(nil)},
	KindForget:     {name: "forget", stream: link.KVS, direction: down, sender: byParent, scope: ofNothing, of: ofJob, world: true, bytes: empty, values: few, body: raw(nil)},
	KindGrow:       {name: "grow", stream: link.KVS, direction: down, sender: byLauncher, scope: ofBelow, of: ofTree, bytes: large, values: many, body: coded[Range](nil)},
	KindGrown:      {name: "grown", stream: link.Service, direction: up, sender: byRoot, scope: ofGrown, of: ofTree, bytes: causes, values: records, body: coded((*Origin).grown)},
	KindLateLaunch: {name: "late launch", stream: link.KVS, direction: down, sender: byLauncher, scope: ofBelow, of: ofJob, bytes: large, values: many, body: coded[Launch](nil)},
	KindCollect:    {name: "collect", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: empty, values: few, body: raw(nil)},
	KindCollected: {name: "collected", stream: link.Service, direction: up, sender: byChild, scope: ofRanks, of: ofJob, bytes: large, values: counters,
		body: coded(inJob((*claims).collected))},
	KindPing:       {name: "ping", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofTree, bytes: small, values: few, body: coded[Ping](nil)},
	KindPong:       {name: "pong", stream: link.Control, direction: up, sender: byChild, scope: ofNothing, of: ofTree, bytes: small, values: few, body: coded((*Origin).pong)},
	KindProgress:   {name: "progress", stream: link.Control, direction: up, sender: byChild, scope: ofCounts, of: ofTree, bytes: small, values: few, body: coded((*Origin).progress)},
	KindStalled:    {name: "stalled", stream: link.Control, direction: up, sender: byChild, scope: ofNothing, of: ofJob, bytes: empty, values: few, body: raw(nil)},
	KindAskWaits:   {name: "ask waits", stream: link.Control, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: small, values: few, body: coded[WaitQuestion](nil)},
	KindWaits:      {name: "waits", stream: link.Control, direction: up, sender: byChild, scope: ofRanks, of: ofJob, bytes: stalls, values: waiters, body: coded(inJob((*claims).waits))},
	KindGroup:      {name: "group", stream: link.KVS, direction: both, sender: byNode, scope: ofWorld, of: ofJob, world: true, bytes: large, values: many, body: coded(inJob((*claims).group))},
	KindProfile:    {name: "profile", stream: link.Service, direction: up, sender: byBelow, scope: ofRanks, of: ofJob, world: true, bytes: chunk, values: parts, body: coded(inJob((*claims).profile))},
	KindRecords:    {name: "records", stream: link.Data, direction: both, sender: byNeighbor, scope: ofWorld, of: ofJob, world: true, bytes: large, values: few, body: raw(inJob((*claims).aboutWorld))},
	KindPMIxFence:  {name: "PMIx fence", stream: link.KVS, direction: both, sender: byNeighbor, scope: ofWorld, of: ofJob, world: true, bytes: large, values: few, body: raw(inJob((*claims).aboutWorld))},
	KindPMIxCall:   {name: "PMIx call", stream: link.Service, direction: up, sender: byBelow, scope: ofHosts, of: ofJob, bytes: large, values: few, body: coded((*Origin).pmixCall)},
	KindPMIxAnswer: {name: "PMIx answer", stream: link.Service, direction: down, sender: byParent, scope: ofNothing, of: ofJob, bytes: large, values: many, body: coded[PMIxAnswer](nil)},
	KindPMIxModex:  {name: "PMIx modex", stream: link.KVS, direction: both, sender: byNode, scope: ofHosts, of: ofJob, bytes: large, values: few, body: coded((*Origin).pmixModex)},
	KindMaster:     {name: "master", stream: link.KVS, direction: both, sender: byNeighbor, scope: ofWorld, of: ofJob, world: true, bytes: small, values: few, body: raw(inJob((*claims).aboutWorld))},
}

// BetweenServers tells whether messages of a kind are between servers of a world's
// ranks, on nodes of either side of an edge.
func BetweenServers(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].direction == both }

// Word returns the name of a kind of message.
func Word(k tree.Kind) string {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return kinds[k].name
	}
	return fmt.Sprintf("kind %d", k)
}

// ForLauncher tells whether agents pass such messages on to the launcher as they are.
func ForLauncher(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].sender == byBelow }

// OfTree reports kinds of the tree's own messages, which name no job.
func OfTree(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].of == ofTree }

// FromAnyNode tells whether their sender may be any node, which the header names.
func FromAnyNode(k tree.Kind) bool { return int(k) < len(kinds) && kinds[k].sender == byNode }

// allowance is a bound on a message: so much, and more for each host and rank that
// its sender may speak of.
type allowance struct{ base, host, rank int }

// Bounds on the bytes of payloads.
var (
	empty   = allowance{}
	small   = allowance{base: 64 << 10}
	text    = allowance{base: 2*maxText + 4<<10}           // a text of maxText, or two
	losses  = allowance{base: 2*maxText + 4<<10, host: 16} // and every other host is lost
	chunk   = allowance{base: 4 << 20}                     // of output, input or a file
	spawns  = allowance{base: 8 << 20}                     // package pmi takes 1 MiB of text
	causes  = allowance{base: 4 << 10, host: 2 * maxCause} // each host is dead, and may have hints
	reasons = allowance{base: 4 << 10, rank: 2 * maxCause} // no rank was started
	runs    = allowance{base: 2 * maxCause, rank: 16}      // every other rank waits
	stalls  = allowance{base: 16 * maxCause, rank: 32 * lists}
	large   = allowance{base: tree.MaxMessage}
)

// Bounds on the values of payloads that are encoded.
var (
	few         = allowance{base: 128}
	runsOfHosts = allowance{base: 128, host: 8}                      // Failure.Lost
	many        = allowance{base: 1 << 24}                           // a range of 65,536 hosts with their keys takes a fifth
	words       = allowance{base: 1 << 20}                           // of a spawn's commands
	parts       = allowance{base: 1 << 17}                           // profile.MaxPart of the longest
	records     = allowance{base: 64, host: 32}                      // NodeInfo, DeadHost
	perRank     = allowance{base: 64, rank: 32}                      // StartFailure
	waiters     = allowance{base: 4096, host: 1, rank: 16 * lists}   // heads of Waits and States, and WaitRun
	counters    = allowance{base: 64 << 10, host: 8 << 10, rank: 32} // records of a node with its trace, and of a rank
)

// payloadDecoder decodes a payload, and holds it to its sender's rights.
type payloadDecoder func(o *Origin, h tree.Header, payload []byte, values int) (any, error)

// coded returns a payload in CBOR. Where check is nil, as of the parent's messages, it
// is read when it is wanted: so that it can be passed on before.
func coded[T any](check func(*Origin, tree.Header, T) error) payloadDecoder {
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

// raw returns a payload in a form of its own; check may be nil.
func raw(check func(*Origin, tree.Header, []byte) error) payloadDecoder {
	return func(o *Origin, h tree.Header, payload []byte, _ int) (any, error) {
		if check == nil {
			return nil, nil
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		return nil, check(o, h, payload)
	}
}

// As returns the content of a message, as the type that its kind has.
func As[T any](m Message) (T, error) {
	if v, ok := m.Value.(T); ok {
		return v, nil
	}
	return weighed[T](m.Body, kinds[m.Header.Kind].values.base)
}

// Take decodes a message as As does and hands it to do.
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
