package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"golaunch":     func() { os.Exit(runWith(launcher.Run)) },
		"show-options": func() { os.Exit(runWith(showOptions)) },
	})
}

func runWith(launch launchFunc) int {
	stdio := launcher.IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return run(context.Background(), os.Args[1:], stdio, launch)
}

// showOptions stands in for launcher.Run and prints what it would be told,
// leaving out what is as by default.
func showOptions(_ context.Context, o launcher.Options, stdio launcher.IO) int {
	if err := o.Validate(); err != nil {
		return end(stdio.Stderr, err)
	}
	w, def := stdio.Stdout, launcher.DefaultOptions()
	for i, a := range o.Programs.Apps {
		fmt.Fprintf(w, "app %d n=%d argv=%q", i, a.N, a.Argv)
		if len(a.Env) > 0 {
			fmt.Fprintf(w, " env=%q", a.Env)
		}
		if a.DirGiven {
			fmt.Fprintf(w, " dir=%s", a.Dir)
		}
		fmt.Fprintln(w)
	}
	if o.Hosts.RankHosts > 0 {
		o.Hosts.List = o.Hosts.List[:o.Hosts.RankHosts+o.Hosts.Spares]
	}
	show := func(name string, value, standard any) {
		if value != standard {
			fmt.Fprintf(w, "%s %v\n", name, value)
		}
	}
	showHosts(show, o, def)
	showRanks(show, o, def)
	if os.Getenv("SHOW_UNBUFFERED") != "" { // a habit of many lines
		show("unbuffered", o.Launch.Unbuffered, def.Launch.Unbuffered)
	}
	if os.Getenv("SHOW_ENV") != "" {
		for _, kv := range slices.Concat(o.Programs.Env, o.Programs.EnvGiven) {
			fmt.Fprintf(w, "env %s\n", kv)
		}
	}
	return 0
}

// showHosts shows where ranks run, and how agents come there.
func showHosts(show func(name string, value, standard any), o, def launcher.Options) {
	show("hosts", hostlist.Fold(o.Hosts.List), "")
	show("bootstrap", o.Boot.Bootstrap, def.Boot.Bootstrap)
	show("exec-command", o.Boot.Values["exec-command"], "")
	show("exec-from", o.Boot.Values["exec-from"], "")
	show("nodes", o.Hosts.Nodes, def.Hosts.Nodes)
	show("ssh-config", o.Boot.Values["ssh-config"], "")
	show("ssh-option", strings.ReplaceAll(o.Boot.Values["ssh-option"], "\n", " | "), "")
	show("connect-timeout", o.Start.ConnectTimeout, def.Start.ConnectTimeout)
	show("miss-after", o.Start.MissAfter, def.Start.MissAfter)
	show("wait", o.Hosts.Wait, def.Hosts.Wait)
	show("allow-dead-nodes", o.Hosts.AllowDeadNodes, def.Hosts.AllowDeadNodes)
	show("keep-agent", o.Start.KeepAgent, def.Start.KeepAgent)
	show("stage", strings.Join(o.Boot.Stage, " "), "")
	show("ppn", o.Placement.PPN, def.Placement.PPN)
	show("oversubscribe", o.Placement.Oversubscribe, def.Placement.Oversubscribe)
	show("bind-to", o.Start.BindTo, def.Start.BindTo)
	show("report-bindings", o.Launch.ReportBindings, def.Launch.ReportBindings)
	show("iface", o.Launch.Iface, def.Launch.Iface)
	show("gpus-per-rank", o.Launch.GPUsPerRank, def.Launch.GPUsPerRank)
	show("degree", o.Tree.Degree, def.Tree.Degree)
	show("degree-rule", o.Tree.DegreeRule, def.Tree.DegreeRule)
	show("lost-after", o.Start.LostAfter, def.Start.LostAfter)
}

// showRanks shows how ranks run, and what becomes of their output.
func showRanks(show func(name string, value, standard any), o, def launcher.Options) {
	show("env-from", o.Launch.EnvFrom, def.Launch.EnvFrom)
	show("timeout", o.Ending.Timeout, def.Ending.Timeout)
	show("stall-after", o.Start.StallAfter, def.Start.StallAfter)
	show("grace", o.Ending.Grace, def.Ending.Grace)
	show("keep-going", o.Ending.KeepGoing, def.Ending.KeepGoing)
	show("stdin", o.Input.Stdin, def.Input.Stdin)
	show("pty", o.Input.PTY, def.Input.PTY)
	show("tee", o.Output.Tee, def.Output.Tee)
	show("show", o.Output.Show, def.Output.Show)
	show("label", o.Output.Label, def.Output.Label)
	show("out", o.Output.OutPattern, def.Output.OutPattern)
	show("err", o.Output.ErrPattern, def.Output.ErrPattern)
	show("log-dir", o.Output.LogDir, def.Output.LogDir)
	show("restarts", o.Ending.Restarts, def.Ending.Restarts)
	show("line-max", o.Output.LineMax, def.Output.LineMax)
	show("dry-run", o.Report.DryRun, def.Report.DryRun)
	show("verbose", o.Start.Verbose, def.Start.Verbose)
	show("quiet", o.Report.Quiet, def.Report.Quiet)
	show("timing", o.Report.Timing, def.Report.Timing)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"refuse": refuse,
			"keys":   keys,
		},
		Setup: func(e *testscript.Env) error {
			e.Setenv("COLON", ":")
			fabrics, err := filepath.Abs("../../network/topology/ibnet/testdata")
			if err != nil {
				return err
			}
			e.Setenv("FABRICS", fabrics)
			// The race detector sleeps a second at every exit otherwise.
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
	})
}

// refuse LINE ARG... runs golaunch with the arguments, which must say exactly
// "golaunch: LINE", on standard error only, and exit with status 2.
func refuse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: refuse LINE ARG...")
	}
	exit, ok := errors.AsType[*exec.ExitError](ts.Exec("golaunch", args[1:]...))
	if !ok || exit.ExitCode() != job.ExitUsage {
		ts.Fatalf("ended with %v, want exit status %d", exit, job.ExitUsage)
	}
	if got, want := ts.ReadFile("stderr"), "golaunch: "+args[0]+"\n"; got != want {
		ts.Fatalf("said:\n%swant:\n%s", got, want)
	}
	if got := ts.ReadFile("stdout"); got != "" {
		ts.Fatalf("wrote to standard output:\n%s", got)
	}
}

// keys FILE puts the keys in the place of their names in a file.
func keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: keys FILE")
	}
	names := strings.NewReplacer("<TAB>", "\t", "<ALL>", "\x1b*")
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(names.Replace(ts.ReadFile(args[0]))), 0o600))
}
