package launcher

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The time that hosts are tried for depends on whether others replace them, and on the
// user.
func TestPatienceWithHosts(t *testing.T) {
	const s = 3 * time.Second
	for _, x := range []struct {
		name                  string
		change                func(*Options)
		silent, late, unknown time.Duration
	}{
		{"all must be there", func(*Options) {}, 0, 0, s},
		{"dead nodes", func(o *Options) { o.Hosts.AllowDeadNodes = true }, s, s, s},
		{"a spare", func(o *Options) { o.Hosts.Spares = 1 }, 0, s, s},
		{"dead nodes, and no room", func(o *Options) { o.Hosts.AllowDeadNodes, o.Programs.Apps[0].N = true, 4 }, 0, 0, s},
		{"the user waits", func(o *Options) { o.Hosts.AllowDeadNodes, o.Hosts.Wait = true, true }, 0, 0, 0},
	} {
		o := options(t, "a:2,b:2", 2)
		x.change(o)
		p, err := NewPlan(o, "here")
		require.NoError(t, err, x.name)
		got := o.patience(p)
		require.Equal(t, []time.Duration{x.silent, x.late, x.unknown}, []time.Duration{got.MissAfter, got.LateAfter, got.UnknownAfter}, x.name)
	}
}
