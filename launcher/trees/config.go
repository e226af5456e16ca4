package trees

import (
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Config is the configuration for the start of the agents of hosts.
type Config struct {
	Common  overlay.Common // before the bootstrap is opened, which adds to it
	Kind    bootstrap.Kind
	Values  bootstrap.Values // of the flags that bootstraps have of their own
	Environ []string         // of golaunch itself
	Hosts   []job.Host
	Relays  []string
	Entries []overlay.HostEntry // of hosts and relays, as they travel
	// InOrder puts entries in the pre-order of the tree, and cuts them.
	InOrder func([]overlay.HostEntry) []overlay.HostEntry
	// Installed has the agent run from golaunch's place of installation, if there is one.
	Installed bool
	Ask       *Passphrases
}
