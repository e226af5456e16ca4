package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/placement/arrange"
	"github.com/golaunch/golaunch/topology/spec"
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

// verb is what topo does, by the word behind it.
type verb struct {
	name  string
	usage string
	help  string
	run   func(t *topoFlags, e env, words []string) (int, error)
}

// verbs is the table of what topo does.
func verbs() []verb {
	return []verb{
		{"show", "", "what the network is: its family, levels of switches, hosts of the job", (*topoFlags).show},
		{"check", "", "whether all hosts reach each other, and no messages can deadlock", (*topoFlags).check},
		{"order", "", "the hosts as a host file, so that collective operations share few links", (*topoFlags).order},
		{"route", " A B", "the switches between two hosts", (*topoFlags).route},
		{"measure", "", "latency and bandwidth between hosts, for each distance", (*topoFlags).measure},
		{"serve", "", "answer queries about routes and switches at a socket", (*topoFlags).serve},
	}
}

// topoVerbs are the words that topo takes.
func topoVerbs() []string {
	var words []string
	for _, v := range verbs() {
		words = append(words, v.name)
	}
	return words
}

func topoUsage() string { return "topo " + strings.Join(topoVerbs(), "|") + " [FLAG]... [A B]" }

// topoHead is what the help of topo says before the flags.
func topoHead() string {
	var b strings.Builder
	b.WriteString(`Tells of the network between hosts.

`)
	for _, v := range verbs() {
		fmt.Fprintf(&b, "  %-10s  %s\n", v.name+v.usage, v.help)
	}
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

// formats are those of what topo prints.
func formats() []string { return []string{"text", "json", "dot"} }

// setupTopo is the command that tells of the network.
func setupTopo() (*pflag.FlagSet, action) {
	t := &topoFlags{format: "text", refresh: 10 * time.Second, pairs: 8}
	f := newFlagSet("topo")
	f.SetInterspersed(true) // all words are its own
	f.Var(textValue{&t.topology}, "topology", "the network: `FILE`, or a word such as torus:8x8x8")
	f.Var(textValue{&t.tables}, "tables", "forwarding tables of its switches: `FILE` of OpenSM, dump_lfts or ibroute")
	f.Var(textValue{&t.mapFile}, "map", "which host of the network is which: `FILE` of host and GUID, LID or description")
	f.VarP(listValue{&t.hosts}, "hosts", "H", "the hosts that matter, `LIST` as in n[001-128]; else all")
	f.VarP(textValue{&t.hostfile}, "hostfile", "f", "the same in a `FILE`, as golaunch -f reads it")
	f.Var(textValue{&t.format}, "format", "print as `FORMAT`: "+strings.Join(formats(), ", "))
	f.Var(textValue{&t.socket}, "socket", "serve at, or ask the service at, `WHERE`: a path, or 127.0.0.1:PORT")
	f.Var(timeValue{&t.refresh}, "refresh", "serve: look every `TIME` whether the files are newer")
	f.Uint64Var(&t.seed, "seed", arrange.Seed, "order: shuffle by `N` where no rule suits the network; measure: pairs")
	f.Var(textValue{&t.from}, "from", "measure: read what osu_latency, osu_bw or IMB printed, or own JSON, from `FILE`")
	f.Var(countValue{&t.pairs, maxMeasured}, "pairs", "measure: `N` pairs of hosts, at most, for each distance")
	mark(f, repeatKey, "hosts")
	mark(f, filesKey, "topology", "tables", "map", "hostfile", "socket", "from")
	choices(f, "format", formats()...)
	return f, parsed("topo", f, t.run)
}

// run carries out the verb.
func (t *topoFlags) run(e env, words []string) (int, error) {
	if len(words) == 0 {
		return 0, errors.New("say " + topoWords())
	}
	if !slices.Contains(formats(), t.format) {
		return 0, fmt.Errorf("--format: %q is none; say %s", t.format, strings.Join(formats(), ", "))
	}
	for _, v := range verbs() {
		if v.name != words[0] {
			continue
		}
		if want := len(strings.Fields(v.usage)); len(words)-1 > want {
			return 0, fmt.Errorf("%s: %q is one word too many", v.name, words[want+1])
		} else if len(words)-1 < want {
			return 0, fmt.Errorf("%s: say the hosts%s", v.name, v.usage)
		}
		status, err := v.run(t, e, words[1:])
		if err != nil {
			err = fmt.Errorf("%s: %w", v.name, err)
		}
		return status, err
	}
	return 0, fmt.Errorf("%q is no word that it knows; say %s", words[0], topoWords())
}

func topoWords() string {
	words := topoVerbs()
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
