package report

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// SchemaVersion is the number of docs/report-v1.schema.json. The report may gain
// members; a change of existing ones takes a new number.
const SchemaVersion = 1

// Report is the JSON of --report. Times are RFC 3339 in UTC, lengths of time
// seconds, memory bytes.
type Report struct {
	Schema   int         `json:"schema"` // SchemaVersion
	Job      Job         `json:"job"`
	Begin    time.Time   `json:"begin"`
	End      time.Time   `json:"end"`
	Status   int         `json:"exit_status"` // golaunch's own
	Cause    *Failure    `json:"cause"`       // null where the job did not fail
	Failures []Failure   `json:"failures"`    // all, the cause first
	Dead     []DeadHost  `json:"dead_hosts"`
	Phases   []Phase     `json:"phases"` // of the launcher
	Levels   []LevelJSON `json:"levels"` // the root first
	Nodes    []NodeJSON  `json:"nodes"`  // every agent that answered
	Ranks    []RankJSON  `json:"ranks"`  // every rank of those
}

// Job describes the job.
type Job struct {
	ID        string `json:"id"`
	Apps      []App  `json:"apps"`
	Ranks     int    `json:"ranks"`
	Nodes     int    `json:"nodes"`
	Degree    int    `json:"degree"`
	Bootstrap string `json:"bootstrap"`
	Cache     string `json:"cache"`
}

// App is one program of the job.
type App struct {
	Argv  []string `json:"argv"`
	Ranks int      `json:"ranks"`
}

// Failure is one failure that golaunch did not provoke.
type Failure struct {
	Class  string `json:"class"` // abort, signal, exit, no finalize, start, node lost or protocol
	World  int    `json:"world"` // of the rank
	Rank   int    `json:"rank"`  // -1 where a node failed
	Host   string `json:"host"`
	PID    int    `json:"pid"`
	Code   int    `json:"code"`
	Signal int    `json:"signal"`
	Phase  string `json:"phase"`
	Text   string `json:"text"`
	// At is the time of the failure by golaunch's own clock, as far as the way of its
	// report tells.
	At time.Time `json:"at"`
}

// DeadHost is a host on which no agent could be started.
type DeadHost struct {
	Host  string `json:"host"`
	Phase string `json:"phase"`
	Cause string `json:"cause"`
}

// Flow is the traffic of one stream over all links of an agent.
type Flow struct {
	Sent     Count `json:"sent"`
	Received Count `json:"received"`
}

// LevelJSON is a Level with names.
type LevelJSON struct {
	Agents int          `json:"agents"`
	Sum    CountersJSON `json:"sum"`
	Max    CountersJSON `json:"max"`
}

// NodeJSON is a Node with names.
type NodeJSON struct {
	Host   string  `json:"host"`
	Parent string  `json:"parent"` // empty for the root
	Level  int     `json:"level"`
	PID    int     `json:"pid"`
	Phases []Phase `json:"phases"`
	CountersJSON
}

// RankJSON is a Rank with names.
type RankJSON struct {
	World    int        `json:"world"`
	Rank     int        `json:"rank"`
	Host     string     `json:"host"`
	PID      int        `json:"pid"`
	Outcome  string     `json:"outcome"`
	ExitCode int        `json:"exit_code"`
	Signal   int        `json:"signal"`
	User     float64    `json:"user_seconds"`
	System   float64    `json:"system_seconds"`
	MaxRSS   int64      `json:"max_rss_bytes"`
	Start    *time.Time `json:"start"` // null where it was not started
	End      *time.Time `json:"end"`
	CPUs     string     `json:"cpus"` // as in 0-3,8; empty where it is not bound
}

// Fill puts collected entries into r, in the order of hosts and ranks. host names
// hosts.
func (r *Report) Fill(c Collected, host func(job.HostIndex) string) {
	slices.SortFunc(c.Nodes, func(x, y Node) int { return cmp.Compare(x.Host, y.Host) })
	slices.SortFunc(c.Ranks, func(x, y Rank) int {
		return cmp.Or(cmp.Compare(x.World, y.World), cmp.Compare(x.Rank, y.Rank))
	})
	r.Levels, r.Nodes, r.Ranks = []LevelJSON{}, []NodeJSON{}, []RankJSON{}
	for _, l := range c.Levels {
		r.Levels = append(r.Levels, LevelJSON{l.Agents, named(&l.Sum), named(&l.Max)})
	}
	for _, n := range c.Nodes {
		parent := ""
		if n.Parent != job.NoHost {
			parent = host(n.Parent)
		}
		r.Nodes = append(r.Nodes, NodeJSON{Host: host(n.Host), Parent: parent, Level: n.Level, PID: n.PID, Phases: utc(n.Phases), CountersJSON: named(&n.Counters)})
	}
	for _, k := range c.Ranks {
		r.Ranks = append(r.Ranks, RankJSON{
			World: k.World, Rank: int(k.Rank), Host: host(k.Host), PID: k.PID, Outcome: k.Outcome,
			ExitCode: k.ExitCode, Signal: k.Signal, User: k.User.Seconds(), System: k.System.Seconds(),
			MaxRSS: k.MaxRSS, Start: moment(k.Start), End: moment(k.End), CPUs: k.CPUs,
		})
	}
}

// Encode renders r as indented JSON.
func (r *Report) Encode() ([]byte, error) {
	r.Schema = SchemaVersion
	r.Begin, r.End, r.Phases = r.Begin.UTC(), r.End.UTC(), utc(r.Phases)
	b, err := json.MarshalIndent(r, "", "\t")
	return append(b, '\n'), err
}

func utc(phases []Phase) []Phase {
	in := []Phase{}
	for _, p := range phases {
		in = append(in, Phase{p.Name, p.End.UTC()})
	}
	return in
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
