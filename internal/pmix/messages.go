package pmix

import "reflect"

// Version is that of these messages: another number for every change of a kind or a field.
// The helper refuses another.
const Version = 2

// Kind is that of a message.
type Kind uint8

// Kinds of messages. Their numbers, and the fields in the structs below, are native/pmix's
// too.
const (
	// From the agent.
	KindInit       Kind = 1  // answered by Ready
	KindWorld      Kind = 2  // answered by Registered
	KindForget     Kind = 3  // no answer
	KindGone       Kind = 4  // no answer
	KindDone       Kind = 5  // answers what has no answer of its own
	KindData       Kind = 6  // answers Fence and Modex
	KindFound      Kind = 7  // answers Lookup
	KindSpawned    Kind = 8  // answers Spawn
	KindGrouped    Kind = 9  // answers Group
	KindAsk        Kind = 10 // answered by Told
	KindNotify     Kind = 11 // no answer
	KindEnd        Kind = 12 // the helper leaves
	KindPing       Kind = 13 // answered by Pong
	KindReady      Kind = 32
	KindRegistered Kind = 33
	KindFence      Kind = 34
	KindModex      Kind = 35
	KindTold       Kind = 36
	KindPublish    Kind = 37 // answered by Done, as those without a word are
	KindLookup     Kind = 38
	KindUnpublish  Kind = 39
	KindSpawn      Kind = 40
	KindConnect    Kind = 41
	KindDisconnect Kind = 42
	KindGroup      Kind = 43
	KindAbort      Kind = 44
	KindClient     Kind = 45 // no answer
	KindEvent      Kind = 46
	KindLog        Kind = 47
	KindPong       Kind = 48
)

// Status is a PMIx status, by the numbers of pmix_common.h.
type Status int32

// Those that an agent says or looks at (PMIx standard 4.1, section 3.1.1).
const (
	Success        Status = 0
	Failure        Status = -1
	Timeout        Status = -24
	Unreachable    Status = -25
	BadParameter   Status = -27
	OutOfResource  Status = -29
	NotFound       Status = -46
	NotSupported   Status = -47
	PartialSuccess Status = -52
	DuplicateKey   Status = -53
	LostConnection Status = -61
	ProcTerminated Status = -200 // PMIX_ERR_PROC_TERM_WO_SYNC
)

// Wildcard is the Proc.Rank that stands for all ranks of a namespace.
const Wildcard = 1<<32 - 2

// Proc is a process, or all of a namespace.
type Proc struct {
	Namespace string
	Rank      uint32
}

// Pair is a hint whose value is, or can be said as, text.
type Pair struct{ Key, Value string }

// Init is the first message of all.
type Init struct {
	Version   uint32
	Namespace string // the server's own
	Node      uint32 // its rank there: the host's index
	Host      string // the node's name, as World.Hosts has it
	Dir       string // a private directory, for all that the library makes
}

// Ready says that the helper is a server.
type Ready struct {
	Library string // file that was loaded
	Version string // as its PMIx_Get_version has it
}

// App is one command of a world.
type App struct {
	Size  uint32 // ranks
	First uint32 // its lowest
	Argv  []string
	Dir   string // working directory
}

// Block is a run of ranks of one app on one host, as job.Block.
type Block struct {
	First, Count uint32
	Host         uint32 // index into World.Hosts
	App          uint32 // index into World.Apps
}

// Local has the properties of one local rank.
type Local struct {
	Rank uint32
	CPUs string // those that it is bound to, as in /sys: 0-3,8; "" for none
}

// World describes a namespace. A node learns of each that has ranks on it, before these
// are started, and of those that its ranks connect to.
type World struct {
	Namespace string
	Universe  uint32   // slots of the job
	Hosts     []string // that hold ranks, by number; a name is there once
	Apps      []App
	Blocks    []Block // in rank order: all ranks
	Parent    Proc    // its spawner; Namespace "" for none
	Self      int32   // this node, an index into Hosts; -1 without ranks here
	Locals    []Local // ranks here, ascending
	Dir       string  // NSDIR, of the node and the world; "" where no rank is
	UID, GID  uint32  // of the ranks
}

// Registered answers World.
type Registered struct {
	Status Status
	Text   string     // error
	Envs   [][]string // by World.Locals: NAME=value, what PMIx_server_setup_fork gives
}

// Forget says that a namespace is over.
type Forget struct{ Namespace string }

// Gone says that a local rank has ended.
type Gone struct{ Proc Proc }

// Done answers a request.
type Done struct{ Status Status }

// Data answers Fence and Modex.
type Data struct {
	Status Status
	Blob   []byte // of a fence: the blobs of all nodes, one behind the other
}

// Entry is one published value, as the publisher's library packed it.
type Entry struct {
	Publisher Proc
	Key       string
	Blob      []byte
}

// Found answers Lookup.
type Found struct {
	Status  Status
	Entries []Entry
}

// Spawned answers Spawn.
type Spawned struct {
	Status    Status
	Namespace string
}

// Grouped answers Group.
type Grouped struct {
	Status  Status
	Context uint64 // 0 where none was asked for
	Members []Proc
	Blobs   [][]byte // of each node
}

// Ask wants the puts of a local rank: the other end of a Modex.
type Ask struct{ Proc Proc }

// Told answers Ask.
type Told struct {
	Status Status
	Blob   []byte
}

// Notify hands an event to the local ranks that want it.
type Notify struct {
	Event
}

// End has the helper leave.
type End struct{}

// Ping wants a word of the helper.
type Ping struct{}

// Pong is that word: the helper takes any.
type Pong struct{}

// Fence is one of the procs, of which those of this node have all entered. Nodes see
// the fences of equal Procs in the same order.
type Fence struct {
	Procs   []Proc // sorted
	Timeout uint32 // seconds; 0 for none
	Blob    []byte
}

// Modex wants the puts of a rank on another node.
type Modex struct {
	Proc    Proc
	Timeout uint32 // seconds; 0 for none
}

// Range is the set of processes that see a published value, by the numbers of
// pmix_data_range_t.
type Range uint8

// Ranges.
const (
	RangeLocal     Range = 2 // its node
	RangeNamespace Range = 3
	RangeSession   Range = 4
	RangeGlobal    Range = 5
)

// Persistence is the lifetime of a published value, by the numbers of
// pmix_persistence_t.
type Persistence uint8

// Persistences.
const (
	UntilUnpublished Persistence = 0
	UntilFirstRead   Persistence = 1
	UntilProcess     Persistence = 2 // ends
	UntilApp         Persistence = 3 // ends
	UntilSession     Persistence = 4 // ends
)

// Publish makes values known. Entries have the publisher as theirs.
type Publish struct {
	Proc        Proc
	Range       Range
	Persistence Persistence
	Entries     []Entry
}

// Lookup wants published values.
type Lookup struct {
	Proc    Proc
	Range   Range
	Wait    int32 // keys to wait for: -1 for none, 0 for all
	Timeout uint32
	Keys    []string
}

// Unpublish takes values back.
type Unpublish struct {
	Proc  Proc
	Range Range
	Keys  []string // none for all of the process's
}

// SpawnApp is one command of a Spawn.
type SpawnApp struct {
	Command string
	Argv    []string // with argv[0], if there is any
	Env     []string // NAME=value
	Dir     string   // "" for that of the parent
	Procs   uint32
	Infos   []Pair // by PMIx's names
}

// Spawn wants a new world.
type Spawn struct {
	Proc  Proc // asking process
	Infos []Pair
	Apps  []SpawnApp
}

// Connect is a fence after which all know each other's namespaces.
type Connect struct {
	Procs   []Proc // sorted
	Timeout uint32
}

// Disconnect is a fence after which they need not any more.
type Disconnect Connect

// GroupOp is an operation on a group.
type GroupOp uint8

// Operations.
const (
	GroupConstruct GroupOp = 0
	GroupDestruct  GroupOp = 1
)

// Group makes or ends a group of processes.
type Group struct {
	Op      GroupOp
	ID      string
	Procs   []Proc
	Assign  bool // a context id is wanted
	Timeout uint32
	Blob    []byte // bytes that the library wants handed to all
}

// Abort is PMIx_Abort of a process.
type Abort struct {
	Proc   Proc
	Status int32  // its exit code
	Text   string // "" for none
	Procs  []Proc // to be ended; none for its namespace
}

// Client reports the progress of a local rank.
type Client struct {
	Proc      Proc
	Finalized bool // or else it has connected
}

// Event is something that processes are notified of.
type Event struct {
	Status   Status
	Source   Proc
	Range    Range
	Affected []Proc
	Blob     []byte // further infos, packed; may be empty
}

// Log is text that a process wants shown.
type Log struct {
	Proc   Proc
	Stderr bool // or else stdout
	Text   string
}

// messages is the struct of each kind.
var messages = map[Kind]reflect.Type{
	KindInit: typeOf[Init](), KindWorld: typeOf[World](), KindForget: typeOf[Forget](), KindGone: typeOf[Gone](),
	KindDone: typeOf[Done](), KindData: typeOf[Data](), KindFound: typeOf[Found](), KindSpawned: typeOf[Spawned](),
	KindGrouped: typeOf[Grouped](), KindAsk: typeOf[Ask](), KindNotify: typeOf[Notify](), KindEnd: typeOf[End](),
	KindReady: typeOf[Ready](), KindRegistered: typeOf[Registered](), KindFence: typeOf[Fence](), KindModex: typeOf[Modex](),
	KindTold: typeOf[Told](), KindPublish: typeOf[Publish](), KindLookup: typeOf[Lookup](), KindUnpublish: typeOf[Unpublish](),
	KindSpawn: typeOf[Spawn](), KindConnect: typeOf[Connect](), KindDisconnect: typeOf[Disconnect](), KindGroup: typeOf[Group](),
	KindAbort: typeOf[Abort](), KindClient: typeOf[Client](), KindEvent: typeOf[Event](), KindLog: typeOf[Log](),
	KindPing: typeOf[Ping](), KindPong: typeOf[Pong](),
}

func typeOf[T any]() reflect.Type { return reflect.TypeFor[T]() }
