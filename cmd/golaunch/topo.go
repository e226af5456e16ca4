package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/network/placement/arrange"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// topoFlags are the flags of topo.
type topoFlags struct {
	topology string
	tables   string
	mapFile  string
	hosts    []string
	hostfile string
	format   string
	socket   string
	refresh  time.Duration
	seed     uint64
	from     string
	pairs    int
}

// topoVerbs returns the verbs of topo.
func topoVerbs() verbTable[topoFlags] {
	return verbTable[topoFlags]{
		{"show", "", "", "what the network is: its family, levels of switches, hosts of the job", (*topoFlags).show},
		{"check", "", "", "whether all hosts reach each other, and no messages can deadlock", (*topoFlags).check},
		{"order", "", "", "the hosts as a host file, so that collective operations share few links", (*topoFlags).order},
		{"route", " A B", "hosts", "the switches between two hosts", (*topoFlags).route},
		{"measure", "", "", "latency and bandwidth between hosts, for each distance", (*topoFlags).measure},
		{"serve", "", "", "answer queries about routes and switches at a socket", (*topoFlags).serve},
	}
}

func topoUsage() string { return "topo " + strings.Join(topoVerbs().names(), "|") + " [FLAG]... [A B]" }

// topoHead stands before the flags in the help of topo.
func topoHead() string {
	var b strings.Builder
	b.WriteString(`Tells of the network between hosts.

`)
	b.WriteString(topoVerbs().text())
	fmt.Fprintf(&b, `
The network is a file (ibnetdiscover's output, opensm-subnet.lst, ibsim's form,
Slurm's topology.conf, Cray coordinates; - is standard input) or a word such as
%s.
Routes are those of --tables, else those that suit the network's family.
Distances are hops: switches on the route. Depth 1 is the whole network.

  golaunch topo show --topology fattree:18,18/1,9/1,2
  golaunch topo order --topology ibnetdiscover.out -f hosts >ordered
  golaunch topo route n001 n002 --topology ibnetdiscover.out --tables lfts
  golaunch topo measure --topology ibnetdiscover.out -f hosts --format json
  golaunch topo serve --topology ibnetdiscover.out --socket /run/topo.sock
`, strings.Join(spec.Examples()[:4], ", "))
	return b.String()
}

// formats returns the formats of topo's output.
func formats() []string { return []string{"text", "json", "dot"} }

// setupTopo sets up the command that tells of the network.
func setupTopo() (*pflag.FlagSet, action) {
	t := &topoFlags{format: "text", refresh: 10 * time.Second, pairs: 8}
	f := flags.New("topo")
	f.SetInterspersed(true) // all words are its own
	t.networkFlags(f)
	f.Var(flags.Text(&t.format), "format", "print as `FORMAT`: "+strings.Join(formats(), ", "))
	f.Var(flags.Text(&t.socket), "socket", "serve at, or ask the service at, `WHERE`: a path, or 127.0.0.1:PORT")
	f.Var(flags.Time(&t.refresh), "refresh", "serve: look every `TIME` whether the files are newer")
	f.Uint64Var(&t.seed, "seed", arrange.Seed, "`N` by which order shuffles and measure chooses pairs")
	f.Var(flags.Text(&t.from), "from", "measure: read what osu_latency, osu_bw or IMB printed, or own JSON, from `FILE`")
	f.Var(flags.Count(&t.pairs, 1, maxMeasured), "pairs", "measure: `N` pairs of hosts, at most, for each distance")
	flags.Describe(f, "socket", flags.IsFile)
	flags.Describe(f, "from", flags.IsFile)
	flags.Describe(f, "format", flags.Choices(formats()...))
	return f, parsed("topo", f, t.run)
}

// networkFlags defines the flags of a network and its hosts.
func (t *topoFlags) networkFlags(f *pflag.FlagSet) {
	t.fabricFlags(f)
	f.VarP(flags.List(&t.hosts), "hosts", "H", "the hosts that matter, `LIST` as in 'n[001-128]'; else all")
	f.VarP(flags.Text(&t.hostfile), "hostfile", "f", "the same in a `FILE`, as golaunch -f reads it")
	flags.Describe(f, "hosts", flags.Repeats)
	flags.Describe(f, "hostfile", flags.IsFile)
}

// fabricFlags defines the flags of a network.
func (t *topoFlags) fabricFlags(f *pflag.FlagSet) {
	f.Var(flags.Text(&t.topology), "topology", "the network: `FILE`, or a word such as torus:8x8x8")
	f.Var(flags.Text(&t.tables), "tables", "forwarding tables of its switches: `FILE` of OpenSM, dump_lfts or ibroute")
	f.Var(flags.Text(&t.mapFile), "map", "`FILE` of lines 'n001 h0': a host, its GUID, LID or description in the network")
	flags.Describe(f, "topology", flags.IsFile)
	flags.Describe(f, "tables", flags.IsFile)
	flags.Describe(f, "map", flags.IsFile)
}

// run carries out the verb.
func (t *topoFlags) run(e env, words []string) (int, error) {
	if !slices.Contains(formats(), t.format) {
		return 0, fmt.Errorf("--format: %q is none; say %s", t.format, strings.Join(formats(), ", "))
	}
	return topoVerbs().run(t, e, words)
}

// reachedBy adds the variable that measure takes to topo's error for a flag about ways
// to reach hosts.
func reachedBy(command string, err error) error {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || command != "topo" {
		return err
	}
	name := e.GetSpecifiedName()
	flag := cmdline.Flags().Lookup(name)
	if _, _, own := registry.Owner(name); flag == nil || !own && name != "bootstrap" && name != "connect-timeout" {
		return err
	}
	return fmt.Errorf("%w; measure takes it from %s", err, cmdline.Variables(flag)[0])
}
