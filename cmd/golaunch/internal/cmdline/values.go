package cmdline

import (
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/launcher"
)

// values has the values of all flags of run. A flag sets a field of the options where its
// value is one as it stands; the fields beside are read, or settled with the machine.
type values struct {
	launcher.Options
	appValues // of the first app, and the hosts of the job

	genv    []string // NAME or NAME=value
	envNone bool
	exclude []string // lists of hosts
	overlap bool     // slots of other golaunch are used, too

	mapBy, rankBy, metric string
	metisFile             string
	topology              string // a file, a word, TopologyAuto or TopologyNone; "" is none
	mapFile               string

	mpi    string // a name of mpiTypes, or mpiListWord
	config string

	help, usage, version bool
}

// appValues has the values of the flags that each app may have of its own.
type appValues struct {
	np   int
	env  []string // NAME or NAME=value
	wdir string
	// Hosts of the job, for the first app, or of the app's own.
	hosts    []string
	hostfile string
}

// The words that --topology takes beside files and networks in one word.
const (
	TopologyAuto = "auto"
	TopologyNone = "none"
)

// newValues returns the defaults.
func newValues() values {
	v := values{Options: launcher.DefaultOptions(), mpi: mpiTypes[0].name}
	v.Boot.Values = bootstrap.Values{}
	return v
}

// here reports whether the bootstrap that is asked for is this machine's own.
func (v *values) here() bool { return isHere(v.Boot.Bootstrap) }

func isHere(bootstrapName string) bool {
	kind, _ := registry.Find(bootstrapName) // "" and unknown ones are not
	return kind.Here
}

// networked reports whether a network orders the hosts.
func (v *values) networked() bool { return v.topology != "" && v.topology != TopologyNone }

// listed reports whether hosts of the job are named.
func (a *appValues) listed() bool { return len(a.hosts) > 0 || a.hostfile != "" }
