package dialects

import (
	"fmt"
	"slices"
	"strings"
)

// IsLauncher reports whether a word calls another launcher.
func IsLauncher(name string) bool {
	return slices.ContainsFunc(tools, func(t *Tool) bool { return slices.Contains(t.calls, name) })
}

// Explain describes the meaning of a flag of other launchers, "" where none has it:
// of one that is also golaunch's own, where it becomes another.
func Explain(word string, own bool) string {
	name := strings.TrimLeft(word, "-")
	var b strings.Builder
	for _, t := range tools {
		for i := range t.rows {
			r := &t.rows[i]
			if word == name || own && !r.over || !slices.Contains(strings.Fields(r.names), name) {
				continue
			}
			text := strings.ReplaceAll(r.text, "`", "")
			if r.verb != becomes {
				text = r.verb + ": " + text
			}
			fmt.Fprintf(&b, "%s (%s)\n  %s\n", strings.Join(t.spelled(r), ", "), t.name, text)
		}
	}
	return b.String()
}
