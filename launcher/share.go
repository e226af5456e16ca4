package launcher

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/placement/gpu"
)

// Allocation is a resource manager's, in which other golaunch of the user may run beside
// this one.
type Allocation struct {
	Manager string         // such as Slurm
	ID      string         // of the job of the manager
	Slots   map[string]int // of each host, by its name
}

// key tells allocations apart.
func (a *Allocation) key() string {
	if a == nil {
		return ""
	}
	return a.Manager + " " + a.ID
}

const (
	maxClaims  = 3 // one after the other, before a wait for those that were in the way
	firstPause = 30 * time.Millisecond
	maxPause   = time.Second
)

// sharing is the launcher's part in sharing an allocation: each agent has claimed its
// host's share of the plan. If some has not got it, there is another plan, of free
// slots; if there is none, all is given back and tried again.
type sharing struct {
	job     *run
	base    *Plan // for slots that are all free
	of      map[job.HostIndex]overlay.Shared
	round   uint32
	missed  map[job.HostIndex]bool // without an answer in this round
	claims  int                    // since nobody was waited for
	pause   time.Duration
	unknown []job.HostIndex // told to have slots in use that are not known
	waits   int             // times that too little was free
}

// shareDue is the event of a pause that is over.
type shareDue struct{}

// begin launches the job once it has the slots of its plan for itself.
func (s *sharing) begin() {
	*s = sharing{job: s.job, base: s.job.plan, of: map[job.HostIndex]overlay.Shared{}, pause: firstPause}
	unknown := ""
	var hosts []job.HostIndex
	for _, n := range s.job.tree.Hosts().Live {
		if n.Shared == nil {
			continue
		}
		s.of[n.Index] = *n.Shared
		if n.Shared.Unknown != "" {
			unknown = n.Shared.Unknown
			hosts = append(hosts, n.Index)
		}
	}
	s.tellUnknown(hosts, unknown)
	s.judge()
}

// tellUnknown names hosts whose slots in use by others are not known, each once.
func (s *sharing) tellUnknown(hosts []job.HostIndex, reason string) {
	hosts = slices.DeleteFunc(hosts, func(h job.HostIndex) bool { return slices.Contains(s.unknown, h) })
	if len(hosts) > 0 {
		s.unknown = append(s.unknown, hosts...)
		s.job.report.Note("%s: the slots that other golaunch of the allocation use there are unknown, ranks may share them: %s", hostsText(hosts, s.job.hostName), quoted(reason))
	}
}

// judge goes on by the job's share of each host.
func (s *sharing) judge() {
	if s.job.plan.has(s.of) {
		s.job.launch()
		return
	}
	plan := s.base.among(s.of)
	if plan == nil {
		if s.job.wider = s.job.plan.wider(s.of); s.job.wider != nil {
			s.job.verbose(1, "other golaunch use slots of %s: looking at more hosts", plural(len(s.job.plan.Blocks.hosts()), "host"))
			s.job.decided, s.job.over = true, true
			return
		}
	}
	if plan != nil && s.claims < maxClaims {
		s.claims++
		s.job.plan = plan
		s.claim(plan.shares())
		return
	}
	if plan == nil {
		if s.waits++; s.waits == 2 { // not where somebody else has just tried, or is about to end
			s.job.report.Note("%s", s.text(s.job.plan))
		}
	}
	s.claim(nil)
	s.missed = nil // their answers do not matter
	s.job.tree.PostAfter(s.pause/2+rand.N(s.pause), shareDue{})
	s.pause = min(2*s.pause, maxPause)
}

// text names the slots that the job waits for.
func (s *sharing) text(p *Plan) string {
	need, free, used := 0, 0, 0
	for _, h := range s.base.shares() {
		need += h.Share.Slots
	}
	for h, got := range s.of {
		free += got.Free
		used += p.slotsOf(h) - got.Free
	}
	return fmt.Sprintf("waiting for %d of %s that other golaunch of allocation %s use (--overlap shares them)",
		max(1, need-free), plural(used, "slot"), p.allocation.ID)
}

// claim has the agents claim shares, and give back all others.
func (s *sharing) claim(of []overlay.HostShare) {
	s.round++
	s.missed = map[job.HostIndex]bool{}
	for h := range s.of {
		s.missed[h] = true
	}
	s.job.broadcast(link.Service, overlay.KindClaim, overlay.Encode(overlay.Claim{Round: s.round, Of: of}))
}

// claimed takes the answer to a claim on one host.
func (s *sharing) claimed(c overlay.Claimed) {
	if c.Round != s.round || !s.missed[c.Host] || s.job.decided || s.job.worlds.launched() {
		return
	}
	delete(s.missed, c.Host)
	if c.Shared.Unknown != "" {
		s.tellUnknown([]job.HostIndex{c.Host}, c.Shared.Unknown)
	}
	if s.of[c.Host] = c.Shared; len(s.missed) == 0 {
		s.judge()
	}
}

// retry asks for the slots that are free by now.
func (s *sharing) retry() {
	if !s.job.decided && !s.job.worlds.launched() && !s.job.killed {
		s.claims = 0
		s.claim(nil)
	}
}

// loseHosts has a job that waits for slots go on without hosts that it has lost, where they
// were to hold none of its ranks, or others may take these.
func (s *sharing) loseHosts(dead []overlay.DeadHost) {
	s.job.tree.Without(dead)
	hosts, waits, needed := make([]job.HostIndex, len(dead)), len(s.missed) > 0, false
	for i, d := range dead {
		hosts[i] = d.Index
		needed = needed || s.base.Blocks.on(d.Index)
		delete(s.of, d.Index)
		delete(s.missed, d.Index)
	}
	allowed := !needed || s.job.options.Hosts.AllowDeadNodes || len(s.job.tree.Hosts().Dead) <= s.base.Spares
	plan, err := s.base.Without(hosts)
	if allowed && err != nil {
		s.job.report.Say("%v", err)
	}
	if !allowed || err != nil {
		for _, h := range hosts {
			s.job.holds(h)
		}
		s.job.failed(overlay.Lost(hosts[0], "launch", errors.New(dead[0].Cause), len(dead)-1), time.Now())
		s.job.over = true
		return
	}
	s.job.report.Note("%s lost before the ranks ran: %s: the job goes on", hostsText(hosts, s.job.hostName), quoted(dead[0].Cause))
	s.job.tellWithout(s.base, plan)
	s.job.plan, s.base = plan, plan
	if len(s.missed) == 0 && (waits || len(s.of) == 0) {
		s.judge()
	}
}

// parts returns the share of each slot: CPUs, if ranks do not share these, and GPUs, if
// all have some of their own.
func (o *Options) parts() (s overlay.Share) {
	choice, err := binding.Parse(o.Start.BindTo)
	s.CPUs = err == nil && choice.Binds() && !o.Placement.Oversubscribe && o.Placement.Wish.RankFile == nil
	chosen := slices.ContainsFunc(o.Programs.Apps, func(a job.App) bool { return gpu.Chosen(a.Env) })
	if !chosen && !gpu.Chosen(o.Programs.EnvGiven) {
		s.GPUs = o.Launch.GPUsPerRank
	}
	return s
}

// slotsOf counts the slots that the allocation has on a host, or the user says it has; 0 where
// nobody else counts there.
func (p *Plan) slotsOf(h job.HostIndex) int {
	if p.allocation == nil || int(h) >= len(p.Hosts) {
		return 0
	}
	n := p.allocation.Slots[p.Hosts[h].Name]
	if n > 0 {
		n = max(n, p.Hosts[h].Slots)
	}
	return n
}

// shareOf returns the part of a host that the plan wants for itself; nil where nobody
// else counts there.
func (p *Plan) shareOf(h job.HostIndex, ranks int) *overlay.Share {
	has := p.slotsOf(h)
	if has == 0 {
		return nil
	}
	return &overlay.Share{Has: has, Slots: min(ranks, has), GPUs: p.parts.GPUs, CPUs: p.parts.CPUs}
}

// shares returns the hosts of which the plan wants something for itself.
func (p *Plan) shares() (list []overlay.HostShare) {
	ranks := p.Blocks.perHost(len(p.Hosts))
	for _, h := range p.Blocks.hosts() {
		if s := p.shareOf(h, ranks[h]); s != nil {
			list = append(list, overlay.HostShare{Host: h, Share: *s})
		}
	}
	return list
}

// has reports whether the job has all shares of the plan. A host whose agent keeps no
// account of others, which is not in of, is the job's.
func (p *Plan) has(of map[job.HostIndex]overlay.Shared) bool {
	return !slices.ContainsFunc(p.shares(), func(h overlay.HostShare) bool {
		got, counts := of[h.Host]
		return counts && got.Slots < h.Share.Slots
	})
}

// among returns the plan if the free slots suffice for it, or one that does with them;
// nil if there is none.
func (p *Plan) among(of map[job.HostIndex]overlay.Shared) *Plan {
	if p.fits(of) {
		return p
	}
	row := p.rules.wish
	if p.rules.rule != nil || !row.WithinApps() || p.rules.network.router != nil {
		return nil // each rank has its host
	}
	free := make([]int, len(p.Hosts))
	for i := range p.Hosts {
		free[i] = -1
		if got, counts := of[job.HostIndex(i)]; counts && p.slotsOf(job.HostIndex(i)) > 0 {
			free[i] = min(p.slotsOf(job.HostIndex(i)), got.Free)
		}
	}
	q := *p
	q.Hosts = slices.Clone(p.Hosts)
	q.rules.oversubscribe = false // only free slots are to be had
	some := q.within(free)
	if len(some) == 0 {
		return nil
	}
	var err error
	q.Apps = slices.Clone(p.Apps)
	if q.placed, err = q.rules.placeApps(q.Apps, false, q.Hosts, some, q.rules.place); err != nil {
		return nil
	}
	q.Blocks, q.Hosts, q.rules = q.placed.Blocks, p.Hosts, p.rules
	if err := q.count(); err != nil || !q.fits(of) {
		return nil
	}
	return &q
}

// fits reports whether the free slots suffice for the plan.
func (p *Plan) fits(of map[job.HostIndex]overlay.Shared) bool {
	return !slices.ContainsFunc(p.shares(), func(h overlay.HostShare) bool {
		got, counts := of[h.Host]
		return counts && got.Free < h.Share.Slots
	})
}

// within gives the hosts as many slots as are free, -1 for all, and returns those that may
// hold ranks then: as many as the user said, where that was said.
func (p *Plan) within(free []int) (some []job.HostIndex) {
	for i := range p.Hosts {
		h := job.HostIndex(i)
		least := 1
		if p.rules.ppn > 0 && free[i] >= 0 {
			least = min(p.rules.ppn, p.slotsOf(h))
		}
		switch {
		case p.dead[i], free[i] >= 0 && free[i] < least:
		case free[i] >= 0:
			p.Hosts[i].Slots = free[i]
			some = append(some, h)
		default:
			some = append(some, h)
		}
	}
	if n := p.rankHosts; n > 0 {
		if len(some) < n {
			return nil
		}
		slices.SortStableFunc(some, func(a, b job.HostIndex) int { return p.Hosts[b].Slots - p.Hosts[a].Slots })
		some = some[:n]
		slices.Sort(some)
		slots := make([]int, n)
		for i, h := range some {
			slots[i] = p.Hosts[h].Slots
		}
		placement.SpreadSlots(p.Size, slots)
		for i, h := range some {
			p.Hosts[h].Slots = slots[i]
		}
	} else if !p.rules.slotted && p.rules.ppn == 0 {
		return nil // evenly on all that the user named
	}
	p.rules.slotted = slices.ContainsFunc(some, func(h job.HostIndex) bool { return p.Hosts[h].Slots > 0 })
	return some
}

// wider is a job begun anew with agents on more hosts of its allocation.
type wider struct {
	hosts  []job.Host // of the job, in the order in which they get agents; nil for that of before
	dead   []job.Host // left out
	agents int
}

// wider returns the options to begin the job anew where the free slots of its hosts do not suffice, nil
// where all that could help are its hosts already: with the hosts that it would have if
// nobody used the others, and with twice as many as before. Dead ones are left out.
func (p *Plan) wider(of map[job.HostIndex]overlay.Shared) *wider {
	if len(p.standby()) == 0 || p.rules.rule != nil || !p.rules.wish.WithinApps() {
		return nil
	}
	all := p.with(p.standby())
	w := &wider{}
	for i, h := range p.Hosts {
		if p.dead[i] {
			w.dead = append(w.dead, h)
		}
	}
	w.agents = len(all.Hosts) - len(w.dead)
	if apart(p.Apps) || p.rules.network.router != nil {
		return w
	}
	ifFree := make(map[job.HostIndex]overlay.Shared, len(all.Hosts))
	for i := range all.Hosts {
		h := job.HostIndex(i)
		if got, known := of[h]; known {
			ifFree[h] = got
		} else {
			ifFree[h] = overlay.Shared{Free: all.slotsOf(h)}
		}
	}
	rank := make([]int, len(all.Hosts))
	if q := all.among(ifFree); q != nil {
		used := q.Blocks.hosts()
		for _, h := range used {
			rank[h] = -1
		}
		w.agents = min(w.agents, max(len(used), 2*(len(p.Hosts)-len(w.dead))))
	}
	var order []job.HostIndex
	for i, dead := range all.dead {
		h := job.HostIndex(i)
		if _, known := of[h]; known && rank[i] == 0 {
			rank[i] = 1 // they are in use
		}
		if !dead {
			order = append(order, h)
		}
	}
	slices.SortStableFunc(order, func(a, b job.HostIndex) int { return rank[a] - rank[b] })
	for _, h := range order {
		w.hosts = append(w.hosts, all.Hosts[h])
	}
	return w
}

// widen has the next attempt begin so.
func (s *restarts) widen(w *wider) {
	s.o.attempt.agents = w.agents
	if w.hosts != nil {
		s.o.Hosts.List = w.hosts
	}
	if len(w.dead) > 0 {
		s.leave(w.dead)
	}
	s.o.attempt.deadline = s.deadline
}
