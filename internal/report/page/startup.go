package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/report"
)

// Startup is the account of a job by its run report: its phases first.
type Startup struct {
	File     string  `json:"file"`
	Summary  string  `json:"summary"`
	Facts    Table   `json:"facts"`
	Phases   []Phase `json:"phases"` // of the launcher
	Table    Table   `json:"table"`  // of these
	Agents   Table   `json:"agents"`
	Failures *Table  `json:"failures"` // nil where there were none
}

// Phase is a step, in seconds since the job's begin.
type Phase struct {
	Name  string  `json:"name"`
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
	Text  string  `json:"text"`
}

// maxFailures bounds the failures on a page.
const maxFailures = 50

// startup tells of a run report.
func startup(file string, r *report.Report) Startup {
	s := Startup{File: file, Phases: []Phase{}, Table: Table{Caption: "Phases of the launcher, " + file, Columns: columns(1, "phase", "began at", "took", "over at")}}
	at := 0.0
	for _, p := range r.Phases {
		end := max(at, p.End.Sub(r.Begin).Seconds())
		s.Phases = append(s.Phases, Phase{Name: shown(p.Name), Begin: at, End: end, Text: seconds(end - at)})
		s.Table.Rows = append(s.Table.Rows, []string{shown(p.Name), seconds(at), seconds(end - at), seconds(end)})
		at = end
	}
	s.Agents = agents(file, r.Nodes)
	s.Facts = facts(file, r)
	s.Failures = failures(file, r.Failures)
	s.Summary = fmt.Sprintf("%s: %s on %s", file, plural(int64(r.Job.Ranks), "rank"), plural(int64(r.Job.Nodes), "node"))
	for _, want := range []string{"agents up", "ranks started"} {
		if i := slices.IndexFunc(s.Phases, func(p Phase) bool { return p.Name == want }); i >= 0 {
			s.Summary += fmt.Sprintf(", %s after %s", want, seconds(s.Phases[i].End))
		}
	}
	s.Summary += fmt.Sprintf(", over after %s with status %d.", seconds(r.End.Sub(r.Begin).Seconds()), r.Status)
	return s
}

// agents tabulates the time of each phase at the agents, each by its own clock. The
// begin of the first is not in a report.
func agents(file string, nodes []report.NodeJSON) Table {
	t := Table{Caption: "Phases of the agents, " + file, Columns: columns(1, "phase", "agents", "median", "longest", "on")}
	t.Columns[4].Number = false
	type took struct {
		host string
		d    time.Duration
	}
	var order []string
	of := map[string][]took{}
	for _, n := range nodes {
		for i := 1; i < len(n.Phases); i++ {
			name := shown(n.Phases[i].Name)
			if of[name] == nil {
				order = append(order, name)
			}
			of[name] = append(of[name], took{n.Host, n.Phases[i].End.Sub(n.Phases[i-1].End)})
		}
	}
	for _, name := range order {
		all := of[name]
		slices.SortStableFunc(all, func(a, b took) int { return cmp.Compare(a.d, b.d) })
		last := all[len(all)-1]
		t.Rows = append(t.Rows, []string{name, count(int64(len(all))), seconds(all[len(all)/2].d.Seconds()), seconds(last.d.Seconds()), shown(last.host)})
	}
	return t
}

// facts tabulates other properties of a job.
func facts(file string, r *report.Report) Table {
	t := Table{Caption: "The job, " + file, Columns: columns(2, "what", "value")}
	row := func(what, value string) { t.Rows = append(t.Rows, []string{what, value}) }
	for _, a := range r.Job.Apps {
		row("program", shown(fmt.Sprintf("%s, %s", strings.Join(a.Argv, " "), plural(int64(a.Ranks), "rank"))))
	}
	row("began", r.Begin.UTC().Format("2006-01-02 15:04:05 UTC"))
	row("took", seconds(r.End.Sub(r.Begin).Seconds()))
	row("exit status", fmt.Sprint(r.Status))
	row("tree", fmt.Sprintf("%s, degree %d, by %s", plural(int64(r.Job.Nodes), "node"), r.Job.Degree, shown(r.Job.Bootstrap)))
	ends := map[string]int64{}
	var cpu float64
	var memory int64
	for _, k := range r.Ranks {
		ends[k.Outcome]++
		cpu += k.User + k.System
		memory = max(memory, k.MaxRSS)
	}
	var words []string
	for _, o := range []string{report.Succeeded, report.Failed, report.Ended, report.NotStarted} {
		if ends[o] > 0 {
			words = append(words, count(ends[o])+" "+o)
		}
	}
	if words != nil {
		row("ranks", and(words))
		row("processor time of all ranks", seconds(cpu))
		row("most memory of a rank", bytesText(memory))
	}
	return t
}

// failures returns those of a job, the cause first.
func failures(file string, list []report.Failure) *Table {
	if len(list) == 0 {
		return nil
	}
	t := &Table{Caption: "Failures, the cause first, " + file, Columns: columns(4, "what", "rank", "host", "message")}
	for _, f := range list[:min(maxFailures, len(list))] {
		rank := "–"
		if f.Rank >= 0 {
			rank = fmt.Sprint(f.Rank)
		}
		t.Rows = append(t.Rows, []string{shown(f.Class), rank, shown(f.Host), shown(f.Text)})
	}
	if len(list) > maxFailures {
		t.Caption += fmt.Sprintf(" (%d of %d)", maxFailures, len(list))
	}
	return t
}
