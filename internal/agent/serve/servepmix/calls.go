package servepmix

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// call is a request of a helper that the root, or for a Spawn the launcher, is to answer.
type call struct {
	helper  *helper
	request uint32
	kind    pmix.Kind
	procs   []pmix.Proc // whose it is, or who take part in it
	since   time.Time
}

// call passes a request of processes on to the root.
func (l *Local) call(h *helper, f pmix.Frame, procs []pmix.Proc, count int) {
	frame := pmix.Append(nil, f.Request, f.Body)
	if len(frame) > maxBlob {
		h.reply(f.Request, failed(f.Kind, pmix.OutOfResource))
		return
	}
	l.agent.ToRoot(overlay.PMIxCall{Host: l.host, Number: l.noteCall(h, f, procs), Count: count, Frame: frame})
}

// noteCall has a request wait for its answer.
func (l *Local) noteCall(h *helper, f pmix.Frame, procs []pmix.Proc) (number uint32) {
	l.last++
	l.calls[l.last] = call{h, f.Request, f.Kind, procs, time.Now()}
	return l.last
}

// tellRoot tells the root what has no answer, unless it is too long for a message.
func (l *Local) tellRoot(body any, count int) pmix.Status {
	frame := pmix.Append(nil, 0, body)
	if len(frame) > maxBlob {
		return pmix.OutOfResource
	}
	l.agent.ToRoot(overlay.PMIxCall{Host: l.host, Count: count, Frame: frame})
	return pmix.Success
}

// failed is the answer to a request of some kind that came to nothing.
func failed(kind pmix.Kind, status pmix.Status) any {
	switch kind {
	case pmix.KindFence, pmix.KindModex:
		return pmix.Data{Status: status}
	case pmix.KindLookup:
		return pmix.Found{Status: status}
	case pmix.KindSpawn:
		return pmix.Spawned{Status: status}
	case pmix.KindGroup:
		return pmix.Grouped{Status: status}
	}
	return pmix.Done{Status: status}
}

// folded has each of some processes once, as far as this node knows namespaces.
func (l *Local) folded(procs []pmix.Proc) []pmix.Proc {
	return folded(distinct(procs), func(namespace string) int {
		if s := l.servers[namespace]; s != nil {
			return s.w.Size
		}
		return 0
	})
}

// meet has the processes of a helper take part in what several nodes do together. With
// is the request of all these.
func (l *Local) meet(h *helper, f pmix.Frame, procs []pmix.Proc, with func(procs []pmix.Proc) any) {
	procs = l.folded(procs)
	f.Body = with(procs)
	count := 0
	for _, p := range procs {
		s := l.servers[p.Namespace]
		if s == nil {
			continue
		}
		if p.Rank != pmix.Wildcard {
			if r := s.ranks[job.Rank(p.Rank)]; r != nil && r.helper == h {
				count++
			}
			continue
		}
		for _, x := range s.parts {
			if x.helper == h {
				count += len(x.ranks)
			}
		}
	}
	l.call(h, f, procs, count)
}

// Answered takes what the root says, of a call where number is one's. An error says that
// it broke the protocol.
func (l *Local) Answered(number uint32, a overlay.PMIxAnswer) error {
	f, n, err := pmix.Next(a.Frame)
	if err == nil && n != len(a.Frame) {
		err = fmt.Errorf("a frame of %d bytes in %d", n, len(a.Frame))
	}
	if err != nil {
		return err
	}
	switch b := f.Body.(type) {
	case pmix.Notify:
		for _, h := range l.byLibrary {
			if a.By != l.host || !l.serves(h, b.Source) {
				h.say(b)
			}
		}
		return nil
	case pmix.Forget:
		l.forget(b.Namespace)
		return nil
	case pmix.Done, pmix.Data, pmix.Found, pmix.Grouped:
	default:
		return fmt.Errorf("an answer of kind %d", f.Kind)
	}
	c, waits := l.calls[number]
	if !waits {
		return fmt.Errorf("an answer to call %d, which was not made", number)
	}
	delete(l.calls, number)
	l.learn(c.helper, a.Worlds, func(status pmix.Status) {
		if status != pmix.Success {
			f.Body = failed(c.kind, status)
		}
		for _, s := range l.servers {
			s.noteTold(c.helper, statusOf(f.Body))
		}
		c.helper.reply(c.request, f.Body)
	})
	return nil
}

// statusOf is that of what answers a meeting.
func statusOf(answer any) pmix.Status {
	switch b := answer.(type) {
	case pmix.Done:
		return b.Status
	case pmix.Data:
		return b.Status
	case pmix.Grouped:
		return b.Status
	}
	return pmix.Success
}

// learn has a helper know worlds of which it has no ranks.
func (l *Local) learn(h *helper, worlds []overlay.World, then func(pmix.Status)) {
	left, status := 1, pmix.Success
	done := func(s pmix.Status) {
		status = worse(status, s)
		if left--; left == 0 {
			then(status)
		}
	}
	for _, o := range worlds {
		s := l.servers[o.KVSName]
		if s == nil {
			l.known[o.KVSName] = &o
		}
		if h.knows[o.KVSName] || s != nil && s.has(h) {
			continue
		}
		w, err := Describe(&o, 0)
		if err != nil {
			l.agent.Note(0, "%v", err)
			status = pmix.Failure
			continue
		}
		h.knows[o.KVSName] = true
		left++
		h.ask(w, func(f pmix.Frame) {
			r, ok := f.Body.(pmix.Registered)
			switch {
			case !ok:
				r.Status = pmix.LostConnection
			case r.Status != pmix.Success:
				delete(h.knows, o.KVSName)
				l.agent.Note(0, "the PMIx helper (golaunch-pmix, %s) cannot learn of world %s: %s (status %d)", h.library, o.KVSName, r.Text, r.Status)
			}
			done(r.Status)
		})
	}
	done(pmix.Success)
}

// forget has nobody here know a world that is over, of which no rank was here.
func (l *Local) forget(namespace string) {
	delete(l.known, namespace)
	for _, h := range l.byLibrary {
		if h.knows[namespace] {
			delete(h.knows, namespace)
			h.say(pmix.Forget{Namespace: namespace})
		}
	}
}

// Spawned answers a Spawn: the namespace of the new world, or why there is none.
func (l *Local) Spawned(number uint32, namespace, failure string) {
	c, waits := l.calls[number]
	if !waits {
		return
	}
	delete(l.calls, number)
	answer := pmix.Spawned{Namespace: namespace}
	if failure != "" {
		answer = pmix.Spawned{Status: pmix.Failure}
	}
	c.helper.reply(c.request, answer)
}

// spawn asks for a new world.
func (l *Local) spawn(h *helper, request uint32, s *Server, r *rank, b pmix.Spawn) {
	world, err := asSpawn(b)
	if err != nil {
		l.agent.Note(0, "spawn by rank %v: %v", s.w.RankID(r.Rank), err)
		h.reply(request, pmix.Spawned{Status: pmix.BadParameter})
		return
	}
	r.Heard++
	number := l.noteCall(h, pmix.Frame{Kind: pmix.KindSpawn, Request: request}, []pmix.Proc{s.proc(r.Number)})
	l.agent.Spawn(job.RankID{World: s.w.ID, Rank: r.Number}, number, world)
}
