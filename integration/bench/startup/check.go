package startup

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// check has every launcher start a program that names its host, and counts: exit
// statuses alone would not show that a rank never ran. A launcher that fails is out.
func (f *field) check(ctx context.Context, list []contender, t task) error {
	t.program = []string{"hostname"}
	for _, r := range f.runners(list, t) {
		if r.name == floorName || r.reason != "" {
			continue
		}
		r.look = func(out string, _ time.Time, _ *reading) error { return f.ranOn(out, t) }
		_, err := f.try(ctx, r)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			continue
		}
		f.tell("check of %s: %v", r.name, err)
		f.broken[r.name] = "its ranks did not all run: " + err.Error()
		if err := f.sweep(); err != nil {
			return err
		}
	}
	return nil
}

// ranOn checks that each host's name was printed as often as it has ranks.
func (f *field) ranOn(out string, t task) error {
	count := lastWords(out)
	for _, n := range f.Nodes()[:t.nodes] {
		if count[n.Name] != t.ppn {
			return fmt.Errorf("%s was named %d times, not %d", n.Name, count[n.Name], t.ppn)
		}
	}
	return nil
}

// lastWords counts the last words of lines: launchers put labels before.
func lastWords(out string) map[string]int {
	count := map[string]int{}
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 0 {
			count[words[len(words)-1]]++
		}
	}
	return count
}

// taktukEnded checks that TakTuk tells of as many commands that ended well: its
// own exit status does not.
func taktukEnded(out string, hosts int) error {
	if n := strings.Count(out, "Exited with status 0"); n != hosts {
		return fmt.Errorf("%d of %d commands ended well", n, hosts)
	}
	return nil
}
