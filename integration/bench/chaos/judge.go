package chaos

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// kinds are the faults of golaunch, the columns of the table.
var kinds = []string{"hangs", "panics", "races", "late", "leftovers", "wrong codes", "wrong files", "unnamed culprits"}

// crashed are words of a Go program that ends badly.
var crashed = regexp.MustCompile(`panic: |fatal error: |SIGSEGV|goroutine \d+ \[|DATA RACE`)

// judge looks at exit status and words: whether the blows can have had that
// consequence, and whether the user is told of the cause.
func (o *outcome) judge() {
	if crashed.MatchString(o.stderr) {
		o.find("panics", "standard error has it")
	}
	if slices.ContainsFunc(o.faults, func(f finding) bool { return f.kind == "hangs" }) {
		return // it was killed
	}
	usual := []int{o.program.code}
	if o.program.endless {
		usual = nil
		if o.termed {
			usual = []int{128 + 15}
		}
	}
	var nodes []string // that may be to blame for the status
	unnamed := false   // or something that has no name
	for _, b := range o.struck {
		switch {
		case b.again && o.goesOn():
		case !slices.Contains(b.codes, o.code) && !(b.starves && o.code != 0):
		case b.blames:
			nodes = append(nodes, b.node)
		default:
			unnamed = true
		}
	}
	switch {
	case slices.Contains(usual, o.code), unnamed:
	case len(nodes) == 0:
		o.find("wrong codes", "exit status %d, expected %v or that of a blow", o.code, usual)
	case !slices.ContainsFunc(nodes, o.names):
		o.find("unnamed culprits", "exit status %d and not a word of %s", o.code, strings.Join(nodes, " or "))
	}
	if o.code == 0 && o.program.code != 0 {
		o.find("wrong codes", "exit status 0 of a job that fails")
	}
	if blamed := o.innocent(); blamed != "" {
		o.find("unnamed culprits", "host %s is blamed", blamed)
	}
}

// goesOn reports whether the job had to outlive its only blow: all its ranks ran, it
// had an attempt left (--restarts), and another host.
func (o *outcome) goesOn() bool {
	return o.has("--restarts") && len(o.struck) == 1 && !o.struck[0].early && o.program.endless && len(o.hosts) > 1
}

// killed reports whether golaunch was killed, so that it could put nothing in order.
func (o *outcome) killed() bool {
	return slices.ContainsFunc(o.struck, func(b blow) bool { return b.name == "kill -9 of golaunch" }) ||
		slices.ContainsFunc(o.faults, func(f finding) bool { return f.kind == "hangs" })
}

// names reports whether golaunch named a node.
func (o *outcome) names(node string) bool {
	return regexp.MustCompile(`(?m)^golaunch: .*\b` + node + `\b`).MatchString(o.stderr)
}

// blame matches the beginning of a line of golaunch's about a host as the cause, be it by
// another host's word.
var blame = regexp.MustCompile(`(?m)^golaunch: (?:  )?(?:hosts? \S+: )?host (\S+?)(?:\.\d+)?(?: \(ranks? [^)]*\))?: `)

// innocent returns a host that golaunch blames first although nothing happened to it,
// nor to golaunch itself so that the host had to take it for lost.
func (o *outcome) innocent() string {
	m := blame.FindStringSubmatch(patient.ReplaceAllString(o.stderr, ""))
	if m == nil || slices.ContainsFunc(o.struck, func(b blow) bool {
		return b.node == m[1] || !b.blames && slices.Contains(b.codes, exitLost)
	}) {
		return ""
	}
	return m[1]
}

// patient matches lines about hosts that are only waited for.
var patient = regexp.MustCompile(`(?m)^golaunch: .*: waiting up to .*\n`)

// String describes the findings, with all that is needed to see them again.
func (o *outcome) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n  exit status %d", o.drawn, o.code)
	for _, s := range o.struck {
		fmt.Fprintf(&b, "; fell: %v", s)
	}
	fmt.Fprintln(&b)
	for _, f := range o.faults {
		fmt.Fprintf(&b, "  %s: %s\n", strings.ToUpper(f.kind), f.text)
	}
	for line := range strings.Lines(o.stderr) {
		fmt.Fprintf(&b, "  | %s", line)
	}
	return b.String()
}
