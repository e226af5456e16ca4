package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// reserved are the variables that golaunch sets for each rank.
var reserved = []string{
	"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID", "PMI_SPAWNED", "PMI_JOBID",
	"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMIX_NAMESPACE", "PMIX_RANK",
}

// reservedPMGR are those that it sets with --pmgr.
var reservedPMGR = []string{"MPIRUN_RANK", "MPIRUN_NPROCS", "MPIRUN_ID", "MPIRUN_HOST", "MPIRUN_PORT"}

// setVariable sets NAME=value in env.
func setVariable(env []string, kv string) []string {
	name, _, _ := strings.Cut(kv, "=")
	env = slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	return append(env, kv)
}

// variable is the value of a variable in environ, "" where it has none.
func variable(environ []string, name string) string {
	v, _ := lookup(environ, name)
	return v
}

func lookup(environ []string, name string) (value string, ok bool) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// resolveVariable turns the argument of --env, NAME or NAME=value, into
// NAME=value.
func (c *commandLine) resolveVariable(arg string) (string, error) {
	name, _, hasValue := strings.Cut(arg, "=")
	switch {
	case name == "" || strings.ContainsRune(arg, 0):
		return "", fmt.Errorf("%q is not NAME or NAME=VALUE", arg)
	case strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "", fmt.Errorf("%q is no name of a variable: it has a blank in it", name)
	case slices.Contains(reserved, name), strings.HasPrefix(name, "GOLAUNCH_"), c.Launch.PMGR && slices.Contains(reservedPMGR, name):
		return "", fmt.Errorf("%s is golaunch's to set", name)
	case hasValue:
		return arg, nil
	}
	value, ok := lookup(c.environ, name)
	if !ok {
		if strings.ContainsAny(name, ",[") {
			return "", fmt.Errorf("%s is no variable; srun's -x, hosts to leave out, is --exclude", name)
		}
		return "", fmt.Errorf("%s is not set here; write %s=VALUE", name, name)
	}
	return name + "=" + value, nil
}
