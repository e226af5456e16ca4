package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement/arrange"
)

// The words that --topology takes beside files and networks in one word.
const (
	topologyAuto = "auto"
	topologyNone = "none"
)

// variableTopology is the variable of --topology; where the flag is auto it names the
// network that is tried last.
const variableTopology = "GOLAUNCH_TOPOLOGY"

// findNetwork is the network that --topology names, nil if there is none. What it
// does not refuse it tells on w.
func (c *commandLine) findNetwork(w io.Writer) (*launcher.Network, error) {
	switch c.topology {
	case "", topologyNone:
		if c.given["map"] {
			return nil, errors.New("--map: it says which host of the network is which; name the network with --topology")
		}
		return nil, nil
	case topologyAuto:
		return c.autoNetwork(w)
	}
	t := topoFlags{topology: c.topology, mapFile: c.mapFile, hostfile: c.hostfile}
	if err := t.once(); err != nil {
		return nil, err
	}
	n, err := readNetwork(w, c.topology)
	if err == nil {
		err = n.routes(w, "")
	}
	if err != nil {
		return nil, fmt.Errorf("--topology: %w", err)
	}
	found, err := c.use(w, n)
	if found != nil {
		found.Given = c.given["topology"] // a site's variable suits not every job
	}
	return found, err
}

// autoNetwork is the first network of those that this machine knows of. One that is
// wrong is told, and is no reason not to run.
func (c *commandLine) autoNetwork(w io.Writer) (*launcher.Network, error) {
	known := networksKnown(func(name string) string { return variable(c.environ, name) })
	if len(known) == 0 {
		c.tell(w, 1, "no network is known: Slurm has no topology.conf here, and %s names none", variableTopology)
	}
	for _, from := range known {
		n, err := readNetwork(w, from)
		if err == nil {
			err = n.routes(w, "")
		}
		if err != nil {
			c.tell(w, 0, "network %v; going on without it", err)
			continue
		}
		found, err := c.use(w, n)
		if found != nil {
			found.Optional = true
		}
		return found, err
	}
	return nil, nil
}

// networksKnown are files and words of networks, the best first: that of the
// allocation's resource manager, if it has one, and that of the site.
func networksKnown(getenv func(string) string) (list []string) {
	if getenv("SLURM_JOB_ID") != "" || getenv("SLURM_JOB_NODELIST") != "" {
		dir := "/etc/slurm"
		if conf := getenv("SLURM_CONF"); conf != "" {
			dir = filepath.Dir(conf)
		}
		file := filepath.Join(dir, "topology.conf")
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			list = append(list, file)
		}
	}
	switch from := getenv(variableTopology); from {
	case "", topologyAuto, topologyNone:
	default:
		list = append(list, from)
	}
	return list
}

// use is a network with the user's word for its hosts.
func (c *commandLine) use(w io.Writer, n *network) (*launcher.Network, error) {
	names, err := readMap(w, c.mapFile)
	if err != nil {
		return nil, err
	}
	old := ""
	if info, err := os.Stat(n.from); err == nil && info.Mode().IsRegular() {
		old = ", " + age(time.Since(info.ModTime()))
	}
	c.tell(w, 1, "network %s (%s%s): %s, %s", n.from, n.Form, old, count(n.Graph.Hosts(), "host"), count(n.Graph.Switches(), "switch"))
	loop := parallel
	if !c.Report.Quiet {
		loop = progress(w, "network between hosts")
	}
	return &launcher.Network{
		Network: &arrange.Network{Router: n.router, Names: names, Loop: loop},
		From:    n.from,
	}, nil
}

// tell writes a line for those who want to know so much.
func (c *commandLine) tell(w io.Writer, level int, format string, args ...any) {
	if c.Start.Verbose >= level && !c.Report.Quiet {
		fmt.Fprintf(w, "golaunch: "+format+"\n", args...)
	}
}

// age is how old something is, for people.
func age(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if d >= unit.length {
			return count(int(d/unit.length), unit.name) + " old"
		}
	}
	return "less than a minute old"
}
