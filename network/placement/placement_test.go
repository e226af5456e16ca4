package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

// host returns a name, slots and ranks that it holds.
func host(name string, slots, used int, index job.HostIndex) Host {
	return Host{Host: job.Host{Name: name, Slots: slots, Pos: "hosts:7"}, Index: index, Used: used}
}

// fixed returns the same runs whatever it is asked.
type fixed []Run

func (f fixed) Place(*Input) ([]Run, error) { return f, nil }

// A rule may put any rank on any host: hosts out of order, one of them often.
func TestAnyRankOnAnyHost(t *testing.T) {
	in := &Input{Hosts: []Host{host("a", 0, 0, 10), host("b", 0, 0, 11), host("c", 0, 0, 12)}, Apps: []int{3, 0, 4}}
	blocks, err := Place(fixed(Fold([]int{2, 2, 0, 0, 2, 1, 2})), in)
	require.NoError(t, err)
	require.Equal(t, []job.Block{
		{Host: 12, First: 0, Count: 2, App: 0},
		{Host: 10, First: 2, Count: 1, App: 0},
		{Host: 10, First: 3, Count: 1, App: 2},
		{Host: 12, First: 4, Count: 1, App: 2},
		{Host: 11, First: 5, Count: 1, App: 2},
		{Host: 12, First: 6, Count: 1, App: 2},
	}, blocks)
	in.Apps = nil
	blocks, err = Place(fixed{{Host: 1, Count: 2}, {Host: 1, Count: 1}, {Host: 0, Count: 1}}, in)
	require.NoError(t, err)
	require.Equal(t, []job.Block{{Host: 11, First: 0, Count: 3}, {Host: 10, First: 3, Count: 1}}, blocks, "one app, as many ranks as there are")
	require.Nil(t, Fold(nil))
}

// An invalid result of a rule ends the job with a reason.
func TestRunsAreChecked(t *testing.T) {
	in := Input{Hosts: []Host{host("a", 2, 1, 0), host("b", 2, 0, 1)}, Apps: []int{2}}
	for want, runs := range map[string]fixed{
		"placement: 1 of 2 ranks have a host": {{Host: 0, Count: 1}},
		"placement: 3 of 2 ranks have a host": {{Host: 0, Count: 1}, {Host: 1, Count: 2}},
		"placement: 2 ranks on host 2 of 2":   {{Host: 2, Count: 2}},
		"placement: 2 ranks on host -1 of 2":  {{Host: -1, Count: 2}},
		"placement: 0 ranks on host 0 of 2":   {{Host: 0, Count: 0}},
		"not enough slots on host a: 2 ranks, 1 slot free; give it more slots (host:N), or --oversubscribe": {{Host: 0, Count: 2}},
	} {
		_, err := Place(runs, &in)
		require.EqualError(t, err, want)
	}
	in.Oversubscribe = true
	_, err := Place(fixed{{Host: 0, Count: 2}}, &in)
	require.NoError(t, err)
	_, err = Place(evenRule{}, &Input{Apps: []int{1}})
	require.EqualError(t, err, "no host for any rank")
}

// Names, helps and words belong together.
func TestRulesAreNamed(t *testing.T) {
	for _, name := range Names() {
		require.NotEmpty(t, Help(name), name)
		word := name
		if strings.HasSuffix(name, ":") {
			word += "a:b"
			_, _, err := Cut(name)
			require.ErrorContains(t, err, "lacks its", name)
			_, _, err = Cut(strings.TrimSuffix(name, ":"))
			require.ErrorContains(t, err, "lacks its", name)
		}
		got, value, err := Cut(word)
		require.NoError(t, err)
		require.Equal(t, word, got+value)
	}
	_, _, err := Cut("odd")
	require.EqualError(t, err, `"odd" is no rule; slot, node, switch, topology, comm:GRAPH, file:FILE and seq are`)
}

// Of the rules for numbers and slots, slot takes the one that suits.
func TestSlotChooses(t *testing.T) {
	in := &Input{Hosts: []Host{host("a", 0, 0, 0), host("b", 0, 0, 1)}, Apps: []int{4}}
	for _, c := range []struct {
		edit func()
		want []Run
	}{
		{func() {}, []Run{{0, 2}, {1, 2}}},
		{func() { in.Hosts[1].Slots, in.Hosts[0].Slots = 3, 1 }, []Run{{0, 1}, {1, 3}}},
		{func() { in.PPN, in.Oversubscribe = 3, true }, []Run{{0, 3}, {1, 1}}},
	} {
		c.edit()
		runs, err := slotRule{}.Place(in)
		require.NoError(t, err)
		require.Equal(t, c.want, runs)
	}
}

// The rules that slot chooses from, and that of spawns, by names for the tests.
const (
	Even  = "even"
	Slots = "slots"
	PPN   = "ppn"
	Free  = "free"
)

var byNumber = map[string]Rule{Even: evenRule{}, Slots: slotsRule{}, PPN: ppnRule{}, Free: freeRule{}}

// A job that leaves its number of ranks open has as many as the hosts make it.
func TestOpenNumber(t *testing.T) {
	for _, c := range []struct {
		rule  string
		slots int
		ppn   int
		want  []Run
	}{
		{rule: Even, want: []Run{{0, 1}, {1, 1}}},
		{rule: Slots, slots: 3, want: []Run{{0, 3}, {1, 3}}},
		{rule: Slots, want: []Run{{0, 1}, {1, 1}}},
		{rule: PPN, ppn: 2, want: []Run{{0, 2}, {1, 2}}},
		{rule: Free, slots: 2, want: []Run{{0, 2}, {1, 2}}},
	} {
		runs, err := byNumber[c.rule].Place(&Input{Hosts: []Host{host("a", c.slots, 0, 0), host("b", c.slots, 0, 1)}, PPN: c.ppn})
		require.NoError(t, err, c.rule)
		require.Equal(t, c.want, runs, c.rule)
	}
}

// dealt returns the naive oracle: it deals out rank after rank. nil says that there
// is no place for one.
func dealt(rule string, in *Input, n int) []int {
	counts := make([]int, len(in.Hosts))
	held := func(i int) int { return in.Hosts[i].Used + counts[i] }
	slotted := slices.ContainsFunc(in.Hosts, func(h Host) bool { return h.Slots > 0 })
	next := 0 // of those dealt in turn
	for range n {
		to := -1
		for i, h := range in.Hosts {
			has := map[string]bool{
				Slots: held(i) < max(1, h.Slots),
				PPN:   counts[i] < in.PPN,
				Free:  held(i) < h.Slots,
			}[rule]
			if has {
				to = i
				break
			}
		}
		switch {
		case to >= 0:
		case rule == Free && (in.Oversubscribe || !slotted):
			to = 0
			for i := range counts {
				if held(i) < held(to) {
					to = i
				}
			}
		case rule == Even || rule != Free && in.Oversubscribe:
			to = next % len(counts)
			next++
		default:
			return nil
		}
		counts[to]++
		if h := in.Hosts[to]; h.Slots > 0 && held(to) > h.Slots && !in.Oversubscribe {
			return nil
		}
	}
	return counts
}

// Every rule agrees with its oracle: each rank has one host, no host more than it
// may hold, and the same input gives the same blocks.
func TestRulesAgainstOracle(t *testing.T) {
	names := []string{Even, Slots, PPN, Free}
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.SampledFrom(names).Draw(t, "rule")
		in := &Input{PPN: rapid.IntRange(1, 4).Draw(t, "ppn"), Oversubscribe: rapid.Bool().Draw(t, "oversubscribe")}
		slotted := rapid.Bool().Draw(t, "slotted")
		for i := range rapid.IntRange(1, 8).Draw(t, "hosts") {
			h := host(fmt.Sprintf("n%d", i), 0, 0, job.HostIndex(100-i))
			if slotted {
				h.Slots = rapid.IntRange(1, 5).Draw(t, "slots")
			}
			if rule == Free {
				h.Used = rapid.IntRange(0, 6).Draw(t, "used")
			}
			in.Hosts = append(in.Hosts, h)
		}
		in.Apps = rapid.SliceOfN(rapid.IntRange(0, 9), 1, 4).Draw(t, "apps")
		before := Input{Hosts: slices.Clone(in.Hosts), Apps: slices.Clone(in.Apps), PPN: in.PPN, Oversubscribe: in.Oversubscribe}
		n := in.ranks(0)
		want := dealt(rule, in, n)
		blocks, err := Place(byNumber[rule], in)
		require.Equal(t, before, *in, "the input is left alone")
		if want == nil {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		again, err := Place(byNumber[rule], in)
		require.NoError(t, err)
		require.Equal(t, blocks, again)

		counts, apps, next := make([]int, len(in.Hosts)), make([]int, len(in.Apps)), 0
		for i, b := range blocks {
			require.EqualValues(t, next, b.First, "every rank once, in order")
			require.Positive(t, b.Count)
			require.False(t, i > 0 && blocks[i-1].Host == b.Host && blocks[i-1].App == b.App, "blocks are as long as can be")
			next += b.Count
			counts[100-b.Host] += b.Count
			apps[b.App] += b.Count
		}
		require.Equal(t, n, next)
		require.Equal(t, want, counts)
		require.Equal(t, in.Apps, apps)
		require.True(t, slices.IsSortedFunc(blocks, func(x, y job.Block) int { return int(y.Host - x.Host) }), "these rules keep the order of hosts")
	})
}

// Any list of a host for each rank comes back from the blocks.
func TestFoldAgainstList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := &Input{}
		for i := range rapid.IntRange(1, 5).Draw(t, "hosts") {
			in.Hosts = append(in.Hosts, host("n", 0, 0, job.HostIndex(i)))
		}
		list := rapid.SliceOfN(rapid.IntRange(0, len(in.Hosts)-1), 1, 30).Draw(t, "host of each rank")
		cut := rapid.IntRange(0, len(list)).Draw(t, "first app")
		in.Apps = []int{cut, len(list) - cut}
		blocks, err := Place(fixed(Fold(list)), in)
		require.NoError(t, err)
		var got []int
		for _, b := range blocks {
			require.EqualValues(t, len(got), b.First)
			require.Equal(t, len(got) >= cut, b.App == 1)
			got = append(got, slices.Repeat([]int{int(b.Host)}, b.Count)...)
		}
		require.Equal(t, list, got)
	})
}

// The error has the numbers, for users that ask for fewer then.
func TestShort(t *testing.T) {
	in := &Input{Hosts: []Host{host("a", 2, 3, 0), host("b", 3, 1, 1)}, Apps: []int{4}}
	_, err := Place(freeRule{}, in)
	var short *ShortError
	require.True(t, errors.As(err, &short))
	require.Equal(t, &ShortError{Ranks: 4, Free: 2, Hosts: 2}, short)
	require.EqualError(t, err, "not enough free slots: 4 ranks, 2 free slots on 2 hosts; give more slots (host:N) or hosts, or --oversubscribe")
}

// The oracle puts one process after the other on the least loaded host.
func TestFewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		load := rapid.SliceOfN(rapid.IntRange(0, 9), 1, 8).Draw(t, "load")
		n := rapid.IntRange(0, 60).Draw(t, "n")
		want, now := make([]int, len(load)), slices.Clone(load)
		for range n {
			i := slices.Index(now, slices.Min(now))
			want[i]++
			now[i]++
		}
		require.Equal(t, want, fewest(n, load))
	})
}

// Each host takes so many ranks in turn, as long as it has places left.
func TestPlanes(t *testing.T) {
	for _, c := range []struct {
		slots []int
		size  string
		want  []int
	}{
		{[]int{2, 2, 2}, "plane:2", []int{0, 0, 1, 1, 2, 2}},
		{[]int{4, 1, 1}, "plane:2", []int{0, 0, 1, 2, 0, 0}},
		{[]int{4, 1, 1}, "plane:3", []int{0, 0, 0, 1, 2, 0}},
		{[]int{2, 3}, "plane:1", []int{0, 1, 0, 1, 1}},
		{[]int{2, 3}, "plane:9", []int{0, 0, 1, 1, 1}},
	} {
		in := &Input{}
		for i, n := range c.slots {
			in.Hosts = append(in.Hosts, Host{Host: job.Host{Name: fmt.Sprint(i), Slots: n}, Index: job.HostIndex(i)})
		}
		w := Wish{Order: c.size}
		require.NoError(t, w.Check(false))
		p, err := w.Place(in)
		require.NoError(t, err)
		require.Equal(t, c.want, in.expand(p.Blocks), c)
	}
	for _, word := range []string{"plane:", "plane:0", "plane:-1", "plane:x", "plane"} {
		require.False(t, IsOrder(word), word)
	}
}
