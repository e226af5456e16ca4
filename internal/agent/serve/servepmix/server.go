package servepmix

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/tree"
)

// Server is PMIx of one world on one node.
type Server struct {
	serve.Idle
	w      *serve.World
	local  *Local
	fences *gather
	parts  []*part // of the helpers that the world has here, by member of fences: 0 is -2
	ranks  map[job.Rank]*rank
	opened bool
	parked []func()    // what others ask before that
	asked  int         // of what they ask, parked or not, that is not answered
	quiet  []pmix.Gone // ranks that have ended as they should, of which the root does not know

	// late: local ranks may speak PMIx later, and none has begun to; until then they stand
	// for themselves among the members of fences, as opening.
	late bool

	leavers            []*part // with a rank that has ended as it should, of which not all are told yet
	failed, toldFailed bool    // a fence has, for want of a rank; the user knows for which

	// Over, if not nil, tells which rank has ended, so that no fence completes; "" if none
	// has.
	Over func() string
}

// part is what one helper has of the world.
type part struct {
	helper  *helper
	ranks   []*rank
	living  int
	waiting []waiting // its requests for fences, in order
}

// waiting is a request for a fence.
type waiting struct {
	request uint32
	since   time.Time
}

// rank is a local rank that speaks PMIx.
type rank struct {
	*serve.Rank
	*part
	env       []string
	connected bool
	finalized bool
	heard     time.Time // when the helper has told either of these
	claims    claims
	published bool
	last      int
	asked     map[int]func(pmix.Status, []byte) // who wants what it has put
	abort     *held
	counted   bool // out of the living
}

// opening stands for the local helpers among the members of fences until it is known
// which these are.
const opening = -1

// New makes the server of a world.
func New(w *serve.World, l *Local) *Server {
	s := &Server{w: w, local: l, fences: newGather(w.Root), ranks: map[job.Rank]*rank{}}
	s.fences.up = func(m gathered) { w.Send(serve.Parent, link.KVS, overlay.KindPMIxFence, m.encode()) }
	s.fences.down = func(children []int, m gathered) {
		body := m.encode()
		for _, child := range children {
			w.Send(serve.Neighbor(child), link.KVS, overlay.KindPMIxFence, body)
		}
	}
	s.fences.answer = s.fenced
	if len(w.Ranks) > 0 {
		s.fences.join(opening)
	}
	for child := range w.Children {
		s.fences.join(child)
	}
	l.servers[w.KVSName] = s
	return s
}

// Open registers the world with the helpers of its local ranks.
func (s *Server) Open(ready func(error)) {
	if s.local.helpers != nil {
		for _, r := range s.w.Ranks {
			s.assign(r, s.local.helpers.Library(s.w.ID, r.App))
		}
		s.late = slices.ContainsFunc(s.w.Ranks, s.isLater)
		if s.late && len(s.parts) > 0 { // a world has one MPI
			s.assignLater(s.parts[0].helper.library)
		}
	}
	left := len(s.parts)
	done := func(err error) {
		if left--; left > 0 && err == nil || left < 0 {
			return
		}
		left = 0
		if err == nil {
			s.begin()
		}
		ready(err)
	}
	if left == 0 {
		left = 1
		done(nil)
		return
	}
	for _, p := range slices.Clone(s.parts) {
		s.register(p, done)
	}
}

// Join has the local ranks speak PMIx from now on that may do so later, with a library: one
// of them has begun to. Done is called when Environment has what they find it by.
func (s *Server) Join(library string, done func(error)) {
	switch {
	case s.closed():
		done(errOver)
		return
	case !s.late:
		done(nil)
		return
	}
	s.assignLater(library)
	joined := func(err error) {
		switch {
		case s.closed():
		case err != nil:
			s.fences.leave(opening, pmix.LostConnection)
		default:
			s.fences.leave(opening, pmix.Success)
			for _, r := range s.parts[0].ranks {
				if r.Exited { // before the helper knew of it
					s.Ended(r.Rank)
				}
			}
		}
		done(err)
	}
	if len(s.parts) == 0 {
		joined(errors.New("no rank of this node may speak PMIx"))
		return
	}
	s.register(s.parts[0], joined)
}

func (s *Server) assignLater(library string) {
	s.late = false
	for _, r := range s.w.Ranks {
		if s.isLater(r) {
			s.assign(r, library)
		}
	}
}

// isLater reports whether a rank may speak PMIx later.
func (s *Server) isLater(r *serve.Rank) bool { return s.local.helpers.Later(s.w.ID, r.App) }

// assign gives a rank to the helper of a library; "" for none.
func (s *Server) assign(r *serve.Rank, library string) {
	if library == "" {
		return
	}
	h := s.local.helper(library)
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.helper == h })
	if i < 0 {
		i = len(s.parts)
		s.parts = append(s.parts, &part{helper: h})
		s.fences.join(opening - 1 - i)
	}
	p := s.parts[i]
	x := &rank{Rank: r, part: p, asked: map[int]func(pmix.Status, []byte){}}
	p.ranks = append(p.ranks, x)
	p.living++
	s.ranks[r.Number] = x
}

// register tells a helper of the world, when it is ready.
func (s *Server) register(p *part, done func(error)) {
	p.helper.whenReady(func(err error) {
		switch {
		case s.closed():
			done(errOver)
		case err == errLeft: // with the ranks before: the next one takes its place
			p.helper = s.local.helper(p.helper.library)
			s.register(p, done)
		case err != nil:
			done(err)
		default:
			s.tell(p, done)
		}
	})
}

// tell tells a helper that is ready.
func (s *Server) tell(p *part, done func(error)) {
	world, err := s.describe(p)
	if err != nil {
		done(err)
		return
	}
	p.helper.ask(world, func(f pmix.Frame) {
		r, ok := f.Body.(pmix.Registered)
		switch {
		case s.closed():
			done(errOver)
			return
		case !ok:
			s.register(p, done) // which fails, but for one that has left
			return
		case r.Status != pmix.Success:
			done(fmt.Errorf("the PMIx helper (golaunch-pmix, %s) cannot register the ranks: %s (status %d)", p.helper.library, r.Text, r.Status))
			return
		case len(r.Envs) != len(p.ranks):
			done(fmt.Errorf("the PMIx helper (golaunch-pmix, %s) has %d environments for %d ranks", p.helper.library, len(r.Envs), len(p.ranks)))
			return
		}
		for i, env := range r.Envs {
			p.ranks[i].env = env
		}
		done(nil)
	})
}

// begin goes on with what has waited for the helpers.
func (s *Server) begin() {
	s.opened = true
	if len(s.w.Ranks) > 0 && !s.late {
		if len(s.parts) == 0 && len(s.w.Apps) == 1 {
			s.fences.gone = true // nobody of the world speaks PMIx, and nobody waits for the word
		}
		s.fences.leave(opening, pmix.Success)
	}
	for _, then := range s.parked {
		then()
	}
	s.parked = nil
}

// Env returns the helper's variables for a rank that speaks PMIx from its start.
func (s *Server) Env(r *serve.Rank) []string {
	if r == nil || s.ranks[r.Number] == nil || s.isLater(r) {
		return nil
	}
	return s.ranks[r.Number].env
}

// Environment returns the helper's variables for a rank, whenever it speaks PMIx.
func (s *Server) Environment(r *serve.Rank) []string {
	if x := s.ranks[r.Number]; x != nil {
		return x.env
	}
	return nil
}

// Files are the helpers' sockets.
func (s *Server) Files() (perRank, more int) { return 0, len(s.parts) }

// Kinds are the fences of the world.
func (s *Server) Kinds() []tree.Kind { return []tree.Kind{overlay.KindPMIxFence} }

// Message takes one about a fence.
func (s *Server) Message(m serve.Message) error {
	g, err := parseGathered(m.Body)
	switch {
	case err != nil:
		return err
	case m.Neighbor == serve.Parent:
		return s.fences.fromParent(g)
	}
	return s.fences.fromChild(int(m.Neighbor), g)
}

// Lost has the fences fail in which the child's ranks would be.
func (s *Server) Lost(child serve.Neighbor, _ string) {
	s.fences.leave(int(child), pmix.LostConnection)
}

// has tells whether the world has ranks of a helper.
func (s *Server) has(h *helper) bool {
	return slices.ContainsFunc(s.parts, func(p *part) bool { return p.helper == h })
}

// fence enters the fence of all of the world.
func (s *Server) fence(h *helper, request uint32, b pmix.Fence) {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.helper == h })
	p := s.parts[i]
	if len(p.waiting) >= maxRounds { // others would take it for a breach of the protocol
		h.reply(request, pmix.Data{Status: pmix.OutOfResource})
		return
	}
	p.waiting = append(p.waiting, waiting{request, time.Now()})
	number := s.fences.enter(opening-1-i, b.Blob)
	s.local.agent.Waiting()
	if b.Timeout > 0 {
		s.local.agent.After(time.Duration(b.Timeout)*time.Second, func() { s.fences.giveUp(number, pmix.Timeout) })
	}
}

// fenced lets a helper's ranks go.
func (s *Server) fenced(member int, status pmix.Status, blob []byte) {
	p := s.parts[opening-1-member]
	request := p.waiting[0].request
	p.waiting = p.waiting[1:]
	s.noteTold(p.helper, status)
	s.failed = s.failed || status == pmix.ProcTerminated || status == pmix.LostConnection
	p.helper.reply(request, pmix.Data{Status: status, Blob: blob})
}

// put finds what a rank has put.
func (s *Server) put(number job.Rank, then func(pmix.Status, []byte)) {
	if s.asked >= mostModexes {
		then(pmix.OutOfResource, nil)
		return
	}
	s.asked++
	answer := func(status pmix.Status, blob []byte) {
		s.asked--
		then(status, blob)
	}
	if !s.opened {
		s.parked = append(s.parked, func() { s.ask(number, answer) })
		return
	}
	s.ask(number, answer)
}

// ask asks the helper of a rank for what this has put.
func (s *Server) ask(number job.Rank, then func(pmix.Status, []byte)) {
	r := s.ranks[number]
	if r == nil || r.Exited {
		then(pmix.NotFound, nil)
		return
	}
	r.last++
	id := r.last
	r.asked[id] = then
	r.helper.ask(pmix.Ask{Proc: s.proc(number)}, func(f pmix.Frame) {
		told, ok := f.Body.(pmix.Told)
		if !ok {
			told.Status = pmix.LostConnection
		}
		if then := r.asked[id]; then != nil {
			delete(r.asked, id)
			then(told.Status, told.Blob)
		}
	})
}

func (s *Server) proc(r job.Rank) pmix.Proc {
	return pmix.Proc{Namespace: s.w.KVSName, Rank: uint32(r)}
}

// Initialised says whether a rank has connected to its helper.
func (s *Server) Initialised(r *serve.Rank) bool {
	if s == nil { // no rank is here
		return false
	}
	x := s.ranks[r.Number]
	return x != nil && x.connected
}

// Finalised says whether a rank has done with PMIx.
func (s *Server) Finalised(r *serve.Rank) bool {
	if s == nil { // no rank is here
		return false
	}
	x := s.ranks[r.Number]
	return x != nil && x.finalized
}

// InInit says whether a rank has connected, and its world's first fence is not over, which
// is in MPI_Init.
func (s *Server) InInit(r *serve.Rank) bool {
	return s.Initialised(r) && !s.Finalised(r) && s.fences.first == 0
}

// Fenced says whether a fence of the world is over.
func (s *Server) Fenced() bool { return s != nil && s.fences.first > 0 }

// FenceWaits tells whether all local ranks of a helper wait in a fence of the world, and
// its number.
func (s *Server) FenceWaits() (number uint64, some bool) {
	if s == nil {
		return 0, false
	}
	return uint64(s.fences.first), slices.ContainsFunc(s.parts, func(p *part) bool { return len(p.waiting) > 0 })
}

// NotInFence are the local ranks of helpers of which some rank has not entered the fence
// of a number: the helper tells only that all have. Where some have ended or finalized,
// it is these.
func (s *Server) NotInFence(number uint64) (list []*serve.Rank) {
	if s == nil || uint64(s.fences.first) > number {
		return nil
	}
	for i, p := range s.parts {
		if uint64(s.fences.entered[opening-1-i]) > number {
			continue
		}
		var live, gone []*serve.Rank
		for _, r := range p.ranks {
			if r.Exited || r.finalized {
				gone = append(gone, r.Rank)
			} else {
				live = append(live, r.Rank)
			}
		}
		if len(gone) > 0 {
			live = gone
		}
		list = append(list, live...)
	}
	slices.SortFunc(list, func(a, b *serve.Rank) int { return int(a.Number - b.Number) })
	return list
}

// Hear takes what the helpers of ranks have said by now.
func (s *Server) Hear(ranks ...*serve.Rank) {
	heard := map[*helper]bool{}
	for _, r := range ranks {
		if x := s.ranks[r.Number]; x != nil && !heard[x.helper] {
			heard[x.helper] = true
			x.helper.hear()
		}
	}
}

// closed tells whether the world, or the agent, is over.
func (s *Server) closed() bool { return s.local.servers[s.w.KVSName] != s }

// Close has the helpers forget the world.
func (s *Server) Close() {
	if s.closed() {
		return
	}
	delete(s.local.servers, s.w.KVSName)
	for _, p := range s.parts {
		p.helper.say(pmix.Forget{Namespace: s.w.KVSName})
	}
	if len(s.parts) > 0 {
		s.local.helpers.Forget(s.w.KVSName)
	}
}
