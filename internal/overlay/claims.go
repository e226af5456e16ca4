package overlay

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
	"github.com/golaunch/golaunch/tree/record"
)

// Checks of the claims of children, kind by kind, which the table of kinds names. All
// of them are called with o.mu held.

// ready: every host of the child's range lives or is dead.
func (o *Origin) ready(_ tree.Header, r Ready) error {
	if err := noteOnce(&o.isReady); err != nil {
		return err
	}
	return r.tells(o.nodes, o.given, o.called)
}

// grown: so does every host that was to be started for a spawn.
func (o *Origin) grown(_ tree.Header, r Ready) error {
	if o.awaited.Len() == 0 {
		return errors.New("hosts that were not to be started")
	}
	hosts := o.awaited
	o.awaited = nil
	return r.tells(hosts, hosts, o.called)
}

// tells checks that r is about each node once, and about nothing that was not
// given. A relay that is dead takes all below it along.
func (r *Ready) tells(nodes, given tree.Hosts, called func(job.HostIndex) string) error {
	told, relays := make([]job.HostIndex, 0, len(r.Live)+len(r.Dead)), 0
	for _, n := range r.Live {
		if n.Room == nil {
			n.Room = &Room{}
		}
		if err := cmp.Or(long(maxWord, n.HostName, n.Addr), line(maxCause/2, n.Room.Has, n.Room.None), n.Shared.check()); err != nil {
			return err
		}
		switch {
		case !nodes.Has(n.Index):
			return fmt.Errorf("%s, which is not below it, is up", called(n.Index))
		case n.Cores < 0:
			return fmt.Errorf("%s has %d cores", called(n.Index), n.Cores)
		case n.Room.Ranks < 0:
			return fmt.Errorf("%s has room for %d ranks", called(n.Index), n.Room.Ranks)
		}
		told = append(told, n.Index)
	}
	for _, d := range r.Dead {
		if err := d.long(); err != nil {
			return err
		}
		switch {
		case !given.Has(d.Index):
			return fmt.Errorf("%s, which is not below it, is dead", called(d.Index))
		case !nodes.Has(d.Index):
			relays++
		}
		told = append(told, d.Index)
	}
	if h, again := twice(told); again {
		return fmt.Errorf("%s is told of twice", called(h))
	}
	if relays == 0 && len(told) != nodes.Len() {
		return fmt.Errorf("%d of %d hosts are told of", len(told), nodes.Len())
	}
	return nil
}

// twice finds a host that is in a list more than once. It sorts the list.
func twice(list []job.HostIndex) (h job.HostIndex, again bool) {
	slices.Sort(list)
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return list[i], true
		}
	}
	return 0, false
}

func (o *Origin) died(_ tree.Header, d Died) error {
	told := make([]job.HostIndex, len(d.Dead))
	for i, x := range d.Dead {
		if err := o.host(x.Index); err != nil {
			return err
		}
		if err := x.long(); err != nil {
			return err
		}
		told[i] = x.Index
	}
	if h, again := twice(told); again {
		return fmt.Errorf("%s has died twice", o.called(h))
	}
	return nil
}

func (c *claims) started(h tree.Header, s Started) error {
	w, err := c.share(int(h.World))
	if err == nil {
		err = noteOnce(&w.started)
	}
	if err != nil {
		return err
	}
	left := w.ranks - s.Ranks
	if s.Ranks < 0 || left < 0 {
		return fmt.Errorf("%d ranks of %d run", s.Ranks, w.ranks)
	}
	if h.World == 0 && len(s.Failures) > 0 {
		return errors.New("failures of the first world are told as such")
	}
	blocks, _, err := c.places.find(int(h.World))
	if err != nil {
		return err
	}
	for _, f := range s.Failures {
		if err := c.child.host(f.Host); err != nil {
			return err
		}
		if err := long(maxCause, f.Text); err != nil {
			return err
		}
		if f.Code < 1 || f.Code > job.MaxCode {
			return fmt.Errorf("exit code %d does not exist", f.Code)
		}
		if f.Count < 1 || f.Count > left || !allOn(blocks, f.First, f.Count, func(h job.HostIndex) bool { return h == f.Host }) {
			return fmt.Errorf("ranks %d+%d are not on %s", f.First, f.Count, c.child.called(f.Host))
		}
		left -= f.Count
	}
	return c.bound(h, s.Bound)
}

// allOn reports whether count ranks from first on exist, and are on hosts that are
// wanted. No sum of numbers that a child says is made before it is known to be a
// rank.
func allOn(blocks []job.Block, first job.Rank, count int, wanted func(job.HostIndex) bool) bool {
	for count > 0 {
		b := job.BlockOf(blocks, first)
		if b == nil || !wanted(b.Host) {
			return false
		}
		here := b.Count - int(first-b.First)
		first += job.Rank(here)
		count -= here
	}
	return true
}

func (c *claims) done(h tree.Header, d Done) error {
	w, err := c.share(int(h.World))
	if err == nil {
		err = noteOnce(&w.done)
	}
	if err != nil {
		return err
	}
	left := w.ranks
	for _, n := range []int{d.Ranks, d.Failed, d.Ended} {
		if n < 0 || n > left {
			return fmt.Errorf("%d, %d and %d ranks of %d have ended", d.Ranks, d.Failed, d.Ended, w.ranks)
		}
		left -= n
	}
	if d.Cut < 0 || d.Never < 0 || d.Cut > d.Ended || d.Never > d.Ended-d.Cut {
		return fmt.Errorf("%d ranks were killed late and %d never ran, of %d that were told to end", d.Cut, d.Never, d.Ended)
	}
	return nil
}

func (o *Origin) note(_ tree.Header, n Note) error {
	if n.Level < NoteAlways {
		return fmt.Errorf("level %d", n.Level)
	}
	if err := long(maxText, n.Text); err != nil {
		return err
	}
	return o.host(n.Host)
}

func (o *Origin) demand(_ tree.Header, d Demand) error { return o.host(d.Host) }

// sign: both the asking host and the other were given to the child. The launcher judges
// the rest.
func (o *Origin) sign(_ tree.Header, s SignRequest) error {
	if err := o.host(s.By); err != nil {
		return err
	}
	if err := o.host(s.Request.Host); err != nil {
		return err
	}
	s.ID = math.MaxUint64 // each link has its own
	if body := Encode(s); len(body) > small.base {
		return fmt.Errorf("a request of %d bytes", len(body))
	}
	return nil
}

// summon: the asking host, and the one it asks for, were given to the child.
func (o *Origin) summon(_ tree.Header, s Summon) error {
	if err := cmp.Or(o.host(s.By), o.host(s.Host)); err != nil {
		return err
	}
	if _, err := netip.ParseAddrPort(s.Addr); err != nil {
		return fmt.Errorf("no address to call: %w", err)
	}
	return nil
}

// address: the asking host, and the one it asks for, were given to the child.
func (o *Origin) address(_ tree.Header, q AddrRequest) error {
	return cmp.Or(o.host(q.By), o.host(q.Host))
}

func (o *Origin) inputAck(_ tree.Header, k InputAck) error {
	if k.Bytes < 0 || k.Read < 0 {
		return fmt.Errorf("%d bytes were taken, %d were read", k.Bytes, k.Read)
	}
	return nil
}

func (c *claims) name(_ tree.Header, q NameRequest) error {
	if q.Op != pmi.Publish && q.Op != pmi.Unpublish && q.Op != pmi.Lookup {
		return fmt.Errorf("%v is nothing to do with a name", q.Op)
	}
	if err := long(pmi.MaxLine, string(q.Service), string(q.Port)); err != nil {
		return err
	}
	return c.rank(q.World, q.Rank, q.Host)
}

func (c *claims) spawn(_ tree.Header, q SpawnRequest) error { return c.rank(q.World, q.Rank, q.Host) }

func (c *claims) schedule(_ tree.Header, q ScheduleRequest) error {
	switch s := q.Schedule; {
	case len(s.Algorithm) > record.MaxAlgorithm:
		return fmt.Errorf("an algorithm's name of %d bytes", len(s.Algorithm))
	case s.Bytes < 0 || s.Bytes > record.MaxScheduleBytes:
		return fmt.Errorf("a schedule of %d bytes", s.Bytes)
	}
	return c.rank(q.Schedule.World, q.Rank, q.Host)
}

func (o *Origin) progress(h tree.Header, p Progress) error {
	ranks := o.ranksOf(h.Job)
	if err := line(maxWord, string(p.Step)); err != nil {
		return err
	}
	switch {
	case p.Nodes < 0 || p.Nodes > o.nodes.Len():
		return fmt.Errorf("%d of %d nodes are up", p.Nodes, o.nodes.Len())
	case p.Ranks < 0 || p.Ranks > ranks:
		return fmt.Errorf("%d of %d ranks run", p.Ranks, ranks)
	case p.Age < 0:
		return fmt.Errorf("a host is waited for since %v", p.Age)
	case p.Host == job.NoHost:
		return nil
	}
	return o.host(p.Host)
}

// aboutWorld: the bulletin board and the tree's service are a world's, of which the
// child has ranks. The receiver drops messages about one that is over.
func (c *claims) aboutWorld(h tree.Header, _ []byte) error {
	if _, over, err := c.places.find(int(h.World)); err != nil || over {
		return err
	}
	_, err := c.share(int(h.World))
	return err
}

// output: records of ranks below it, of worlds whose output has not ended.
func (c *claims) output(_ tree.Header, records []byte) error {
	var fault error
	err := Chunks(records, func(x Chunk) {
		if fault == nil {
			fault = c.outputOf(x.Rank, x.Stream)
		}
	})
	if err != nil {
		return err
	}
	return fault
}

func (c *claims) outputOf(r job.RankID, s stdio.Stream) error {
	w, err := c.share(r.World)
	switch {
	case err != nil:
		return err
	case w.drained:
		return fmt.Errorf("output of world %d, which has ended", r.World)
	case s != stdio.Stdout && s != stdio.Stderr:
		return fmt.Errorf("output of rank %v on stream %d", r, s)
	}
	if err := c.checkBelow(r); err != nil {
		return fmt.Errorf("output of %w", err)
	}
	return nil
}

// checkBelow checks that a rank is on one of the child's hosts.
func (c *claims) checkBelow(r job.RankID) error {
	blocks, _, err := c.places.find(r.World)
	if err != nil {
		return err
	}
	if b := job.BlockOf(blocks, r.Rank); b == nil || !c.child.given.Has(b.Host) {
		return fmt.Errorf("rank %v, which is not below it", r)
	}
	return nil
}

func (c *claims) drained(h tree.Header, _ []byte) error {
	w, err := c.share(int(h.World))
	if err != nil {
		return err
	}
	return noteOnce(&w.drained)
}
