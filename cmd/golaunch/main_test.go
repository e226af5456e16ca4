package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/golaunch/golaunch/internal/bootstrap"
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

// showOptions stands in for launcher.Run and prints its options, but for those that are
// as by default.
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
	showDifferences(w, reflect.ValueOf(o), reflect.ValueOf(def))
	if os.Getenv("SHOW_ENV") != "" {
		for _, kv := range slices.Concat(o.Programs.Env, o.Programs.EnvGiven) {
			fmt.Fprintf(w, "env %s\n", kv)
		}
	}
	return 0
}

// unshown has fields that are shown otherwise, or that many lines have of golaunch
// itself or by habit.
var unshown = []string{"Apps", "Env", "EnvGiven", "Dir", "Environ", "Network", "Allocation", "RankHosts", "Wish", "Rule", "Names"}

// shownAs has the flags of fields with other names.
var shownAs = map[string]string{"OutPattern": "out", "ErrPattern": "err", "List": "hosts", "File": "report", "TraceFile": "trace", "ProfileFile": "profile"}

// showDifferences shows the fields of options that are not as by default, by the names of
// their flags.
func showDifferences(w io.Writer, v, def reflect.Value) {
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		switch {
		case !field.IsExported() || slices.Contains(unshown, field.Name) || field.Name == "Unbuffered" && os.Getenv("SHOW_UNBUFFERED") == "":
			continue
		case field.Type.Kind() == reflect.Struct:
			showDifferences(w, value, def.Field(i))
			continue
		case field.Type.Kind() == reflect.Map:
			values := value.Interface().(bootstrap.Values)
			for _, name := range slices.Sorted(maps.Keys(values)) {
				fmt.Fprintf(w, "%s %s\n", name, strings.ReplaceAll(values[name], "\n", " | "))
			}
			continue
		case reflect.DeepEqual(value.Interface(), def.Field(i).Interface()):
			continue
		}
		name := cmp.Or(shownAs[field.Name], flagOf(field.Name))
		switch list := value.Interface().(type) {
		case []job.Host:
			fmt.Fprintf(w, "%s %s\n", name, hostlist.Fold(list))
		case []string:
			fmt.Fprintf(w, "%s %s\n", name, strings.Join(list, " "))
		default:
			fmt.Fprintf(w, "%s %v\n", name, list)
		}
	}
}

// flagOf returns the name of a field as flags are written: GPUsPerRank is
// gpus-per-rank.
func flagOf(field string) string {
	words := regexp.MustCompile(`([A-Z]+)([A-Z][a-z])|([a-z])([A-Z])`).ReplaceAllString(strings.Replace(field, "GPUs", "Gpus", 1), "$1$3-$2$4")
	return strings.ToLower(words)
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
