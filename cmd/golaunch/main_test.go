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
		return usageError(stdio.Stderr, err)
	}
	w, def := stdio.Stdout, launcher.DefaultOptions()
	for i, a := range o.Apps {
		fmt.Fprintf(w, "app %d n=%d argv=%q", i, a.N, a.Argv)
		if len(a.Env) > 0 {
			fmt.Fprintf(w, " env=%q", a.Env)
		}
		if a.DirGiven {
			fmt.Fprintf(w, " dir=%s", a.Dir)
		}
		fmt.Fprintln(w)
	}
	if o.RankHosts > 0 {
		o.Hosts = o.Hosts[:o.RankHosts+o.Spares]
	}
	show := func(name string, value, standard any) {
		if value != standard {
			fmt.Fprintf(w, "%s %v\n", name, value)
		}
	}
	showHosts(show, o, def)
	showRanks(show, o, def)
	if os.Getenv("SHOW_UNBUFFERED") != "" { // a habit of many lines
		show("unbuffered", o.Unbuffered, def.Unbuffered)
	}
	if os.Getenv("SHOW_ENV") != "" {
		for _, kv := range slices.Concat(o.Env, o.EnvGiven) {
			fmt.Fprintf(w, "env %s\n", kv)
		}
	}
	return 0
}

// showHosts shows where ranks run, and how agents come there.
func showHosts(show func(name string, value, standard any), o, def launcher.Options) {
	show("hosts", hostlist.Fold(o.Hosts), "")
	show("bootstrap", o.Bootstrap, def.Bootstrap)
	show("exec-command", o.BootstrapValues["exec-command"], "")
	show("exec-from", o.BootstrapValues["exec-from"], "")
	show("nodes", o.Nodes, def.Nodes)
	show("ssh-config", o.BootstrapValues["ssh-config"], "")
	show("ssh-option", strings.ReplaceAll(o.BootstrapValues["ssh-option"], "\n", " | "), "")
	show("connect-timeout", o.ConnectTimeout, def.ConnectTimeout)
	show("miss-after", o.MissAfter, def.MissAfter)
	show("wait", o.Wait, def.Wait)
	show("allow-dead-nodes", o.AllowDeadNodes, def.AllowDeadNodes)
	show("keep-agent", o.KeepAgent, def.KeepAgent)
	show("stage", strings.Join(o.Stage, " "), "")
	show("ppn", o.PPN, def.PPN)
	show("oversubscribe", o.Oversubscribe, def.Oversubscribe)
	show("bind-to", o.BindTo, def.BindTo)
	show("report-bindings", o.ReportBindings, def.ReportBindings)
	show("iface", o.Iface, def.Iface)
	show("gpus-per-rank", o.GPUsPerRank, def.GPUsPerRank)
	show("degree", o.Degree, def.Degree)
	show("degree-rule", o.DegreeRule, def.DegreeRule)
	show("lost-after", o.LostAfter, def.LostAfter)
}

// showRanks shows how ranks run, and what becomes of their output.
func showRanks(show func(name string, value, standard any), o, def launcher.Options) {
	show("env-from", o.EnvFrom, def.EnvFrom)
	show("timeout", o.Timeout, def.Timeout)
	show("stall-after", o.StallAfter, def.StallAfter)
	show("grace", o.Grace, def.Grace)
	show("keep-going", o.KeepGoing, def.KeepGoing)
	show("stdin", o.Stdin, def.Stdin)
	show("pty", o.PTY, def.PTY)
	show("tee", o.Tee, def.Tee)
	show("show", o.Show, def.Show)
	show("label", o.Label, def.Label)
	show("out", o.OutPattern, def.OutPattern)
	show("err", o.ErrPattern, def.ErrPattern)
	show("log-dir", o.LogDir, def.LogDir)
	show("restarts", o.Restarts, def.Restarts)
	show("line-max", o.LineMax, def.LineMax)
	show("dry-run", o.DryRun, def.DryRun)
	show("verbose", o.Verbose, def.Verbose)
	show("quiet", o.Quiet, def.Quiet)
	show("timing", o.Timing, def.Timing)
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
			fabrics, err := filepath.Abs("../../topology/ibnet/testdata")
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
