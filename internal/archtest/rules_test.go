package archtest

// layers lists the rooms of the repository from the bottom up. A room is a
// folder with all folders below it. Code of a room may import rooms of lower
// layers and itself, and nothing else of this module.
var layers = [][]string{
	{"internal/job"}, // nouns that everybody speaks
	{"internal/lines", "internal/environ", "internal/iface", "internal/filestest"}, // lines of files, for parsers; variables; interfaces; files, for tests
	{"commsplit"}, // algorithms alone, which agents run over the tree
	{"internal/hostlist", // names of hosts
		"tree"}, // shape, frames, routing: numbers, not names; keys and transports are not its business
	{"network/topology", "network/commgraph"},
	{"network/routing"},
	{"cache", "internal/stdio"},
	{"pmi", "pmgr", "internal/pmix", "network/netsim", "xrcsim"},
	{"network/placement"}, // maps ranks by what their messages put on links
	{"internal/profile"},
	{"internal/report"}, // draws profiles
	{"client"},          // linked into users' programs: must drag in no part of the launcher
	{"internal/unix"},   // the system calls that package syscall lacks
	{"internal/cgroups"},
	{"internal/bootstrap", "internal/link", "internal/proc", "internal/loader"},
	{"internal/stage"},   // works over any bootstrap
	{"internal/overlay"}, // what the launcher and the agents have in common
	{"launcher", "internal/agent"},
	{"integration", "internal/archtest"},
	{"cmd"}, // nothing imports a command
}

// separate lists what layers allow and rooms still do not import.
var separate = []struct {
	folders, from []string
	why           string
}{
	{[]string{"network/placement"}, []string{"pmi", "pmgr", "cache", "internal/stdio", "tree"},
		"rules go by hosts, slots and ranks; who serves or carries the ranks is other rooms' business"},
	{pure, []string{"internal/unix", "internal/cgroups", "internal/bootstrap", "internal/link", "internal/proc", "internal/loader", "internal/stage", "internal/overlay", "internal/agent"},
		"pure packages reach no I/O"},
	{[]string{"launcher"}, []string{"internal/proc"},
		"only agents own ranks"},
	{[]string{"cmd/nla"}, []string{"launcher"},
		"an agent is no launcher"},
	{[]string{"cmd/golaunch", "cmd/nla"}, []string{"integration"},
		"shipped code does not know the test cluster"},
}

// pure rooms own no goroutine, socket, clock, environment or randomness, so
// that every behaviour of theirs can be tested without any.
var pure = []string{
	"internal/job", "internal/hostlist", "tree", "network/routing", "network/commgraph", "network/topology", "cache", "internal/stdio",
	"pmi", "pmgr", "internal/pmix", "commsplit", "network/placement", "network/netsim", "xrcsim", "internal/profile", "internal/report/page", "internal/agent/ending", "internal/agent/input",
	"internal/lines", "internal/environ", "internal/iface",
}

// pureAlone lists rooms that keep the rules of pure ones and import, for their types and
// tables, rooms that do not.
var pureAlone = []string{"cmd/golaunch/internal/cmdline", "cmd/golaunch/internal/dialects"}

// impure are standard packages that pure rooms do not import. "x/..." stands
// for x and all below it.
var impure = []string{
	"os/...", "net", "net/http/...", "net/rpc/...", "crypto/rand", "math/rand/...", "syscall", "log/...",
	"runtime/...", "testing", "sync/...", "context", "expvar", "plugin",
}

// impureTime are the functions of package time that read a clock or wait.
var impureTime = []string{
	"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick",
}

// testKits hold conformance suites, and what tests share: packages that only tests import.
var testKits = []string{"internal/link/linktest", "cache/cachetest", "internal/bootstrap/bootstraptest", "internal/agent/agenttest", "internal/agent/serve/servetest", "network/topology/ibnet/ibsimtest",
	"internal/filestest", "internal/report/page/pagetest", "cmd/golaunch/internal/machine/machinetest"}

// confined says which folders alone may import a package, and why. What names no folder
// is for nobody, tests included.
var confined = []struct {
	imported string
	only     []string
	why      string
}{
	{"github.com/hashicorp/yamux", []string{"internal/link/yamuxlink"},
		"its types appear in no other API, so that the multiplexer can be replaced"},
	{"golang.org/x/sys/unix/...", []string{"internal/unix", "internal/proc", "integration/cluster", "integration/bench/pmix", "integration/bench/commsplit"},
		"system calls are wrapped once, with the errors and the ownership of descriptors spelled out"},
	{"golang.org/x/crypto/ssh/...", []string{"internal/bootstrap/ssh", "internal/bootstrap/bootstraptest", "integration"},
		"keys and host keys are handled in one room that can be reviewed"},
	{"github.com/spf13/pflag", []string{"cmd", "integration"},
		"flags become plain options before they leave the command"},
	{"github.com/stretchr/testify/...", append([]string{"integration"}, testKits...),
		"assertions do not belong in shipped code"},
	{"pgregory.net/rapid", append([]string{"integration"}, testKits...),
		"property tests do not belong in shipped code"},
	{"go.uber.org/goleak", append([]string{"integration"}, testKits...),
		"leak tests do not belong in shipped code"},
	{"testing/...", append([]string{"integration"}, testKits...),
		"tests do not belong in shipped code"},
	{"net/http/...", []string{"internal/profile", "internal/report"},
		"an agent that is copied to every node carries no web server"},
	{"regexp", []string{"integration"},
		"it and the tables of Unicode that it wants are made at the start of every agent and warden"},
	{"encoding/xml", []string{"network/topology/node/hwloc", "integration"},
		"it has tables made at the start of every agent and warden"},
	{"html/template", []string{"internal/report"}, "an agent renders nothing"},
	{"text/template", []string{"internal/report"}, "an agent renders nothing"},
	{"math/rand", nil, "use math/rand/v2"},
	{"io/ioutil", nil, "use io and os"},
	{"unsafe", []string{"client", "internal/unix", "internal/proc", "integration/cluster"},
		"memory safety is given up only next to system calls, and where elements are seen as bytes"},
}

// maxLines bounds a source file, so that each has one concern; maxMain bounds
// a command's main.go.
const (
	maxLines = 800
	maxMain  = 40
)

// heldRooms are the rooms of whose structs the size is held, counted with what they embed.
var heldRooms = []string{"internal/agent", "launcher"}

// size counts the fields and methods of a struct.
type size struct{ fields, methods int }

// maxFields and maxMethods bound a struct in a room that is held.
const (
	maxFields  = 30
	maxMethods = 60
)

// oversized are structs that have more, with their present figures, which may only fall.
var oversized = map[string]size{}
