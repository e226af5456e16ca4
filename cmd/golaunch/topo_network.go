package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/match"
	"github.com/golaunch/golaunch/network/topology/source"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// network is the network that the flags name.
type network struct {
	*source.Network
	from   string // file or spec
	router routing.ByDestination
	names  match.Map // the user's word for its hosts

	// Of the job's hosts, if any were given:
	hosts []job.Host
	found *match.Result // nil if none were given
}

// load reads the files of the flags. Long work is told on w.
func (t *topoFlags) load(w io.Writer) (*network, error) {
	if err := t.once(); err != nil {
		return nil, err
	}
	if t.topology == "" {
		return nil, errors.New("say which network, with --topology FILE or a word such as " + spec.Examples()[0])
	}
	n, err := readNetwork(w, t.topology)
	if err != nil {
		return nil, fmt.Errorf("--topology: %w", err)
	}
	if err := n.routes(w, t.tables); err != nil {
		return nil, err
	}
	return n, n.choose(w, t)
}

// readNetwork reads a network from a file or a word. It has no router.
func readNetwork(w io.Writer, from string) (*network, error) {
	n := &network{from: from}
	if spec.Is(from) {
		g, err := spec.Parse(from)
		if err != nil {
			return nil, err
		}
		n.Network = &source.Network{Graph: g, Form: "in one word"}
		return n, nil
	}
	err := files.Read(w, from, func(r io.Reader) (err error) {
		n.Network, err = source.Read(r, from)
		return err
	})
	if err != nil && errors.Is(err, os.ErrNotExist) && strings.Contains(from, ":") {
		err = fmt.Errorf("%w; words are such as %s", err, strings.Join(spec.Examples(), ", "))
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// once fails where several files are standard input.
func (t *topoFlags) once() error {
	first := ""
	for _, f := range [][2]string{{"--topology", t.topology}, {"--tables", t.tables}, {"--map", t.mapFile}, {"--hostfile", t.hostfile}, {"--from", t.from}} {
		switch {
		case f[1] != "-":
		case first != "":
			return fmt.Errorf("%s and %s are both standard input, which is read once; give a file", first, f[0])
		default:
			first = f[0]
		}
	}
	return nil
}

// loadText is load for output without a picture; it warns of hosts that the network
// lacks.
func (t *topoFlags) loadText(e env) (*network, error) {
	if t.format == "dot" {
		return nil, errNoPicture
	}
	n, err := t.load(e.stdio.Stderr)
	if err == nil {
		n.warn(e.stdio.Stderr)
	}
	return n, err
}

// routes finds the router: the tables, if a file of them is given.
func (n *network) routes(w io.Writer, tables string) (err error) {
	if tables == "" {
		n.router, err = routing.New(n.Graph, parallel)
		return err
	}
	if n.Ports == nil {
		return fmt.Errorf("--tables: %s is no InfiniBand fabric, whose switches have such tables", n.from)
	}
	var parsed *ibnet.Tables
	err = files.Read(w, tables, func(r io.Reader) (err error) {
		parsed, err = ibnet.ParseTables(r, tables)
		return err
	})
	if err != nil {
		return fmt.Errorf("--tables: %w", err)
	}
	if n.router, err = routing.NewTables(&ibnet.Fabric{Graph: n.Graph, Ports: n.Ports}, parsed, parallel); err != nil {
		return fmt.Errorf("--tables: %s: %w", tables, err)
	}
	return nil
}

// choose finds the hosts that the flags name in the network.
func (n *network) choose(w io.Writer, t *topoFlags) (err error) {
	if n.names, err = readMap(w, t.mapFile); err != nil {
		return err
	}
	if len(t.hosts) == 0 && t.hostfile == "" {
		return nil // all hosts
	}
	file, err := cmdline.Named(t.hosts, t.hostfile, machine.Here(w))
	if n.hosts = file.Hosts; err != nil {
		return err
	}
	n.found, err = match.Hosts(n.Graph, hostNames(n.hosts), n.names)
	return err
}

// readMap reads the user's word for the hosts of a network; "" is no file.
func readMap(w io.Writer, file string) (names match.Map, err error) {
	if file == "" {
		return names, nil
	}
	err = files.Read(w, file, func(r io.Reader) (err error) {
		names, err = match.ParseMap(r, file)
		return err
	})
	if err != nil {
		return names, fmt.Errorf("--map: %w", err)
	}
	return names, nil
}

func hostNames(hosts []job.Host) []string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Name
	}
	return names
}

// chosen returns the nodes of the job's hosts that the network has, or all hosts; of
// has the index of each among the job's hosts.
func (n *network) chosen() (nodes []topology.Node, of []int) {
	if n.found == nil {
		for host := range n.Graph.AllHosts() {
			nodes, of = append(nodes, host), append(of, int(host))
		}
		return nodes, of
	}
	return n.found.First()
}

// warn names the job's hosts that the network lacks.
func (n *network) warn(w io.Writer) {
	if n.found != nil && n.found.Warning() != "" {
		fmt.Fprintf(w, "golaunch: topo: %s\n", n.found.Warning())
	}
}

// missing returns the job's hosts that the network lacks, folded; empty if there are
// none.
func (n *network) missing() string {
	if n.found == nil {
		return ""
	}
	var hosts []job.Host
	for _, name := range n.found.Missing() {
		hosts = append(hosts, job.Host{Name: name})
	}
	return hostlist.Fold(hosts)
}

// complete refuses hosts of the job that the network lacks.
func (n *network) complete() error {
	if missing := n.missing(); missing != "" {
		return fmt.Errorf("not in the network: %s; leave them out, or say which they are with --map", missing)
	}
	return nil
}

// find returns the host of a name, as match finds it: its first adapter.
func (n *network) find(name string) (topology.Node, error) {
	found, err := match.Hosts(n.Graph, []string{name}, n.names)
	if err != nil {
		return 0, err
	}
	if len(found.Adapters[0]) == 0 {
		return 0, fmt.Errorf("host %s is not in the network", name)
	}
	return found.Adapters[0][0], nil
}

// parallel is the loop of the packages of the network: all processors share it.
func parallel(n int, do func(i int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	group.Wait()
}

// progress is parallel, and tells on w of long work.
func progress(w io.Writer, work string) func(n int, do func(i int)) {
	return progressEvery(2*time.Second, w, work)
}

// progressEvery is parallel, and tells on w of its progress.
func progressEvery(every time.Duration, w io.Writer, work string) func(n int, do func(i int)) {
	return func(n int, do func(i int)) {
		var done atomic.Int64
		said := make(chan struct{})
		stop := make(chan struct{})
		go func() {
			defer close(said)
			ticker := time.NewTicker(every)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					fmt.Fprintf(w, "golaunch: topo: %s: %d of %d\n", work, done.Load(), n)
				case <-stop:
					return
				}
			}
		}()
		parallel(n, func(i int) {
			do(i)
			done.Add(1)
		})
		close(stop)
		<-said
	}
}
