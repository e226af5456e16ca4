package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement/arrange"
)

// variableTopology is the variable of --topology; where the flag is auto it names the
// network that is tried last.
const variableTopology = "GOLAUNCH_TOPOLOGY"

// networks finds the network of a job.
type networks struct {
	asked cmdline.Network
	w     io.Writer // for news of long work
	quiet bool
	tell  cmdline.Teller
}

// findNetwork returns the network that --topology names, nil if there is none. Faults
// that it does not refuse are told.
func findNetwork(w io.Writer, asked cmdline.Network, m machine.Machine, quiet bool, tell cmdline.Teller) (*launcher.Network, error) {
	f := networks{asked, w, quiet, tell}
	switch asked.Topology {
	case "", cmdline.TopologyNone:
		if asked.MapGiven {
			return nil, errors.New("--map: it says which host of the network is which; name the network with --topology")
		}
		return nil, nil
	case cmdline.TopologyAuto:
		return f.auto(m.Variable)
	}
	t := topoFlags{topology: asked.Topology, mapFile: asked.MapFile, hostfile: asked.Hostfile}
	if err := t.once(); err != nil {
		return nil, err
	}
	found, err := f.read(asked.Topology)
	if err != nil {
		return nil, fmt.Errorf("--topology: %w", err)
	}
	network, err := f.use(found)
	if network != nil {
		network.Given = asked.TopologyGiven // a site's variable suits not every job
	}
	return network, err
}

// read returns a network with its routes.
func (f *networks) read(from string) (*network, error) {
	n, err := readNetwork(f.w, from)
	if err == nil {
		err = n.routes(f.w, "")
	}
	return n, err
}

// auto returns the first network of those that this machine knows of. A bad one is
// told, and does not keep a job from running.
func (f *networks) auto(getenv func(string) string) (*launcher.Network, error) {
	known := networksKnown(getenv)
	if len(known) == 0 {
		f.tell(1, "no network is known: Slurm has no topology.conf here, and %s names none", variableTopology)
	}
	for _, from := range known {
		n, err := f.read(from)
		if err != nil {
			f.tell(0, "network %v; going on without it", err)
			continue
		}
		found, err := f.use(n)
		if found != nil {
			found.Optional = true
		}
		return found, err
	}
	return nil, nil
}

// networksKnown returns files and words of networks, the best first: that of the
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
	case "", cmdline.TopologyAuto, cmdline.TopologyNone:
	default:
		list = append(list, from)
	}
	return list
}

// use returns a network with the user's word for its hosts.
func (f *networks) use(n *network) (*launcher.Network, error) {
	names, err := readMap(f.w, f.asked.MapFile)
	if err != nil {
		return nil, err
	}
	old := ""
	if info, err := os.Stat(n.from); err == nil && info.Mode().IsRegular() {
		old = ", " + age(time.Since(info.ModTime()))
	}
	f.tell(1, "network %s (%s%s): %s, %s", n.from, n.Form, old, count(n.Graph.Hosts(), "host"), count(n.Graph.Switches(), "switch"))
	loop := parallel
	if !f.quiet {
		loop = progress(f.w, "network between hosts")
	}
	return &launcher.Network{
		Network: &arrange.Network{Router: n.router, Names: names, Loop: loop},
		From:    n.from,
	}, nil
}

// age renders the age of something.
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
