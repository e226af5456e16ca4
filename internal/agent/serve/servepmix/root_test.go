package servepmix

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// root is a Root whose answers are kept, by host.
type root struct {
	*Root
	worlds  map[string]*overlay.World
	taken   map[string]bool
	answers map[job.HostIndex][]overlay.PMIxAnswer
	timers  []func()
}

func newRoot() *root {
	r := &root{worlds: map[string]*overlay.World{}, taken: map[string]bool{}, answers: map[job.HostIndex][]overlay.PMIxAnswer{}}
	r.Root = NewRoot(r)
	return r
}

func (r *root) World(namespace string) *overlay.World { return r.worlds[namespace] }

func (r *root) Taken(name string) bool { return r.taken[name] }
func (r *root) Answer(a overlay.PMIxAnswer) {
	for _, c := range a.To {
		b := a
		b.To = []overlay.PMIxCaller{c}
		r.answers[c.Host] = append(r.answers[c.Host], b)
	}
	if len(a.To) == 0 {
		r.answers[job.NoHost] = append(r.answers[job.NoHost], a)
	}
}
func (r *root) After(_ time.Duration, f func()) { r.timers = append(r.timers, f) }

// world adds one with so many ranks on each host.
func (r *root) world(name string, perHost ...int) *root {
	w := &overlay.World{KVSName: name, Apps: []job.App{{Argv: []string{name}, Env: []string{"SECRET=1"}}}}
	for h, n := range perHost {
		if n > 0 {
			w.Blocks = append(w.Blocks, job.Block{Host: job.HostIndex(h), First: job.Rank(w.Size), Count: n})
			w.Size += n
			w.Names += fmt.Sprintf(",n%d", h)
		}
	}
	w.Names = w.Names[1:]
	r.worlds[name] = w
	return r
}

// call has a host make a call.
func (r *root) call(t require.TestingT, host job.HostIndex, number uint32, count int, body any) {
	require.NoError(t, r.Called(overlay.PMIxCall{Host: host, Number: number, Count: count, Frame: pmix.Append(nil, 9, body)}))
}

// heard is what a host was answered, and forgets it.
func (r *root) heard(t require.TestingT, host job.HostIndex) (all []any) {
	for _, a := range r.answers[host] {
		f, _, err := pmix.Next(a.Frame)
		require.NoError(t, err)
		all = append(all, f.Body)
	}
	delete(r.answers, host)
	return all
}

func proc(namespace string, rank uint32) pmix.Proc {
	return pmix.Proc{Namespace: namespace, Rank: rank}
}

// What processes of several nodes do together ends when all are in: against what each
// set of processes would see by itself.
func TestMeetingsOfAnyProcesses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const hosts = 4
		r := newRoot()
		where := map[pmix.Proc]job.HostIndex{}
		var all []pmix.Proc
		for _, name := range []string{"a", "bb"} {
			counts := make([]int, hosts)
			for h := range counts {
				counts[h] = rapid.IntRange(0, 3).Draw(t, "ranks")
			}
			counts[0]++
			r.world(name, counts...)
			for _, b := range r.worlds[name].Blocks {
				for i := range b.Count {
					p := proc(name, uint32(int(b.First)+i))
					where[p] = b.Host
					all = append(all, p)
				}
			}
		}
		// Some sets, which each of their hosts enters so many times.
		type set struct {
			procs []pmix.Proc
			count map[job.HostIndex]int
			done  map[job.HostIndex]int
		}
		var sets []*set
		seen := map[string]bool{}
		for range rapid.IntRange(1, 4).Draw(t, "sets") {
			s := &set{count: map[job.HostIndex]int{}, done: map[job.HostIndex]int{}}
			s.procs = rapid.SliceOfN(rapid.SampledFrom(all), 1, 6).Draw(t, "procs")
			if rapid.Bool().Draw(t, "wildcard") {
				s.procs = append(s.procs, proc("bb", pmix.Wildcard))
			}
			for _, p := range all {
				if slices.Contains(s.procs, p) || slices.Contains(s.procs, proc(p.Namespace, pmix.Wildcard)) {
					s.count[where[p]]++
				}
			}
			size := func(namespace string) int { return r.worlds[namespace].Size }
			if k := key("", folded(distinct(s.procs), size)); !seen[k] {
				seen[k] = true
				sets = append(sets, s)
			}
		}
		number := uint32(0)
		waits := map[uint32]string{} // what a call waits for
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			i := rapid.IntRange(0, len(sets)-1).Draw(t, "set")
			s := sets[i]
			h := job.HostIndex(rapid.IntRange(0, hosts-1).Draw(t, "host"))
			least := 1 << 30
			for x := range s.count {
				least = min(least, s.done[x])
			}
			if s.count[h] == 0 || s.done[h] > least { // none of it, or it waits
				continue
			}
			number++
			waits[number] = fmt.Sprintf("%d %d", i, s.done[h])
			s.done[h]++
			r.call(t, h, number, s.count[h], pmix.Fence{Procs: rapid.Permutation(s.procs).Draw(t, "order"), Blob: fmt.Appendf(nil, "[%d %d %d]", i, s.done[h]-1, h)})
			complete := true
			want := ""
			for x := range job.HostIndex(hosts) {
				if s.count[x] > 0 {
					complete = complete && s.done[x] == s.done[h]
					want += fmt.Sprintf("[%d %d %d]", i, s.done[h]-1, x)
				}
			}
			for x := range job.HostIndex(hosts) {
				answers := r.answers[x]
				if !complete || s.count[x] == 0 {
					require.Empty(t, answers)
					continue
				}
				require.Len(t, answers, 1)
				require.Equal(t, fmt.Sprintf("%d %d", i, s.done[h]-1), waits[answers[0].To[0].Number])
				require.Equal(t, []any{pmix.Data{Blob: []byte(want)}}, r.heard(t, x))
			}
		}
	})
}

// A connect tells each node of the worlds that it has nothing of, and no secrets of
// theirs; these are forgotten when they are over.
func TestConnectsTellOfWorlds(t *testing.T) {
	r := newRoot().world("a", 2, 0, 1).world("bb", 0, 1, 1)
	procs := []pmix.Proc{proc("a", pmix.Wildcard), proc("bb", pmix.Wildcard)}
	r.call(t, 0, 1, 2, pmix.Connect{Procs: procs})
	r.call(t, 1, 1, 1, pmix.Connect{Procs: procs})
	require.Empty(t, r.answers)
	r.call(t, 2, 1, 2, pmix.Connect{Procs: procs})
	require.Len(t, r.answers[0][0].Worlds, 2)
	require.Equal(t, "bb", r.answers[0][0].Worlds[1].KVSName)
	require.Empty(t, r.answers[0][0].Worlds[1].Apps[0].Env)
	for h := range job.HostIndex(3) {
		require.Equal(t, []any{pmix.Done{}}, r.heard(t, h))
	}
	r.Forget("bb")
	require.Equal(t, []any{pmix.Forget{Namespace: "bb"}}, r.heard(t, 0))
	require.Empty(t, r.answers)
}

// Groups get numbers of their own, and know all who are in them.
func TestGroups(t *testing.T) {
	r := newRoot().world("a", 1, 2)
	g := pmix.Group{ID: "g", Procs: []pmix.Proc{proc("a", pmix.Wildcard)}, Assign: true}
	for context := range uint64(2) {
		g.Blob = []byte("0")
		r.call(t, 0, 1, 1, g)
		g.Blob = []byte("1")
		r.call(t, 1, 1, 2, g)
		want := pmix.Grouped{Context: context + 1, Members: []pmix.Proc{proc("a", 0), proc("a", 1), proc("a", 2)}, Blobs: [][]byte{[]byte("0"), []byte("1")}}
		require.Equal(t, []any{want}, r.heard(t, 0))
		require.Equal(t, []any{want}, r.heard(t, 1))
	}
	g.Op, g.Assign = pmix.GroupDestruct, false
	r.call(t, 0, 1, 1, g)
	r.call(t, 1, 1, 2, g)
	require.Zero(t, r.heard(t, 0)[0].(pmix.Grouped).Context)
}

// All ranks of a namespace are the same as the namespace, in whatever order they are said.
func TestProcessesThatAreAll(t *testing.T) {
	size := func(namespace string) int { return map[string]int{"a": 2, "b": 3}[namespace] }
	for want, procs := range map[string][]pmix.Proc{
		key("", []pmix.Proc{proc("a", pmix.Wildcard)}):                 {proc("a", 1), proc("a", 0), proc("a", 1)},
		key("", []pmix.Proc{proc("a", pmix.Wildcard), proc("b", 2)}):   {proc("b", 2), proc("a", 1), proc("a", pmix.Wildcard)},
		key("", []pmix.Proc{proc("a", 1), proc("b", pmix.Wildcard)}):   {proc("b", 2), proc("b", 1), proc("a", 1), proc("b", 0)},
		key("", []pmix.Proc{proc("a", 0), proc("c", 0), proc("c", 1)}): {proc("c", 1), proc("c", 0), proc("a", 0)},
		key("", []pmix.Proc{proc("a", 0), proc("a", 7), proc("b", 1)}): {proc("a", 7), proc("a", 0), proc("b", 1)},
		key("", []pmix.Proc{proc("a", 1<<32-1), proc("a", 1)}):         {proc("a", 1), proc("a", 1<<32-1)},
	} {
		require.Equal(t, want, key("", folded(distinct(procs), size)))
	}
}

// Nobody waits for ever: not for a process that has ended, nor a world, nor longer than
// they want; and who comes late hears the same.
func TestMeetingsThatFail(t *testing.T) {
	two := []pmix.Proc{proc("a", 0), proc("a", 1)}
	for name, x := range map[string]struct {
		fail func(t *testing.T, r *root)
		want pmix.Status
		late pmix.Status
	}{
		"a process has ended": {func(t *testing.T, r *root) { r.call(t, 1, 0, 0, pmix.Gone{Proc: proc("a", 1)}) }, pmix.ProcTerminated, pmix.ProcTerminated},
		"its time is over":    {func(_ *testing.T, r *root) { r.timers[0]() }, pmix.Timeout, pmix.Timeout},
		"the world is over": {func(_ *testing.T, r *root) {
			delete(r.worlds, "a")
			r.Forget("a")
		}, pmix.ProcTerminated, pmix.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoot().world("a", 1, 1)
			r.call(t, 0, 1, 1, pmix.Connect{Procs: two, Timeout: 3})
			x.fail(t, r)
			require.Equal(t, []any{pmix.Done{Status: x.want}}, r.heard(t, 0))
			r.call(t, 1, 1, 1, pmix.Connect{Procs: two, Timeout: 3})
			require.Equal(t, []any{pmix.Done{Status: x.late}}, r.heard(t, 1))
			require.Empty(t, r.meetings.byKey)
			require.Empty(t, r.meetings.failed)
		})
	}
	r := newRoot().world("a", 1, 1)
	r.call(t, 0, 1, 3, pmix.Fence{Procs: two})
	require.Equal(t, []any{pmix.Data{Status: pmix.BadParameter}}, r.heard(t, 0), "it has one process there")
	r.call(t, 0, 1, 1, pmix.Fence{Procs: []pmix.Proc{proc("a", 9)}})
	require.Equal(t, []any{pmix.Data{Status: pmix.BadParameter}}, r.heard(t, 0))
	for range 2 * mostFailed { // one side gives up again and again
		r.call(t, 0, 1, 1, pmix.Fence{Procs: two, Timeout: 1})
		r.timers[len(r.timers)-1]()
	}
	require.Len(t, r.meetings.failed, mostFailed)
}

// However many meetings nodes begin, and however much they give, the root holds so much of
// them, and has room again when they are over.
func TestMeetingsAreBounded(t *testing.T) {
	two := []pmix.Proc{proc("a", 0), proc("a", 1)}
	group := func(i int) pmix.Group { return pmix.Group{ID: fmt.Sprint(i), Procs: two} }
	r := newRoot().world("a", 1, 1)
	for i := range mostMeetings {
		r.call(t, 0, 1, 1, group(i))
	}
	require.Empty(t, r.answers)
	r.call(t, 0, 1, 1, group(-1))
	require.Equal(t, []any{pmix.Grouped{Status: pmix.OutOfResource}}, r.heard(t, 0))
	r.call(t, 1, 1, 1, group(7))
	require.Equal(t, pmix.Success, r.heard(t, 0)[0].(pmix.Grouped).Status)
	r.call(t, 0, 1, 1, group(-1))
	require.Empty(t, r.answers[0])
	r.Forget("a")
	require.Zero(t, r.meetings.number)

	r = newRoot().world("a", 1, 1)
	r.meetings.bytes = mostHeld - 3 // others'
	r.call(t, 0, 1, 1, pmix.Fence{Procs: two, Blob: []byte("12")})
	r.call(t, 1, 1, 1, pmix.Fence{Procs: two, Blob: []byte("34")})
	for host := range job.HostIndex(2) {
		require.Equal(t, []any{pmix.Data{Status: pmix.OutOfResource}}, r.heard(t, host))
	}
	require.Equal(t, mostHeld-3, r.meetings.bytes)
	require.Empty(t, r.meetings.byKey)
	r.call(t, 0, 1, 2, pmix.Fence{Procs: two})
	require.Empty(t, r.meetings.byKey, "nobody is in")
}

// Published values are seen by those for whom they are, and as long as their publisher
// wanted.
func TestPublishedValues(t *testing.T) {
	r := newRoot().world("a", 1, 1).world("bb", 1)
	publish := func(p pmix.Proc, host job.HostIndex, where pmix.Range, long pmix.Persistence, key, value string) pmix.Status {
		r.call(t, host, 1, 0, pmix.Publish{Proc: p, Range: where, Persistence: long, Entries: []pmix.Entry{{Publisher: p, Key: key, Blob: []byte(value)}}})
		return r.heard(t, host)[0].(pmix.Done).Status
	}
	lookup := func(p pmix.Proc, host job.HostIndex, where pmix.Range, keys ...string) string {
		r.call(t, host, 1, 0, pmix.Lookup{Proc: p, Range: where, Wait: -1, Keys: keys})
		f := r.heard(t, host)[0].(pmix.Found)
		text := fmt.Sprint(int(f.Status))
		for _, e := range f.Entries {
			text += fmt.Sprintf(" %s=%s by %s", e.Key, e.Blob, e.Publisher.Namespace)
		}
		return text
	}
	a0, a1, b0 := proc("a", 0), proc("a", 1), proc("bb", 0)
	require.Equal(t, pmix.Success, publish(a0, 0, pmix.RangeSession, pmix.UntilSession, "k", "all"))
	require.Equal(t, pmix.DuplicateKey, publish(b0, 0, pmix.RangeGlobal, pmix.UntilSession, "k", "again"))
	require.True(t, r.Published("k"))
	r.taken["service"] = true
	require.Equal(t, pmix.DuplicateKey, publish(a0, 0, pmix.RangeSession, pmix.UntilSession, "service", ""))
	require.Equal(t, pmix.Success, publish(a0, 0, pmix.RangeNamespace, pmix.UntilProcess, "n", "mine"))
	require.Equal(t, pmix.Success, publish(a0, 0, pmix.RangeLocal, pmix.UntilFirstRead, "l", "near"))

	require.Equal(t, "0 k=all by a", lookup(b0, 0, pmix.RangeSession, "k"))
	require.Equal(t, "-46", lookup(b0, 0, pmix.RangeNamespace, "k"))
	require.Equal(t, "-52 k=all by a", lookup(b0, 0, pmix.RangeSession, "k", "n"))
	require.Equal(t, "0 k=all by a n=mine by a", lookup(a1, 1, pmix.RangeSession, "n", "k"))
	require.Equal(t, "-46", lookup(a1, 1, pmix.RangeSession, "l"))
	require.Equal(t, "0 l=near by a", lookup(b0, 0, pmix.RangeSession, "l"))
	require.Equal(t, "-46", lookup(b0, 0, pmix.RangeSession, "l"), "it was read")

	r.call(t, 0, 0, 0, pmix.Gone{Proc: a0})
	require.Equal(t, "-46", lookup(a1, 1, pmix.RangeSession, "n"))
	require.Equal(t, "0 k=all by a", lookup(a1, 1, pmix.RangeSession, "k"))
	r.call(t, 0, 1, 0, pmix.Unpublish{Proc: b0, Range: pmix.RangeSession, Keys: []string{"k"}})
	require.Equal(t, []any{pmix.Done{Status: pmix.NotFound}}, r.heard(t, 0), "it is another's")
	r.call(t, 0, 1, 0, pmix.Unpublish{Proc: a0})
	require.Equal(t, []any{pmix.Done{}}, r.heard(t, 0))
	require.Zero(t, r.names.bytes)
	require.Empty(t, r.names.entries)
	require.Error(t, r.Called(overlay.PMIxCall{Host: 1, Frame: pmix.Append(nil, 0, pmix.Unpublish{Proc: a0})}), "another host's rank")
}

// A lookup waits for as many keys as it wants, and no longer than it wants.
func TestLookupsWait(t *testing.T) {
	r := newRoot().world("a", 1, 1)
	wait := pmix.Lookup{Proc: proc("a", 1), Range: pmix.RangeSession, Keys: []string{"x", "y"}, Timeout: 600}
	r.call(t, 1, 1, 0, wait)
	wait.Wait = 1
	r.call(t, 1, 2, 0, wait)
	publish := pmix.Publish{Proc: proc("a", 0), Range: pmix.RangeSession, Persistence: pmix.UntilSession, Entries: []pmix.Entry{{Key: "x"}}}
	r.call(t, 0, 1, 0, publish)
	require.EqualValues(t, 2, r.answers[1][0].To[0].Number)
	require.Len(t, r.heard(t, 1)[0].(pmix.Found).Entries, 1)
	publish.Entries[0].Key = "y"
	r.call(t, 0, 1, 0, publish)
	require.EqualValues(t, 1, r.answers[1][0].To[0].Number)
	require.Len(t, r.heard(t, 1)[0].(pmix.Found).Entries, 2)
	wait.Wait, wait.Keys = 0, []string{"x", "x"}
	r.call(t, 1, 2, 0, wait)
	require.Equal(t, pmix.Success, r.heard(t, 1)[0].(pmix.Found).Status, "a key that is said twice")
	wait.Keys = []string{"never"}
	r.call(t, 1, 3, 0, wait)
	for _, f := range r.timers {
		f()
	}
	require.Equal(t, []any{pmix.Found{Status: pmix.Timeout}}, r.heard(t, 1))
	r.call(t, 1, 4, 0, wait)
	r.call(t, 1, 0, 0, pmix.Gone{Proc: wait.Proc})
	require.Equal(t, []any{pmix.Found{Status: pmix.ProcTerminated}}, r.heard(t, 1))
	require.Empty(t, r.names.waiting)
	delete(r.worlds, "a")
	r.call(t, 1, 5, 0, wait)
	require.Equal(t, []any{pmix.Found{Status: pmix.NotFound}}, r.heard(t, 1))
}

// The death of a process is told to all nodes, and so is what processes tell.
func TestEvents(t *testing.T) {
	r := newRoot().world("a", 1, 1)
	r.call(t, 1, 0, 1, pmix.Gone{Proc: proc("a", 1)})
	n := r.heard(t, job.NoHost)[0].(pmix.Notify)
	require.Equal(t, pmix.ProcTerminated, n.Status)
	require.Equal(t, []pmix.Proc{proc("a", 1)}, n.Affected)
	e := pmix.Event{Status: -1000, Source: proc("a", 0), Range: pmix.RangeGlobal, Blob: []byte("x")}
	r.call(t, 0, 0, 0, e)
	require.Equal(t, []any{pmix.Notify{Event: e}}, r.heard(t, job.NoHost))
	require.EqualError(t, r.Called(overlay.PMIxCall{Host: 1, Frame: pmix.Append(nil, 0, e)}), "it calls for rank 0 of a, which is elsewhere")
	require.Empty(t, r.answers)
}

func FuzzCalls(f *testing.F) {
	for _, body := range []any{pmix.Fence{Procs: []pmix.Proc{proc("a", 0)}}, pmix.Lookup{Proc: proc("a", 0), Keys: []string{"k"}}, pmix.Gone{Proc: proc("a", 1)},
		pmix.Publish{Proc: proc("a", 0), Entries: []pmix.Entry{{Key: "k"}}}, pmix.Group{ID: "g", Procs: []pmix.Proc{proc("a", pmix.Wildcard)}}, pmix.Done{}} {
		f.Add(int32(0), 1, pmix.Append(nil, 1, body))
	}
	f.Fuzz(func(_ *testing.T, host int32, count int, frame []byte) {
		r := newRoot().world("a", 1, 1)
		_ = r.Called(overlay.PMIxCall{Host: job.HostIndex(host), Number: 1, Count: count, Frame: frame})
		r.Forget("a")
	})
}
