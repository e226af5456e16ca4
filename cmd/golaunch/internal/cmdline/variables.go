package cmdline

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
)

// mpiVariables are those of MPICH's mpiexec that mean the same as a flag.
var mpiVariables = map[string]string{"timeout": "MPIEXEC_TIMEOUT"}

// Variables returns the environment variables of a flag; the first that is set counts.
func Variables(f *pflag.Flag) []string {
	names := []string{"GOLAUNCH_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))}
	if name, ok := mpiVariables[f.Name]; ok {
		names = append(names, name)
	}
	return names
}

// variables returns the flags that environment variables set; an empty one counts as
// unset.
func variables(m machine.Machine) []statement {
	var all []statement
	Flags().VisitAll(func(f *pflag.Flag) {
		if flags.Has(f, flags.NoVariable) {
			return
		}
		for _, name := range Variables(f) {
			if value := m.Variable(name); value != "" {
				all = append(all, statement{flag: f.Name, value: value, from: inVariable, name: name})
				return
			}
		}
	})
	return all
}
