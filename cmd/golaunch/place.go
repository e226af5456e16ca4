package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

// placeFlags are the flags that say where ranks go, as they were given.
type placeFlags struct {
	mapBy     string
	rankBy    string
	metric    string
	metisFile string
}

// definePlace adds the flags of placement.
func (c *commandLine) definePlace(f *pflag.FlagSet) {
	f.VarP(flags.Count(&c.Placement.PPN, 1, launcher.MaxRanks), "ppn", "N", "`N` ranks per host")
	f.BoolVar(&c.Placement.Oversubscribe, "oversubscribe", false, "allow more ranks than slots, or than --bind-to has cores for")
	f.Var(ruleValue(&c.mapBy), "map-by", "place by `RULE`: "+flags.Either(placement.Forms()))
	f.Var(orderValue(&c.rankBy), "rank-by", "number ranks there by `ORDER`: "+flags.Either(append(placement.Orders(), placement.Plane+"N")))
	f.Var(flags.OneOf(&c.metric, flags.Texts(mapping.Metrics())), "metric", "choose among the maps of comm:GRAPH by `METRIC`: "+flags.Either(mapping.Metrics()))
	f.Var(flags.Text(&c.metisFile), "metis-file", "place ranks by the communication graph in `FILE`, as --map-by comm:FILE")
	f.BoolVar(&c.Placement.Wish.AvoidConflicts, "avoid-path-conflict", false, "of more hosts than needed, take some that share no link, by --topology")
	f.Var(bindValue(&c.Start.BindTo), "bind-to", "bind to `WHAT`: none|core[:N]|hwthread|socket|numa|l3|gpu|cpu-list:0-3,8")
	f.BoolVar(&c.Launch.ReportBindings, "report-bindings", false, "say to which CPUs each rank is bound")
	f.Var(flags.Count(&c.Launch.GPUsPerRank, 1, launcher.MaxGPUs), "gpus-per-rank", "give each rank `N` GPUs of its host for itself, by CUDA_VISIBLE_DEVICES")
	f.Var(flags.Text(&c.topology), "topology", "order hosts by their network: `FILE`, a word as torus:8x8x8, auto or none")
	f.Var(flags.Text(&c.mapFile), "map", "`FILE` of lines 'n001 h0': a host, its GUID, LID or name in the network")
	flags.Group(f, groupPlace, "ppn", "oversubscribe", "map-by", "rank-by", "metric", "metis-file", "avoid-path-conflict", "bind-to", "report-bindings", "gpus-per-rank", "topology", "map")
	flags.Mark(f, flags.FilesKey, "metis-file", "topology", "map")
	flags.Choices(f, "map-by", placement.Names()...)
	flags.Tell(f, "map-by", placement.Help, placement.Names())
	flags.Choices(f, "bind-to", binding.Words()...)
	flags.Tell(f, "bind-to", binding.Kind.Help, binding.Words())
	flags.Choices(f, "rank-by", placement.Orders()...)
	flags.Tell(f, "rank-by", placement.OrderHelp, placement.Orders())
	flags.Choices(f, "metric", mapping.Metrics()...)
	flags.Tell(f, "metric", mapping.Metric.Help, mapping.Metrics())
}

// rule is the rule that the flags ask for, and its value, neither of them read: a
// standard input that is meant twice is refused before anything is.
func (c *commandLine) rule() (rule, value string, err error) {
	if c.mapBy != "" {
		if rule, value, err = placement.Cut(c.mapBy); err != nil {
			return "", "", fmt.Errorf("--map-by: %w", err)
		}
	}
	if c.metisFile != "" {
		switch rule {
		case "":
			rule, value = placement.Comm, c.metisFile
		case placement.Topology:
			value = c.metisFile
		case placement.Comm:
			return "", "", fmt.Errorf("--metis-file: --map-by %s names a graph, too; leave one out", c.mapBy)
		default:
			return "", "", fmt.Errorf("--metis-file: --map-by %s does not go by a graph; leave one out", c.mapBy)
		}
	}
	return rule, value, c.readOnce(value)
}

// wish is what the flags say of where ranks go, with the value of the rule read. What
// a graph is like it tells on w.
func (c *commandLine) wish(w io.Writer, rule, value string) (placement.Wish, error) {
	wish := c.Placement.Wish
	wish.Rule, wish.Order, wish.Metric = rule, c.rankBy, mapping.Metric(c.metric)
	var err error
	switch rule {
	case placement.Comm, placement.Topology:
		if value != "" {
			wish.Graph, err = c.readGraph(w, value)
		}
	case placement.File:
		if c.rankMap != "" && value == c.rankMapName {
			wish.RankFile, err = rankfile.Parse(strings.NewReader(c.rankMap), value)
			break
		}
		wish.RankFile, err = c.readRankFile(w, value)
	case placement.Seq:
		wish.Sequence = c.sequence
	}
	c.setAsideOf(&wish)
	return wish, err
}

// setAsideOf takes back what variables say for every job, and what does not suit this
// one.
func (c *commandLine) setAsideOf(wish *placement.Wish) {
	if wish.Graph == nil && !c.given["metric"] {
		wish.Metric = ""
	}
	if (wish.Graph != nil || wish.RankFile != nil || wish.Rule == placement.Seq) && !c.given["rank-by"] {
		wish.Order = ""
	}
	if (c.topology == "" || c.topology == topologyNone) && !c.given["avoid-path-conflict"] {
		wish.AvoidConflicts = false
	}
}

// readOnce fails where standard input is meant twice.
func (c *commandLine) readOnce(file string) error {
	if file != "-" {
		return nil
	}
	for _, f := range [][2]string{{"--topology", c.topology}, {"--map", c.mapFile}, {"--hostfile", c.hostfile}} {
		if f[1] == "-" {
			return fmt.Errorf("%s and %s are both standard input, which is read once; give a file", f[0], c.graphFlag())
		}
	}
	return nil
}

// graphFlag is the flag that names the communication graph.
func (c *commandLine) graphFlag() string {
	if c.metisFile != "" {
		return "--metis-file"
	}
	return "--map-by"
}

// readGraph reads a communication graph from a file, or makes that of a word.
func (c *commandLine) readGraph(w io.Writer, from string) (*placement.Graph, error) {
	if commgraph.Is(from) {
		g, err := commgraph.Parse(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.graphFlag(), err)
		}
		return &placement.Graph{Graph: g, From: from}, nil
	}
	var file *commgraph.File
	err := files.Read(w, from, func(r io.Reader) (err error) {
		file, err = profile.ReadGraph(r, from)
		return err
	})
	if err != nil {
		if errors.Is(err, os.ErrNotExist) && strings.Contains(from, ":") {
			err = fmt.Errorf("%w; words are such as cart:8x8x8:periodic:26", err)
		}
		return nil, fmt.Errorf("%s: %w", c.graphFlag(), err)
	}
	for _, note := range file.Notes {
		c.tell(w, 0, "communication graph %s: %s", from, note)
	}
	return &placement.Graph{Graph: file.Graph, From: from}, nil
}

// readRankFile reads a rank file.
func (c *commandLine) readRankFile(w io.Writer, name string) (*rankfile.File, error) {
	var file *rankfile.File
	err := files.Read(w, name, func(r io.Reader) (err error) {
		file, err = rankfile.Parse(r, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("--map-by: %w", err)
	}
	return file, nil
}
