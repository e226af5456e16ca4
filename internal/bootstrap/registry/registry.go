// Package registry lists the bootstraps: all that golaunch can start agents with.
// Adding one is a package below bootstrap and one line here. No other code knows
// which bootstrap it works with: it asks the bootstrap.Kind.
package registry

import (
	"cmp"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
	execboot "github.com/golaunch/golaunch/internal/bootstrap/exec"
	"github.com/golaunch/golaunch/internal/bootstrap/fork"
	slurmboot "github.com/golaunch/golaunch/internal/bootstrap/slurm"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
)

// table has the bootstraps; the first that is not Here is for hosts that nothing
// else is said of.
var table = []bootstrap.Kind{
	sshboot.Kind(),
	fork.Kind(),
	execboot.Kind(),
	execboot.Docker(),
	execboot.Podman(),
	execboot.Kubectl(),
	slurmboot.Kind(),
	execboot.Srun(),
	execboot.SGE(),
	execboot.LSF(),
	execboot.PBS(),
}

// hydra are the variables in which users of MPICH and of Intel MPI name the starter of
// Hydra's proxies. Names that are bootstraps' here mean these.
var hydra = []string{"HYDRA_LAUNCHER", "I_MPI_HYDRA_BOOTSTRAP"}

// Add adds a bootstrap to the table, for a program that brings its own, before
// anything else is done with the table.
func Add(k bootstrap.Kind) { table = append(table, k) }

// All returns the bootstraps, in the order of the help.
func All() []bootstrap.Kind { return table }

// Find returns the bootstrap of a name.
func Find(name string) (bootstrap.Kind, bool) {
	i := slices.IndexFunc(table, func(k bootstrap.Kind) bool { return k.Name == name })
	if i < 0 {
		return bootstrap.Kind{}, false
	}
	return table[i], true
}

// Names returns those of all bootstraps.
func Names() []string {
	names := make([]string, len(table))
	for i, k := range table {
		names[i] = k.Name
	}
	return names
}

// Owner finds the flag of a name among those that bootstraps have of their own.
func Owner(flag string) (bootstrap.Kind, bootstrap.Option, bool) {
	for _, k := range table {
		for _, o := range k.Options {
			if o.Name == flag {
				return k, o, true
			}
		}
	}
	return bootstrap.Kind{}, bootstrap.Option{}, false
}

// Local returns the bootstrap of this machine.
func Local() bootstrap.Kind {
	return table[slices.IndexFunc(table, func(k bootstrap.Kind) bool { return k.Here })]
}

// Remote returns the bootstrap for other machines where the user names none: the first
// that a variable of environ selects, else the first in the table.
func Remote(environ []string) bootstrap.Kind { return remote(table, environ) }

// For returns the bootstrap for hosts, not all of them this machine, where the user
// names none: the first that a variable of environ selects, else the first that serves
// them there, else the first in the table; why then names the obstacle of a manager
// whose job this is, "" if there is none.
func For(environ []string, hosts []job.Host) (k bootstrap.Kind, why string) {
	return forHosts(table, environ, hosts)
}

func forHosts(kinds []bootstrap.Kind, environ []string, hosts []job.Host) (k bootstrap.Kind, why string) {
	if k, ok := selected(kinds, environ); ok {
		return k, ""
	}
	for _, k := range kinds {
		if k.Serves == nil {
			continue
		}
		serves, hindered := k.Serves(Getenv(environ), hosts)
		if serves {
			return k, ""
		}
		why = cmp.Or(why, hindered)
	}
	return remote(kinds, environ), why
}

// Chosen tells whether k is the bootstrap of a name, or, where none is given, that
// of other machines.
func Chosen(k bootstrap.Kind, name string, environ []string) bool {
	return chosen(table, k, name, environ)
}

func chosen(kinds []bootstrap.Kind, k bootstrap.Kind, name string, environ []string) bool {
	if name == "" {
		return k.Name == remote(kinds, environ).Name
	}
	return k.Name == name
}

func remote(kinds []bootstrap.Kind, environ []string) bootstrap.Kind {
	if k, ok := selected(kinds, environ); ok {
		return k
	}
	return kinds[slices.IndexFunc(kinds, func(k bootstrap.Kind) bool { return !k.Here && len(k.Variables) == 0 })]
}

// selected returns the first that a variable of environ selects.
func selected(kinds []bootstrap.Kind, environ []string) (bootstrap.Kind, bool) {
	get := Getenv(environ)
	i := slices.IndexFunc(kinds, func(k bootstrap.Kind) bool {
		return slices.ContainsFunc(k.Variables, func(name string) bool { return get(name) != "" }) || k.FromEnvironment != nil && k.FromEnvironment(get) != nil
	})
	for _, variable := range hydra {
		if i < 0 {
			i = slices.IndexFunc(kinds, func(k bootstrap.Kind) bool { return !k.Here && k.Name == get(variable) })
		}
	}
	if i < 0 {
		return bootstrap.Kind{}, false
	}
	return kinds[i], true
}

// Given returns the values that environ has for the flags of the bootstrap of a name,
// or, where none is given, of that of other machines. They may be none.
func Given(name string, environ []string) bootstrap.Values {
	for _, k := range table {
		if k.FromEnvironment != nil && Chosen(k, name, environ) {
			return k.FromEnvironment(Getenv(environ))
		}
	}
	return nil
}

// Getenv finds variables in environ, NAME=value each; "" for those that it lacks.
func Getenv(environ []string) func(string) string {
	return func(name string) string {
		for _, kv := range environ {
			if value, ok := strings.CutPrefix(kv, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Relays starts agents on the launcher's machine that have no ranks, where only it
// reaches the hosts.
func Relays() bootstrap.Piper { return fork.New() }
