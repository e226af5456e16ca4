package agent

import (
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/agent/serve/servepmix"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// atPMIx is the agent as its PMIx helpers' Local uses it.
type atPMIx struct{ station }

var _ servepmix.Agent = atPMIx{}

// localPMIx is what this node has of PMIx.
func (a *Agent) localPMIx() *servepmix.Local {
	if a.pmix == nil {
		a.pmix = servepmix.NewLocal(servepmix.Node{Host: a.self.Index, Name: a.self.Name, Job: a.common.JobID, StallAfter: a.common.StallAfter}, atPMIx{station{a: a}}, a.libraries.Helpers)
	}
	return a.pmix
}

// Waiting looks whether ranks wait for ever.
func (s atPMIx) Waiting() { s.a.lookForStalls() }

// Say adds to a rank's output, or tells the user where that is over.
func (s atPMIx) Say(r job.RankID, stderr bool, text string) {
	stream := stdio.Stdout
	if stderr {
		stream = stdio.Stderr
	}
	if !s.a.output.Say(r, stream, []byte(text)) {
		s.a.note(0, "rank %v: %s", r, text)
	}
}

// Connected says whose connections to a process are.
func (s atPMIx) Connected(pid int) (of map[job.RankID]int, others int, err error) {
	ends, err := proc.Connected(pid)
	of = map[job.RankID]int{}
	for _, holders := range ends {
		known := false
		for _, holder := range holders {
			var r job.RankID
			if r, known, _ = s.a.ownerOf(holder); known {
				of[r]++
				break
			}
		}
		if !known {
			others++
		}
	}
	return of, others, err
}

// After has f called in the event loop.
func (s atPMIx) After(d time.Duration, f func()) {
	time.AfterFunc(d, func() { s.a.inbox.Put(posted(f)) })
}

// ToRoot passes a call on to the root.
func (s atPMIx) ToRoot(c overlay.PMIxCall) {
	if s.a.root {
		s.Post(func() { _ = s.a.rootPMIx().Called(c) }) // what is wrong with it is this agent's fault
	} else {
		s.a.up(link.Service, overlay.KindPMIxCall, overlay.Encode(c))
	}
}

// ToNode sends a message to another node.
func (s atPMIx) ToNode(to job.HostIndex, m overlay.PMIxModex) {
	s.a.passOn(tree.Header{Kind: overlay.KindPMIxModex, To: to, From: s.a.self.Index}, overlay.Encode(m))
}

// Spawn asks for a new world.
func (s atPMIx) Spawn(by job.RankID, call uint32, spawn *pmi.Spawn) {
	a := s.a
	if w := a.worlds[by.World]; w != nil {
		for i := range spawn.Commands {
			spawn.Commands[i].Env = a.forgetNetwork(w, spawn.Commands[i].Env)
		}
	}
	q := overlay.SpawnRequest{Host: a.self.Index, Rank: by.Rank, World: by.World, Spawn: *spawn, Call: call}
	if names := hostFiles(spawn); len(names) > 0 {
		a.askWithFiles(a.rankOf(by.World, by.Rank), q, names)
		return
	}
	a.sendSpawn(q)
}

// abovePMIx is the root agent as its servepmix.Root uses it.
type abovePMIx struct{ atPMIx }

var _ servepmix.Above = abovePMIx{}

// World finds a world that is not over.
func (s abovePMIx) World(namespace string) *overlay.World {
	for _, w := range s.a.worlds {
		if w.KVSName == namespace {
			return &w.World
		}
	}
	return nil
}

// Taken tells whether PMI has published a service.
func (s abovePMIx) Taken(name string) bool { return s.a.names.Has(name) }

// Answer sends an answer to those who have called, or to all.
func (s abovePMIx) Answer(x overlay.PMIxAnswer) {
	s.Post(func() { _ = s.a.passAnswer(x) }) // what is wrong with it is this agent's fault
}

// rootPMIx is what the root agent has of PMIx.
func (a *Agent) rootPMIx() *servepmix.Root {
	if a.pmixRoot == nil {
		a.pmixRoot = servepmix.NewRoot(abovePMIx{atPMIx{station{a: a}}})
	}
	return a.pmixRoot
}

// pmixCall takes a call from below.
func (a *Agent) pmixCall(m overlay.Message) error {
	if !a.root {
		a.parent.Pass(m)
		return nil
	}
	return a.drop(m, overlay.Take(m, a.rootPMIx().Called))
}

// passAnswer takes an answer of the root one step toward those whom it is for.
func (a *Agent) passAnswer(x overlay.PMIxAnswer) error {
	local := a.localPMIx()
	if len(x.To) == 0 {
		a.subtree.Broadcast(link.Service, overlay.KindPMIxAnswer, overlay.Encode(x))
		return local.Answered(0, x)
	}
	below := map[tree.Slot][]overlay.PMIxCaller{}
	for _, c := range x.To {
		if c.Host == a.self.Index {
			if err := local.Answered(c.Number, x); err != nil {
				return err
			}
		} else if slot, ok := a.subtree.Route(c.Host); ok && a.subtree.Live(slot) {
			below[slot] = append(below[slot], c)
		}
	}
	for slot, to := range below {
		x.To = to
		a.subtree.Send(slot, link.Service, overlay.KindPMIxAnswer, overlay.Encode(x))
	}
	return nil
}

// modexOfLost answers what a lost host was asked: with --keep-going the job goes on.
func (a *Agent) modexOfLost(h tree.Header, msg []byte) {
	m, err := overlay.Decode[overlay.PMIxModex](msg)
	if err != nil || m.Answer {
		return
	}
	m = overlay.PMIxModex{Number: m.Number, Answer: true, Status: int32(pmix.Unreachable)}
	if h.From == a.self.Index {
		a.inbox.Put(posted(func() { _ = a.localPMIx().Asked(h.From, m) })) // what is wrong with it is this agent's fault
		return
	}
	a.passOn(tree.Header{Kind: h.Kind, To: h.From, From: a.self.Index}, overlay.Encode(m))
}

// pmixModex takes a message of another node's helper.
func (a *Agent) pmixModex(m overlay.Message) error {
	if a.pmix == nil {
		return errors.New("it comes before the launch")
	}
	return overlay.Take(m, func(x overlay.PMIxModex) error { return a.pmix.Asked(m.Header.From, x) })
}
