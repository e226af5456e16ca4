package cmdline

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/job"
)

// reserved are the variables that golaunch sets for each rank.
var reserved = []string{
	"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID", "PMI_SPAWNED", "PMI_JOBID",
	"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMIX_NAMESPACE", "PMIX_RANK",
}

// reservedPMGR has the variables for --pmgr.
var reservedPMGR = []string{"MPIRUN_RANK", "MPIRUN_NPROCS", "MPIRUN_ID", "MPIRUN_HOST", "MPIRUN_PORT"}

// setVariable sets NAME=value in env.
func setVariable(env []string, kv string) []string {
	name, _, _ := strings.Cut(kv, "=")
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return append(env, kv)
}

// addApp adds an app, the i-th: for flags that it leaves open the file of --config and
// variables count, which speak for every app.
func (h *Held) addApp(i int, said saidApp, m machine.Machine) error {
	own := h.appValues
	if i > 0 {
		own = appValues{}
		f := own.flags()
		for _, s := range said.own {
			if err := flags.Set(f, f.Lookup(s.flag), s.value, s.name); err != nil {
				return err
			}
		}
		if own.np == 0 && !h.given("np") {
			own.np = h.np
		}
		if own.wdir == "" && !h.given("wdir") {
			own.wdir = h.wdir
		}
	}
	app := job.App{Argv: said.argv, N: own.np, Dir: own.wdir, DirGiven: own.wdir != ""}
	for _, arg := range own.env {
		kv, err := h.resolveVariable(arg, m)
		if err != nil {
			return fmt.Errorf("-x/--env: %w", err)
		}
		app.Env = setVariable(app.Env, kv)
	}
	h.apps, h.own = append(h.apps, app), append(h.own, own)
	return nil
}

// resolveVariable turns the argument of --env, NAME or NAME=value, into
// NAME=value.
func (v *values) resolveVariable(arg string, m machine.Machine) (string, error) {
	name, _, hasValue := strings.Cut(arg, "=")
	switch {
	case name == "" || strings.ContainsRune(arg, 0):
		return "", fmt.Errorf("%q is not NAME or NAME=VALUE", arg)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", fmt.Errorf("%q is no name of a variable: it has a blank in it", name)
	case slices.Contains(reserved, name), strings.HasPrefix(name, "GOLAUNCH_"), v.Launch.PMGR && slices.Contains(reservedPMGR, name):
		return "", fmt.Errorf("%s is golaunch's to set", name)
	case hasValue:
		return arg, nil
	}
	value, ok := environ.Lookup(m.Environ, name)
	if !ok {
		if strings.ContainsAny(name, ",[") {
			return "", fmt.Errorf("%s is no variable; srun's -x, hosts to leave out, is --exclude", name)
		}
		return "", fmt.Errorf("%s is not set here; write %s=VALUE", name, name)
	}
	return name + "=" + value, nil
}
