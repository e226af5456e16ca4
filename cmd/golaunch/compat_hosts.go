package main

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
)

// wordsAreHosts answers whoever names hosts as with mpirun_rsh: one word for each
// rank, and variables, before the program. They are taken for that only if this
// machine would run the first of them and has no such program, but the one after
// them; a single word is rather one that is misspelt.
func (c *commandLine) wordsAreHosts() error {
	a := c.Programs.Apps[0]
	setsPath := slices.ContainsFunc(slices.Concat(c.genv, a.Env), func(kv string) bool { return strings.HasPrefix(kv, "PATH=") })
	elsewhere := setsPath || c.envNone || a.DirGiven || len(c.Boot.Stage) > 0 // the ranks find other programs
	if elsewhere || a.N < 2 || len(a.Argv) <= a.N || isProgram(a.Argv[0]) {
		return nil
	}
	names, rest := strings.Join(a.Argv[:a.N], ","), a.Argv[a.N:]
	if strings.ContainsAny(names, "/=[") {
		return nil
	}
	if _, err := hostlist.Parse(names, "-H"); err != nil {
		return nil //nolint:nilerr // the words are no hosts, which is no error
	}
	instead := fmt.Sprintf("golaunch -n %d -H %s", a.N, names)
	for ; len(rest) > 1 && strings.Contains(rest[0], "="); rest = rest[1:] {
		instead += " -x " + rest[0]
	}
	if !isProgram(rest[0]) {
		return nil
	}
	return fmt.Errorf("program not found: %s; hosts are named with -H, as in %s %s", a.Argv[0], instead, strings.Join(rest, " "))
}

func isProgram(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}
