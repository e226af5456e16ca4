package cmdline

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
)

// Held has the statements that hold, as values.
type Held struct {
	values
	line  dialects.Line
	apps  []job.App   // without the hosts of their own
	own   []appValues // of each app, the first one's those of the job
	job   []statement // those that hold
	plain bool        // no -- stands before the first program
}

// Hold chooses the statements that hold. Flags without a statement have the value that they
// have in the line's launcher, or golaunch's default.
func (s Said) Hold(m machine.Machine) (Held, error) {
	h := Held{values: newValues(), line: s.line, job: holding(s.job, m.Environ)}
	h.Programs.Singleton = s.Singleton
	own := h.values.flags()
	for _, t := range h.job {
		if err := flags.Set(own, own.Lookup(t.flag), t.value, t.pos+t.name); err != nil {
			return h, err
		}
	}
	if h.page() != "" && len(s.apps) == 0 {
		return h, nil
	}
	h.values = h.values.withHabits(s.line, h.says)
	if h.says("connect-timeout") {
		h.Start.MissAfter = 0 // a time that the user chose holds for every host that is silent
	}
	if h.Boot.Bootstrap == "auto" {
		h.Boot.Bootstrap = ""
	}
	var err error
	for i, name := range h.genv {
		if h.genv[i], err = h.resolveVariable(name, m); err != nil {
			return h, fmt.Errorf("--genv: %w", err)
		}
	}
	h.plain = !s.apps[0].dashed
	for i, a := range s.apps {
		if err := h.addApp(i, a, m); err != nil {
			return h, dialects.AppError(i, len(s.apps), err)
		}
	}
	if s.line.MultiProg {
		h.apps, err = dialects.Programs(h.apps, m)
	}
	return h, err
}

// holding chooses, of each flag, the statements of its first source. The order within a
// source matters to flags that may be repeated alone.
func holding(said []statement, environ []string) []statement {
	bootstrap := ""
	for _, from := range slices.Backward(sources) {
		for _, s := range said {
			if s.flag == "bootstrap" && s.from == from {
				bootstrap = s.value
			}
		}
	}
	var all []statement
	for _, from := range sources {
		before := all
		for _, s := range said {
			if s.from == from && !setAside(s, before, bootstrap, environ) {
				all = append(all, s)
			}
		}
	}
	return all
}

// setAside reports whether statements of earlier sources, or the bootstrap, exclude s.
func setAside(s statement, before []statement, bootstrap string, environ []string) bool {
	if s.from == onLine {
		return false
	}
	for _, b := range before {
		switch {
		case b.flag == s.flag || areExclusive(b.flag, s.flag):
			return true
		case s.flag == "nodes" && (b.flag == "hosts" || b.flag == "hostfile"): // these take all hosts
			return true
		case b.flag == "bootstrap" && b.from == onLine && isHere(bootstrap) && (s.flag == "hosts" || s.flag == "hostfile"):
			return true
		}
	}
	kind, option, ok := registry.Owner(s.flag)
	return ok && option.Own && !registry.Chosen(kind, bootstrap, environ) // a flag of a bootstrap that is not chosen
}

// exclusive has pairs of flags: a statement of one sets aside those that later sources have
// of the other. Within one source a pair is refused, unless its flags may stand together.
var exclusive = []struct {
	a, b     string
	together bool   // the flags may stand together in a source
	hint     string // a remedy, for the message
}{
	{a: "env-none", b: "env-from"},
	{a: "hosts", b: "hostfile", hint: "; name all hosts in one"},
	{a: "quiet", b: "verbose"},
	{a: "degree", b: "degree-rule", together: true},
	{a: "map-by", b: "metis-file", together: true}, // the rule says whether it goes by a graph
	{a: "mpi", b: "open-mpi"},
	{a: "mpi", b: "pmix"},
	{a: "mpi", b: "mpich-fix", together: true},
	{a: "mpi", b: "no-mpich-fix", together: true},
	{a: "open-mpi", b: "pmix"},
	{a: "mpich-fix", b: "no-mpich-fix"},
}

// areExclusive reports whether two flags are a pair of exclusive.
func areExclusive(a, b string) bool {
	for _, x := range exclusive {
		if x.a == a && x.b == b || x.a == b && x.b == a {
			return true
		}
	}
	return false
}

// conflict returns the error for exclusive flags of the line, or of the file. Variables
// may stand for several jobs: their conflicts are left to the checks of the values.
func conflict(held []statement) error {
	own := Flags()
	index := func(flag string, from source) int {
		return slices.IndexFunc(held, func(s statement) bool { return s.flag == flag && s.from == from && !isOff(own.Lookup(flag), s.value) })
	}
	for _, x := range exclusive {
		for _, from := range []source{onLine, inFile} {
			a, b := index(x.a, from), index(x.b, from)
			if a < 0 || b < 0 || x.together {
				continue
			}
			pos := held[max(a, b)].pos
			return fmt.Errorf("%s--%s and --%s exclude each other%s", pos, x.a, x.b, x.hint)
		}
	}
	return nil
}

// isOff reports whether a value of a flag that takes none turns it off.
func isOff(f *pflag.Flag, value string) bool {
	yes, err := strconv.ParseBool(value)
	return err == nil && !yes && !flags.TakesValue(f)
}

// Page is a text that a line asks for in place of a job.
type Page string

// The pages.
const (
	PageHelp    Page = "help"
	PageUsage   Page = "usage"
	PageVersion Page = "version"
	PageMPI     Page = "mpi"
)

// page is "" where the flags ask for a job.
func (v *values) page() Page {
	switch {
	case v.help:
		return PageHelp
	case v.usage:
		return PageUsage
	case v.version:
		return PageVersion
	case v.mpi == mpiListWord:
		return PageMPI
	}
	return ""
}

// Page is "" where the line asks for a job.
func (h *Held) Page() Page { return h.page() }

// given reports whether the line has a statement of a flag.
func (h *Held) given(flag string) bool { return h.at(flag, onLine) }

// says reports whether any source has a statement of a flag.
func (h *Held) says(flag string) bool {
	return slices.ContainsFunc(h.job, func(s statement) bool { return s.flag == flag })
}

func (h *Held) at(flag string, from source) bool {
	return slices.ContainsFunc(h.job, func(s statement) bool { return s.flag == flag && s.from == from })
}
