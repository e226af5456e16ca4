package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/network/netsim"
	"github.com/golaunch/golaunch/network/netsim/algorithms"
)

// maxExported bounds the messages of a schedule that is printed: a line of about
// 40 bytes for each.
const maxExported = 1 << 22

// exported is a schedule as programs read it; docs/simulators.md has the meaning. It is
// followed by "stages", a list of lists of exportedMessage.
type exported struct {
	Version   int      `json:"version"`
	Algorithm string   `json:"algorithm"`
	Ranks     int      `json:"ranks"`
	Size      int      `json:"size_bytes"`
	Hosts     []string `json:"hosts,omitempty"` // by rank
}

// exportedMessage is a message of a stage.
type exportedMessage struct {
	From  int32 `json:"from"`
	To    int32 `json:"to"`
	Bytes int64 `json:"bytes"`
}

// export prints the schedule of an algorithm.
func (t *netsimFlags) export(e env, words []string) (int, error) {
	a, err := algorithms.Find(words[0])
	if err != nil {
		return 0, err
	}
	x := exported{Version: 1, Algorithm: a.Name}
	if x.Ranks, err = one("-n", t.ranks); err != nil {
		return 0, err
	}
	if x.Size, err = one("--size", t.sizes); err != nil {
		return 0, err
	}
	if err := t.checkWithoutNetwork(x.Ranks); err != nil {
		return 0, err
	}
	var n *netsim.Network
	if t.topology != "" {
		p, err := t.place(e)
		if err != nil {
			return 0, err
		}
		if x.Ranks = cmp.Or(x.Ranks, len(p.hosts)); x.Ranks > len(p.hosts) {
			return 0, p.tooMany(x.Ranks)
		}
		for _, host := range p.hosts[:x.Ranks] {
			x.Hosts = append(x.Hosts, firstWord(p.Graph.Name(host)))
		}
		if n, err = netsim.New(p.router, p.hosts[:x.Ranks]); err != nil {
			return 0, err
		}
	}
	s, err := algorithms.Schedule(a, x.Ranks, n, int64(x.Size))
	if err != nil {
		return 0, err
	}
	text, err := x.text(s)
	if err != nil {
		return 0, err
	}
	return e.print(text)
}

// checkWithoutNetwork fails if no network is said but needed, for the number of ranks
// or for other flags.
func (t *netsimFlags) checkWithoutNetwork(ranks int) error {
	switch {
	case t.topology != "":
		return nil
	case t.hosts != nil || t.hostfile != "" || t.tables != "" || t.mapFile != "" || t.order != "given":
		return errors.New("hosts, tables and orders are those of a network: say which, with --topology")
	case ranks == 0:
		return errors.New("say how many ranks, with -n, or on which network, with --topology")
	}
	return nil
}

// text renders the schedule in JSON, a stage on each line.
func (x *exported) text(s netsim.Schedule) (string, error) {
	head, err := json.Marshal(x)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(string(head), "}") + `,"stages":[`)
	var messages []netsim.Message
	total := 0
	for i := range s.Stages {
		messages = s.Append(messages[:0], i)
		if total += len(messages); total > maxExported {
			return "", fmt.Errorf("more than %d messages; ask for fewer ranks with -n", maxExported)
		}
		list := make([]exportedMessage, len(messages))
		for k, m := range messages {
			list[k] = exportedMessage{m.From, m.To, m.Size}
		}
		line, err := json.Marshal(list)
		if err != nil {
			return "", err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString("\n" + string(line))
	}
	b.WriteString("\n]}\n")
	return b.String(), nil
}
