package servepmix

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// Root is what the root agent does for the helpers of all nodes: it knows all worlds.
type Root struct {
	above    Above
	meetings meetings
	names    names
	gone     map[string]map[uint32]bool        // ranks that have ended, by namespace
	told     map[string]map[job.HostIndex]bool // who was told of a world of others
	context  uint64                            // last of a group
}

// Above is what the root agent does for its Root.
type Above interface {
	// World finds a world that is not over; nil if there is none.
	World(namespace string) *overlay.World
	// Taken tells whether PMI has published a service of a name.
	Taken(name string) bool
	// Answer sends an answer, which comes later.
	Answer(a overlay.PMIxAnswer)
	// After is as in Agent.
	After(d time.Duration, f func())
}

// NewRoot makes the root's part.
func NewRoot(a Above) *Root {
	r := &Root{above: a, gone: map[string]map[uint32]bool{}, told: map[string]map[job.HostIndex]bool{}}
	r.meetings.byKey = map[string][]*meeting{}
	r.names.entries = map[scoped]*published{}
	return r
}

// Called takes a call of a node, which its link has vouched for. An error says that the
// node broke the protocol.
func (r *Root) Called(c overlay.PMIxCall) error {
	f, err := c.Parse()
	if err != nil {
		return err
	}
	who := caller{host: c.Host, number: c.Number, count: c.Count}
	switch b := f.Body.(type) {
	case pmix.Fence:
		who.blob = b.Blob
		return r.meet("fence", b.Procs, b.Timeout, who)
	case pmix.Connect:
		return r.meet("connect", b.Procs, b.Timeout, who)
	case pmix.Disconnect:
		return r.meet("disconnect", b.Procs, b.Timeout, who)
	case pmix.Group:
		who.blob, who.assign = b.Blob, b.Assign
		return r.meet(fmt.Sprintf("group %d %q", b.Op, b.ID), b.Procs, b.Timeout, who)
	case pmix.Publish:
		return r.ofRank(who, f.Kind, b.Proc, func() { r.publish(who, b) })
	case pmix.Lookup:
		return r.ofRank(who, f.Kind, b.Proc, func() { r.lookup(who, b) })
	case pmix.Unpublish:
		return r.ofRank(who, f.Kind, b.Proc, func() { r.answer(who, pmix.Done{Status: r.names.unpublish(who.host, b)}) })
	case pmix.Event:
		return r.ofRank(who, f.Kind, b.Source, func() {
			r.above.Answer(overlay.PMIxAnswer{By: c.Host, Frame: pmix.Append(nil, 0, pmix.Notify{Event: b})})
		})
	case pmix.Gone:
		return r.ofRank(who, f.Kind, b.Proc, func() { r.ended(b.Proc, c.Count > 0) })
	}
	return fmt.Errorf("a call of kind %d", f.Kind)
}

// answer answers a call.
func (r *Root) answer(c caller, body any) {
	r.above.Answer(overlay.PMIxAnswer{To: []overlay.PMIxCaller{c.answered()}, Frame: pmix.Append(nil, 0, body)})
}

// ofRank carries out what a rank of the caller's host wants, a request of some kind. A
// world that is over has none.
func (r *Root) ofRank(c caller, kind pmix.Kind, p pmix.Proc, do func()) error {
	w := r.above.World(p.Namespace)
	if w == nil {
		if c.number > 0 {
			r.answer(c, failed(kind, pmix.NotFound))
		}
		return nil
	}
	if b := job.BlockOf(w.Blocks, job.Rank(p.Rank)); b == nil || b.Host != c.host {
		return fmt.Errorf("it calls for rank %d of %s, which is elsewhere", p.Rank, p.Namespace)
	}
	do()
	return nil
}

// meet has a node take part in what processes of several do together.
func (r *Root) meet(what string, procs []pmix.Proc, timeout uint32, c caller) error {
	procs = folded(distinct(procs), func(namespace string) int {
		if w := r.above.World(namespace); w != nil {
			return w.Size
		}
		return 0
	})
	m := r.meetings.of(what, procs, c.host)
	if m == nil {
		m = &meeting{what: what, procs: procs, share: map[job.HostIndex]int{}, have: map[job.HostIndex]int{}}
		status := r.open(m)
		if status == pmix.Success && r.meetings.number >= mostMeetings {
			status = pmix.OutOfResource
		}
		if status != pmix.Success {
			r.refuse(m, c, status)
			return nil
		}
		r.meetings.add(m)
	}
	if c.count < 1 || c.count > m.share[c.host]-m.have[c.host] {
		r.refuse(m, c, pmix.BadParameter)
		if len(m.callers) == 0 && m.failed == pmix.Success { // nobody is in
			r.meetings.remove(m)
		}
		return nil
	}
	if m.failed == pmix.Success && !r.meetings.enter(m, c) {
		r.fail(m, pmix.OutOfResource)
	}
	m.have[c.host] += c.count
	m.need -= c.count
	switch {
	case m.failed != pmix.Success:
		r.refuse(m, c, m.failed)
	case timeout > 0:
		r.above.After(time.Duration(timeout)*time.Second, func() { r.fail(m, pmix.Timeout) })
	}
	if m.need == 0 {
		r.meetings.remove(m)
		if m.failed == pmix.Success {
			r.complete(m)
		}
	}
	return nil
}

// open finds out who is to take part.
func (r *Root) open(m *meeting) pmix.Status {
	for _, p := range m.procs {
		w := r.above.World(p.Namespace)
		switch {
		case w == nil:
			return pmix.NotFound
		case p.Rank == pmix.Wildcard:
			if len(r.gone[p.Namespace]) > 0 {
				return pmix.ProcTerminated
			}
			for _, b := range w.Blocks {
				m.share[b.Host] += b.Count
			}
			m.need += w.Size
			continue
		case r.gone[p.Namespace][p.Rank]:
			return pmix.ProcTerminated
		}
		b := job.BlockOf(w.Blocks, job.Rank(p.Rank))
		if b == nil {
			return pmix.BadParameter
		}
		m.share[b.Host]++
		m.need++
	}
	return pmix.Success
}

// fail ends one for those that are in, and those that come later.
func (r *Root) fail(m *meeting, status pmix.Status) {
	if m.failed != pmix.Success || m.need == 0 {
		return
	}
	m.failed = status
	r.meetings.release(m)
	for _, c := range m.callers {
		r.refuse(m, c, status)
	}
	m.callers = nil
	r.meetings.keepFailed(m)
}

// refuse answers one who takes part in what fails.
func (r *Root) refuse(m *meeting, c caller, status pmix.Status) {
	switch m.what {
	case "fence":
		r.answer(c, pmix.Data{Status: status})
	case "connect", "disconnect":
		r.answer(c, pmix.Done{Status: status})
	default:
		r.answer(c, pmix.Grouped{Status: status})
	}
}

// complete answers all who take part, each with the worlds that it may not know.
func (r *Root) complete(m *meeting) {
	slices.SortFunc(m.callers, caller.compare)
	var body any
	switch m.what {
	case "fence":
		blob, ok := m.blobs()
		d := pmix.Data{Blob: blob}
		if !ok {
			d.Status = pmix.OutOfResource
		}
		body = d
	case "connect", "disconnect":
		body = pmix.Done{}
	default:
		body = r.grouped(m)
	}
	a := overlay.PMIxAnswer{Frame: pmix.Append(nil, 0, body)}
	for _, c := range m.callers {
		a.To = append(a.To, c.answered())
	}
	if m.what != "disconnect" {
		a.Worlds = r.strangers(m)
	}
	r.above.Answer(a)
}

// grouped is what the members of a group learn.
func (r *Root) grouped(m *meeting) pmix.Grouped {
	var g pmix.Grouped
	size := 0
	for _, c := range m.callers {
		if size += len(c.blob); size > maxBlob {
			return pmix.Grouped{Status: pmix.OutOfResource}
		}
		g.Blobs = append(g.Blobs, c.blob)
		if c.assign && g.Context == 0 {
			r.context++
			g.Context = r.context
		}
	}
	for _, p := range m.procs {
		w := r.above.World(p.Namespace)
		switch {
		case w == nil:
			return pmix.Grouped{Status: pmix.NotFound}
		case p.Rank == pmix.Wildcard:
			for rank := range w.Size {
				g.Members = append(g.Members, pmix.Proc{Namespace: p.Namespace, Rank: uint32(rank)})
			}
		default:
			g.Members = append(g.Members, p)
		}
	}
	return g
}

// strangers are the worlds of a meeting of which not all hosts have ranks. Those that have
// none are told when the world is over.
func (r *Root) strangers(m *meeting) (worlds []overlay.World) {
	for i, p := range m.procs {
		if i > 0 && m.procs[i-1].Namespace == p.Namespace {
			continue
		}
		w := r.above.World(p.Namespace)
		if w == nil {
			continue
		}
		here := map[job.HostIndex]bool{}
		for _, b := range w.Blocks {
			here[b.Host] = true
		}
		some := false
		for _, c := range m.callers {
			if here[c.host] {
				continue
			}
			some = true
			if r.told[p.Namespace] == nil {
				r.told[p.Namespace] = map[job.HostIndex]bool{}
			}
			r.told[p.Namespace][c.host] = true
		}
		if some {
			worlds = append(worlds, outline(w))
		}
	}
	return worlds
}

// outline is what nodes learn of a world of which they have no ranks.
func outline(w *overlay.World) overlay.World {
	o := overlay.World{KVSName: w.KVSName, Size: w.Size, Blocks: w.Blocks, Names: w.Names, Spawner: w.Spawner, SpawnRank: w.SpawnRank}
	for _, a := range w.Apps {
		o.Apps = append(o.Apps, job.App{Argv: a.Argv, N: a.N, Dir: a.Dir})
	}
	return o
}

// ended has nobody wait for a process any more. Whoever wants is told where it has
// failed.
func (r *Root) ended(p pmix.Proc, failed bool) {
	if r.gone[p.Namespace] == nil {
		r.gone[p.Namespace] = map[uint32]bool{}
	}
	r.gone[p.Namespace][p.Rank] = true
	for _, m := range r.meetings.with(p) {
		r.fail(m, pmix.ProcTerminated)
	}
	r.dropLookups(r.names.ended(p))
	if failed {
		e := pmix.Event{Status: pmix.ProcTerminated, Source: p, Range: pmix.RangeSession, Affected: []pmix.Proc{p}}
		r.above.Answer(overlay.PMIxAnswer{By: job.NoHost, Frame: pmix.Append(nil, 0, pmix.Notify{Event: e})})
	}
}

// Forget has nobody wait for a world any more, and those forget it who were told of it.
func (r *Root) Forget(namespace string) {
	for _, m := range r.meetings.with(pmix.Proc{Namespace: namespace, Rank: pmix.Wildcard}) {
		r.fail(m, pmix.ProcTerminated)
		r.meetings.remove(m)
	}
	r.dropLookups(r.names.over(namespace))
	if told := r.told[namespace]; len(told) > 0 {
		a := overlay.PMIxAnswer{Frame: pmix.Append(nil, 0, pmix.Forget{Namespace: namespace})}
		for _, host := range slices.Sorted(maps.Keys(told)) {
			a.To = append(a.To, overlay.PMIxCaller{Host: host})
		}
		r.above.Answer(a)
	}
	delete(r.told, namespace)
	delete(r.gone, namespace)
}
