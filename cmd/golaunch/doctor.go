package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/doctor"
)

const doctorUsage = "doctor [FLAG]... [HOST]..."

// doctorHead stands before the flags in the help of doctor.
func doctorHead() string {
	return `Says what would fail, host by host, before a job does: starts an agent on each host, as
a job does, and has it run one rank that looks around. Hosts that are alike are shown
together; those that cannot be reached are named with the reason. It tells what 16 ranks
on a host meet in its limits, and whether hosts answer one another at the addresses that
MPI uses: of up to 8 all, of more some. Exit status 1 tells that there are problems.
Without hosts it looks at an allocation's, or at this machine.

  golaunch doctor -f hosts
  golaunch doctor 'n[001-128]'
`
}

// doctorFlags returns flags of run, which doctor hands on.
func doctorFlags() []string {
	return []string{"hosts", "hostfile", "exclude", "bootstrap", "ssh-config", "ssh-option", "exec-command", "connect-timeout", "wait", "copy-agent", "agent-path", "verbose"}
}

// setupDoctor sets up the command that looks at hosts.
func setupDoctor() (*pflag.FlagSet, action) {
	f := flags.New("doctor")
	f.SetInterspersed(true) // all words are its own
	run := cmdline.Flags()
	var given []string
	for _, name := range doctorFlags() {
		flag := *run.Lookup(name)
		flag.Value = handedOn{flag.Value, flag.Name, &given}
		f.AddFlag(&flag)
	}
	return f, parsed("doctor", f, func(e env, hosts []string) (int, error) {
		for _, h := range hosts {
			given = append(given, "--hosts="+h)
		}
		return examine(e, given)
	})
}

// handedOn keeps a flag as a word for run's command line.
type handedOn struct {
	pflag.Value
	name  string
	words *[]string
}

func (v handedOn) Set(s string) error {
	if err := v.Value.Set(s); err != nil {
		return err
	}
	word := "--" + v.name + "=" + s
	if v.name == "verbose" {
		word = "--verbose"
	}
	*v.words = append(*v.words, word)
	return nil
}

// examine runs a rank on each host and shows the findings of all.
func examine(e env, flags []string) (int, error) {
	o, err := doctorJob(e, flags)
	if err != nil {
		return 0, err
	}
	out := boundedBuffer{most: max(1, len(o.Hosts.List)) * maxPrinted}
	stdio := e.stdio
	said := boundedBuffer{most: max(1, len(o.Hosts.List)) * maxPrinted}
	stdio.Stdin, stdio.Stdout, stdio.Stderr = nil, &out, io.MultiWriter(e.stdio.Stderr, &said)
	begun := time.Now()
	status := e.launch(e.ctx, o, stdio)
	if out.over {
		return 0, fmt.Errorf("what the ranks print is wrong: it is more than %d bytes", out.most)
	}
	text, problems, err := diagnoses(out.String(), said.String(), o.Hosts.List, begun, time.Now())
	if err != nil {
		return 0, err
	}
	if _, err := e.print(text); err != nil || status != 0 {
		return status, err
	}
	if problems {
		return 1, nil
	}
	return 0, nil
}

// doctorJob returns the job that looks at hosts. Variables set the way to reach them;
// those that send the rank's line elsewhere do not count.
func doctorJob(e env, flags []string) (o launcher.Options, err error) {
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("own executable: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return o, err
	}
	words := slices.Concat(flags, []string{"--ppn", "1", "--stage", self, "--stdin", "none", "--mpi", "none", "--label=%h\t", "--wdir", "/", self, doctor.Word, dir})
	m := machine.Here(e.stdio.Stderr)
	held, err := holdOwn(words, m)
	if err != nil {
		return o, err
	}
	settled, err := held.SettleHosts(m)
	tellAll(teller(e.stdio.Stderr, held), settled.Notes)
	if err != nil {
		return o, err
	}
	o = settled.Options(m)
	var hosts []job.Host
	seen := map[string]bool{}
	for _, h := range o.Hosts.List {
		if h.Slots = 0; !seen[h.Name] {
			seen[h.Name] = true
			hosts = append(hosts, h)
		}
	}
	argv := &o.Programs.Apps[0].Argv
	kind, given := registry.Find(o.Boot.Bootstrap)
	if !given && len(o.Hosts.List) > 0 {
		kind, _ = registry.For(o.Boot.Environ, o.Hosts.List) // as the launcher takes it
	}
	if kind.Container != nil && kind.Container(o.Boot.Values) && o.Launch.EnvFrom.In(true) == environ.Node {
		*argv = []string{self, doctor.Word, ""} // ranks run in the image's directory where there is none
	}
	if o.Start.AgentPath != "" {
		(*argv)[0], o.Boot.Stage = o.Start.AgentPath, nil
		*argv = append(*argv, o.Start.AgentPath)
	}
	o.Hosts.List, o.Hosts.Nodes, o.Hosts.Spares, o.Hosts.AllowDeadNodes, o.Hosts.Prelaunch, o.Programs.Apps[0].N = hosts, 0, 0, len(hosts) > 1, false, 0
	o.Output.OutPattern, o.Output.ErrPattern, o.Report.DryRun, o.Ending.KeepGoing, o.Output.Fold, o.Ending.Restarts, o.Output.LogDir = "", "", false, true, false, 0, ""
	o.Output.Show, o.Launch.Unbuffered = "", false
	o.Report.File, o.Report.TraceFile, o.Report.ProfileFile = "", "", ""
	o.Hosts.Allocation = nil // it is to look where other golaunch use all slots, and to take none from them
	return o, nil
}

// diagnoses returns the findings of the ranks, as text, hosts that are alike together.
// Golaunch's own words, said, explain hosts without an agent.
func diagnoses(printed, said string, hosts []job.Host, from, to time.Time) (text string, problems bool, err error) {
	at := map[string]int{} // of a host among the user's
	for i, h := range hosts {
		at[h.Name] = i
	}
	groups := map[string][]job.Host{} // that are alike, by their text
	heard := map[string]bool{}
	var everyone []doctor.Found
	for line := range strings.Lines(printed) {
		host, facts, ok := strings.Cut(line, "\t")
		var f doctor.Facts
		if !ok || json.Unmarshal([]byte(facts), &f) != nil {
			return "", false, errors.New("what the ranks print is wrong")
		}
		heard[host] = true
		everyone = append(everyone, doctor.Found{Host: host, Facts: f})
		lines := f.Lines(host)
		found := f.Problems(from, to)
		for _, p := range found {
			lines = append(lines, "problem    "+p)
		}
		if problems = problems || len(found) > 0; len(found) == 0 {
			lines = append(lines, "nothing is wrong")
		}
		block := "  " + strings.Join(lines, "\n  ") + "\n"
		groups[block] = append(groups[block], job.Host{Name: host})
	}
	inOrder := func(x, y job.Host) int { return cmp.Compare(at[x.Name], at[y.Name]) }
	for _, group := range groups {
		slices.SortFunc(group, inOrder)
	}
	blocks := slices.SortedFunc(maps.Keys(groups), func(x, y string) int { return inOrder(groups[x][0], groups[y][0]) })
	var b strings.Builder
	for _, block := range blocks {
		text := block
		if alone := groups[block]; len(alone) == 1 {
			text = strings.ReplaceAll(block, "/HOST", "/"+alone[0].Name)
		}
		fmt.Fprintf(&b, "%s\n%s", hostlist.Fold(groups[block]), text)
	}
	slices.SortFunc(everyone, func(x, y doctor.Found) int { return cmp.Compare(at[x.Host], at[y.Host]) })
	if lines, wrong := doctor.Network(everyone); len(lines) > 0 {
		problems = problems || wrong
		fmt.Fprintf(&b, "between hosts\n  %s\n", strings.Join(lines, "\n  "))
	}
	var lost []job.Host
	for _, h := range hosts {
		if !heard[h.Name] {
			lost = append(lost, job.Host{Name: h.Name})
		}
	}
	if len(lost) > 0 {
		problems = true
		fmt.Fprintf(&b, "%s\n%s", hostlist.Fold(lost), silence(said))
	}
	return b.String(), problems, nil
}

// silence explains hosts of which nothing was heard, by golaunch's own words: they have
// no agent, or the loss of a host has ended the job before they told.
func silence(said string) string {
	problem, reasons := "no agent could be started", ""
	for line := range strings.Lines(said) {
		if reason, ok := strings.CutPrefix(line, "golaunch:   host"); ok {
			reasons += "             host" + reason
		} else if reason, ok := strings.CutPrefix(line, "golaunch: host"); ok && strings.Contains(line, " (rank") {
			problem = "nothing was found out: the job ended before, with the loss of a host"
			reasons += "             host" + reason
		}
	}
	return "  problem    " + problem + "\n" + reasons
}
