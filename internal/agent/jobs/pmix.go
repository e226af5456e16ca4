package jobs

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

// pmixJob is what a job has of PMIx.
type pmixJob struct {
	j     *Job
	local *servepmix.Local // nil before the launch
	root  *servepmix.Root  // used at the root; nil before the first call
}

// atNode is what this node has of PMIx.
func (px *pmixJob) atNode() *servepmix.Local {
	if px.local == nil {
		px.local = servepmix.NewLocal(servepmix.Node{Host: px.j.node.Self().Index, Name: px.j.node.Self().Name, Job: px.j.node.Common().JobID, StallAfter: px.j.node.Common().StallAfter}, atPMIx{station{j: px.j}}, px.j.libraries.Helpers)
	}
	return px.local
}

// Waiting looks whether ranks wait for ever.
func (s atPMIx) Waiting() { s.j.stalls.begin() }

// Say adds to a rank's output, or tells the user where that is over.
func (s atPMIx) Say(r job.RankID, stderr bool, text string) {
	stream := stdio.Stdout
	if stderr {
		stream = stdio.Stderr
	}
	if !s.j.output.Say(r, stream, []byte(text)) {
		s.j.node.Note(0, "rank %v: %s", r, text)
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
			if r, known, _ = s.j.owners.ownerOf(holder); known {
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
	time.AfterFunc(d, func() { s.j.node.Post(f) })
}

// ToRoot passes a call on to the root.
func (s atPMIx) ToRoot(c overlay.PMIxCall) {
	if s.j.node.Root() {
		s.Post(func() { _ = s.j.pmix.atRoot().Called(c) }) // what is wrong with it is this agent's fault
	} else {
		s.j.node.Up(link.Service, overlay.KindPMIxCall, overlay.Encode(c))
	}
}

// ToNode sends a message to another node.
func (s atPMIx) ToNode(to job.HostIndex, m overlay.PMIxModex) {
	s.j.node.PassOn(tree.Header{Kind: overlay.KindPMIxModex, Job: s.j.number, To: to, From: s.j.node.Self().Index}, overlay.Encode(m))
}

// Spawn asks for a new world.
func (s atPMIx) Spawn(by job.RankID, call uint32, spawn *pmi.Spawn) {
	j := s.j
	if w := j.worlds[by.World]; w != nil {
		for i := range spawn.Commands {
			spawn.Commands[i].Env = j.env.forgetNetwork(w, spawn.Commands[i].Env)
		}
	}
	q := overlay.SpawnRequest{Host: j.node.Self().Index, Rank: by.Rank, World: by.World, Spawn: *spawn, Call: call}
	if names := hostFiles(spawn); len(names) > 0 {
		j.spawns.askWithFiles(j.ranks.of(by.World, by.Rank), q, names)
		return
	}
	j.spawns.send(q)
}

// abovePMIx is the root agent as its servepmix.Root uses it.
type abovePMIx struct{ atPMIx }

var _ servepmix.Above = abovePMIx{}

// World finds a world that is not over.
func (s abovePMIx) World(namespace string) *overlay.World {
	for _, w := range s.j.worlds {
		if w.spec.KVSName == namespace {
			return &w.spec
		}
	}
	return nil
}

// Taken tells whether PMI has published a service.
func (s abovePMIx) Taken(name string) bool { return s.j.services.names.Has(name) }

// Answer sends an answer to those who have called, or to all.
func (s abovePMIx) Answer(x overlay.PMIxAnswer) {
	s.Post(func() { _ = s.j.pmix.passAnswer(x) }) // what is wrong with it is this agent's fault
}

// atRoot is what the root agent has of PMIx.
func (px *pmixJob) atRoot() *servepmix.Root {
	if px.root == nil {
		px.root = servepmix.NewRoot(abovePMIx{atPMIx{station{j: px.j}}})
	}
	return px.root
}

// call takes a call from below.
func (px *pmixJob) call(m overlay.Message) error {
	if !px.j.node.Root() {
		px.j.node.Parent().Pass(m)
		return nil
	}
	return px.j.node.Drop(m, overlay.Take(m, px.atRoot().Called))
}

// passAnswer takes an answer of the root one step toward those whom it is for.
func (px *pmixJob) passAnswer(x overlay.PMIxAnswer) error {
	local := px.atNode()
	if len(x.To) == 0 {
		px.j.node.Subtree().Broadcast(link.Service, overlay.KindPMIxAnswer, px.j.number, overlay.Encode(x))
		return local.Answered(0, x)
	}
	below := map[tree.Slot][]overlay.PMIxCaller{}
	for _, c := range x.To {
		if c.Host == px.j.node.Self().Index {
			if err := local.Answered(c.Number, x); err != nil {
				return err
			}
		} else if slot, ok := px.j.node.Subtree().Route(c.Host); ok && px.j.node.Subtree().Live(slot) {
			below[slot] = append(below[slot], c)
		}
	}
	for slot, to := range below {
		x.To = to
		px.j.node.Subtree().Send(slot, link.Service, overlay.KindPMIxAnswer, px.j.number, overlay.Encode(x))
	}
	return nil
}

// modexOfLost answers what a lost host was asked: with --keep-going the job goes on.
func (px *pmixJob) modexOfLost(h tree.Header, msg []byte) {
	m, err := overlay.Decode[overlay.PMIxModex](msg)
	if err != nil || m.Answer {
		return
	}
	m = overlay.PMIxModex{Number: m.Number, Answer: true, Status: int32(pmix.Unreachable)}
	if h.From == px.j.node.Self().Index {
		px.j.node.Post(func() { _ = px.atNode().Asked(h.From, m) }) // what is wrong with it is this agent's fault
		return
	}
	px.j.node.PassOn(tree.Header{Kind: h.Kind, Job: px.j.number, To: h.From, From: px.j.node.Self().Index}, overlay.Encode(m))
}

// modex takes a message of another node's helper.
func (px *pmixJob) modex(m overlay.Message) error {
	if px.local == nil {
		return errors.New("it comes before the launch")
	}
	return overlay.Take(m, func(x overlay.PMIxModex) error { return px.local.Asked(m.Header.From, x) })
}
