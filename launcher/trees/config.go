package trees

import (
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Config is what it takes to start the agents of hosts.
type Config struct {
	Common  overlay.Common // without what the opening of the bootstrap adds
	Kind    bootstrap.Kind
	Values  bootstrap.Values // of the flags that bootstraps have of their own
	Environ []string         // of golaunch itself
	Hosts   []job.Host
	Relays  []string
	Entries []overlay.HostEntry // of hosts and relays, as they travel
	// InOrder puts entries in the pre-order of the tree, and cuts them.
	InOrder func([]overlay.HostEntry) []overlay.HostEntry
	// Installed has the agent run from where golaunch is installed, if it is.
	Installed bool
	Ask       *Passphrases
}
