package bootstrap

import (
	"context"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Kind is one way to start agents: all that others know of a bootstrap. Package
// registry lists every Kind. Functions that are nil have nothing to say.
type Kind struct {
	// Name is its word for --bootstrap.
	Name string
	// Options are the flags that are its alone.
	Options []Option
	// Variables are environment variables; one that is set selects this bootstrap
	// for hosts other than this machine.
	Variables []string
	// FromEnvironment reads Values of an environment that selects this bootstrap for
	// hosts other than this machine, as Variables do; nil where it does not.
	FromEnvironment func(getenv func(string) string) Values

	// Serves tells whether it is the one for hosts in an environment that selects none:
	// those of an allocation whose manager starts agents. If it could be, why names the
	// obstacle. It may run a program.
	Serves func(getenv func(string) string, hosts []job.Host) (serves bool, why string)

	// Here says that it starts agents on the launcher's own machine alone.
	Here bool
	// Orphans says that a start runs a command of the user's on the launcher's machine:
	// the launcher ends processes that such commands leave behind.
	Orphans bool
	// Patience is the time that the agents of a bulk start have to call; 0 is the
	// connect timeout.
	Patience time.Duration

	// Check checks the values of Options where the user names the bootstrap; the
	// error names the flag.
	Check func(v Values) error
	// CheckHosts checks that the hosts can be reached with these values, however
	// the bootstrap was chosen.
	CheckHosts func(getenv func(string) string, v Values, hosts []job.Host) error
	// Container reports values with which an engine enters containers: ranks get the
	// environment of the image then, unless the user says otherwise.
	Container func(v Values) bool
	// Reach says from where the bootstrap works; nil is Anywhere. Widen is the
	// flag by which the user says that it works from anywhere.
	Reach func(v Values) Reach
	Widen string

	// Bulk says that all agents are started at once, by Opened.Bulk, and call the
	// launcher. Join is not used then.
	Bulk bool

	// Open opens the launcher's side.
	Open func(ctx context.Context, j Job) (*Opened, error)
	// Join opens the side of an agent that starts others.
	Join func(n Node) (Piper, error)
}

// Option is a flag of one bootstrap.
type Option struct {
	Name    string
	Help    string   // the name of its value in back quotes
	Choices []string // all values that it may have; nil for any
	File    bool     // the value is a file
	Repeat  bool     // it may be given several times: Values has a line for each
	// Own says that the flag is a mistake with any other bootstrap.
	Own bool
}

// Values are the user's values of Options, by name.
type Values map[string]string

// Job has the job's properties for the launcher's side of a bootstrap.
type Job struct {
	Hosts  []job.Host // by job.HostIndex
	Values Values
	Limits
	// Getenv reads golaunch's own environment; "" for unset ones.
	Getenv func(name string) string
	// Note tells the user something.
	Note func(format string, args ...any)
	// Passphrase asks the user for that of a private key's file, again where the last
	// one was wrong; the error says why it is not known. Nil where nobody is asked.
	Passphrase func(file string, again bool) ([]byte, error)
}

// Opened is the launcher's side of a bootstrap.
type Opened struct {
	// Piper starts an agent on one host. Bulk starts those of all hosts. Kind.Bulk
	// says which of the two is set.
	Piper Piper
	Bulk  Bulk
	// HostVariable is the environment variable from which each agent that Bulk
	// starts learns the name of its host, as it was given to Bulk.
	HostVariable string
	// Together says that agents may end and be started again for as long as some of
	// Hosts have neither called nor failed. None of them gets a part before.
	Together bool
	// Listen is the IP address at which the hosts reach the launcher; "" for that
	// of the route to the first of Hosts whose name resolves.
	Listen string
	// Setup is handed to every agent, for Join.
	Setup []byte
	// Routes tell how to reach each host, by job.HostIndex; nil where its name
	// is enough.
	Routes []Route
	// Authority makes signatures for agents; nil where they need none.
	Authority Authority
	// LookUp resolves the name of a host once more, for an agent that cannot; nil where
	// agents need no address.
	LookUp func(ctx context.Context, host job.HostIndex) (addr string, err error)
}

// Route leads to a host, for an agent that is to start another there.
type Route struct {
	Addr string // its IP address, where the launcher could resolve the name
	Data []byte // bootstrap's own
}

// Node has a node's properties for the agent's side of a bootstrap.
type Node struct {
	Setup []byte                   // Opened.Setup
	Data  map[job.HostIndex][]byte // of the hosts that the agent may start
	Limits
	// Sign has the launcher make a signature.
	Sign func(ctx context.Context, r SignRequest) ([]byte, error)
	// LookUp has the launcher resolve the name of a host that did not resolve when the job
	// began: Opened.LookUp.
	LookUp func(ctx context.Context, host job.HostIndex) (addr string, err error)
	// Accepted is told of each host whose key was accepted without being known.
	Accepted func(name string)
}

// Learner is a Piper that learns, while it starts agents, facts that help those below.
type Learner interface {
	// Learned is the Setup for agents that are told their part now.
	Learned() []byte
}
