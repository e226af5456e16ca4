package cmdline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/mapping"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

// rule returns the rule that the flags ask for, and its value, neither of them read: a
// standard input that is meant twice is refused before anything is read.
func (h *Held) rule() (rule, value string, err error) {
	if h.mapBy != "" {
		if rule, value, err = placement.Cut(h.mapBy); err != nil {
			return "", "", fmt.Errorf("--map-by: %w", err)
		}
	}
	if h.metisFile != "" {
		switch rule {
		case "":
			rule, value = placement.Comm, h.metisFile
		case placement.Topology:
			value = h.metisFile
		case placement.Comm:
			return "", "", fmt.Errorf("--metis-file: --map-by %s names a graph, too; leave one out", h.mapBy)
		default:
			return "", "", fmt.Errorf("--metis-file: --map-by %s does not go by a graph; leave one out", h.mapBy)
		}
	}
	return rule, value, h.readOnce(value)
}

// wish returns the placement that the flags ask for, with the value of the rule read;
// sequence has the hosts in the order in which they are named.
func (h *Held) wish(rule, value string, sequence []string, m machine.Machine, tell Teller) (placement.Wish, error) {
	wish := h.Placement.Wish
	wish.Rule, wish.Order, wish.Metric = rule, h.rankBy, mapping.Metric(h.metric)
	var err error
	switch rule {
	case placement.Comm, placement.Topology:
		if value != "" {
			wish.Graph, err = h.readGraph(value, m, tell)
		}
	case placement.File:
		wish.RankFile, err = h.readRankFile(value, m)
	case placement.Seq:
		wish.Sequence = sequence
	}
	// Variables speak for every job: those that do not suit this one are taken back.
	if wish.Graph == nil && !h.given("metric") {
		wish.Metric = ""
	}
	if (wish.Graph != nil || wish.RankFile != nil || wish.Rule == placement.Seq) && !h.given("rank-by") {
		wish.Order = ""
	}
	if !h.networked() && !h.given("avoid-path-conflict") {
		wish.AvoidConflicts = false
	}
	return wish, err
}

// readOnce fails where standard input is meant twice.
func (h *Held) readOnce(file string) error {
	if file != "-" {
		return nil
	}
	for _, f := range [][2]string{{"--topology", h.topology}, {"--map", h.mapFile}, {"--hostfile", h.hostfile}} {
		if f[1] == "-" {
			return fmt.Errorf("%s and %s are both standard input, which is read once; give a file", f[0], h.graphFlag())
		}
	}
	return nil
}

// graphFlag returns the flag that names the communication graph.
func (h *Held) graphFlag() string {
	if h.metisFile != "" {
		return "--metis-file"
	}
	return "--map-by"
}

// readGraph reads a communication graph from a file, or makes that of a word.
func (h *Held) readGraph(from string, m machine.Machine, tell Teller) (*placement.Graph, error) {
	if commgraph.Is(from) {
		g, err := commgraph.Parse(from)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", h.graphFlag(), err)
		}
		return &placement.Graph{Graph: g, From: from}, nil
	}
	var file *commgraph.File
	err := m.Read(from, func(r io.Reader) (err error) {
		file, err = profile.ReadGraph(r, from)
		return err
	})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) && strings.Contains(from, ":") {
			err = fmt.Errorf("%w; words are such as cart:8x8x8:periodic:26", err)
		}
		return nil, fmt.Errorf("%s: %w", h.graphFlag(), err)
	}
	for _, note := range file.Notes {
		tell(0, "communication graph %s: %s", from, note)
	}
	return &placement.Graph{Graph: file.Graph, From: from}, nil
}

// readRankFile reads a rank file, which may be the line's.
func (h *Held) readRankFile(name string, m machine.Machine) (file *rankfile.File, err error) {
	if h.line.RankMap != "" && name == dialects.RankMapName {
		return rankfile.Parse(strings.NewReader(h.line.RankMap), name)
	}
	err = m.Read(name, func(r io.Reader) (err error) {
		file, err = rankfile.Parse(r, name)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("--map-by: %w", err)
	}
	return file, nil
}
