package overlay

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// model is a tree of agents that all say the truth about its jobs, in which hosts are dead
// or late and agents are lost: the messages of each pass all Origins above it.
type model struct {
	t        require.TestingT
	pick     func(n int) int // 0 to n-1
	degree   int
	troubles bool
	launcher Worlds
	root     *modelAgent
	agents   []*modelAgent // that live, parents first
	job      job.Number    // that messages are about
	node     job.HostIndex // that holds ranks of the world under way
}

// modelAgent is one agent, with what its parent may hear from it.
type modelAgent struct {
	host   HostEntry
	parent *modelAgent // nil for the root
	origin *Origin     // as its parent, or the launcher, knows it
	below  Worlds
	kids   []*modelAgent
	ready  Ready

	failures map[job.Number]*Failures // that were told
}

// modelRules has servers that say all that there is to say.
var modelRules = LaunchOptions{Cache: cache.HCMABLRU, PMIVersion: pmi.VersionGroups}

// hosts are that of an agent and of those below it.
func (a *modelAgent) hosts() []job.HostIndex {
	all := []job.HostIndex{a.host.Index}
	for _, kid := range a.kids {
		all = append(all, kid.hosts()...)
	}
	return all
}

// failed are the failures of a job that it was told of.
func (a *modelAgent) failed(n job.Number) *Failures {
	if a.failures[n] == nil {
		a.failures[n] = &Failures{}
	}
	return a.failures[n]
}

// trouble happens once in n times.
func (m *model) trouble(n int) bool { return m.troubles && m.pick(n) == 0 }

// say has a message judged on its next link.
func (m *model) say(a *modelAgent, k tree.Kind, world int, message any) {
	require.NoError(m.t, m.tell(a, a, k, world, message))
}

// pass has a message judged on every link up to the launcher, which takes it as it
// is.
func (m *model) pass(from *modelAgent, k tree.Kind, world int, message any) {
	for a := from; a != nil; a = a.parent {
		require.NoError(m.t, m.tell(a, from, k, world, message))
	}
}

// fail passes a failure up, with the time that it takes, unless it was told before.
func (m *model) fail(from *modelAgent, f job.Failure) {
	for a := from; a != nil && a.failed(m.job).First(f); a = a.parent {
		f.Age = min(f.Age, MaxAge)
		require.NoError(m.t, m.tell(a, from, KindFailure, 0, f))
		f.Age += time.Duration(m.pick(1 << 40))
	}
}

// summon passes one up, which has another number on each link.
func (m *model) summon(from *modelAgent, s Summon) {
	for a := from; a != nil; a = a.parent {
		s.ID = uint64(m.pick(1 << 40))
		require.NoError(m.t, m.tell(a, from, KindSummon, 0, s))
	}
}

// address passes a question up, which has another number on each link.
func (m *model) address(from *modelAgent, q AddrRequest) {
	for a := from; a != nil; a = a.parent {
		q.ID = uint64(m.pick(1 << 40))
		require.NoError(m.t, m.tell(a, from, KindAddress, 0, q))
	}
}

// sign passes a request up, which has another number on each link.
func (m *model) sign(from *modelAgent, s SignRequest) {
	for a := from; a != nil; a = a.parent {
		s.ID = uint64(m.pick(1 << 40))
		require.NoError(m.t, m.tell(a, from, KindSign, 0, s))
	}
}

func (m *model) tell(via, from *modelAgent, k tree.Kind, world int, message any) error {
	body, raw := message.([]byte)
	if !raw && message != nil {
		body = Encode(message)
	}
	h := tree.Header{Kind: k, World: uint16(world), To: tree.Launcher, From: from.host.Index}
	if kinds[k].of == ofJob {
		h.Job = m.job
	}
	if kinds[k].sender == byNode {
		h.To = m.node
	}
	_, err := hear(via.origin, kinds[k].stream, h, body)
	return err
}

// grow has an agent start those below it, and tells of them.
func (m *model) grow(a *modelAgent, rest []HostEntry) {
	a.ready.Live = []NodeInfo{{Index: a.host.Index, HostName: a.host.Name, Addr: "10.0.0.1", Cores: 8}}
	at := make([]job.HostIndex, len(rest))
	for i := range at {
		at[i] = job.HostIndex(i)
	}
	for _, part := range tree.Split(at, m.degree) {
		m.start(a, rest[part[0]:][:len(part)])
	}
	a.ready.Settle()
}

// start starts a part: dead hosts are passed over, a late one becomes a leaf, and
// what a lost agent has started is started again.
func (m *model) start(a *modelAgent, part []HostEntry) {
	for len(part) > 0 && m.trouble(8) {
		a.ready.Dead = append(a.ready.Dead, DeadHost{Index: part[0].Index, Phase: "connect", Cause: "refused"})
		part = part[1:]
	}
	if len(part) > 1 && m.trouble(8) {
		m.join(a, part[:1])
		part = part[1:]
	}
	if len(part) > 0 {
		m.join(a, part)
	}
}

func (m *model) join(a *modelAgent, part []HostEntry) {
	kid := &modelAgent{host: part[0], parent: a, origin: a.below.Child(false, part), failures: map[job.Number]*Failures{}}
	m.grow(kid, part[1:])
	heard := !m.trouble(8)
	if heard {
		m.say(kid, KindReady, 0, kid.ready)
		a.ready.Merge(kid.ready)
	}
	if !heard || m.trouble(8) { // it is lost
		a.ready.Dead = append(a.ready.Dead, DeadHost{Index: kid.host.Index, Phase: "handshake", Cause: "link lost"})
		m.start(a, part[1:])
		return
	}
	a.kids = append(a.kids, kid)
}

// newModel grows the tree.
func newModel(t require.TestingT, hosts, degree int, troubles bool, pick func(int) int) *model {
	m := &model{t: t, pick: pick, degree: degree, troubles: troubles}
	entries := make([]HostEntry, hosts)
	for i := range entries {
		entries[i] = HostEntry{Index: job.HostIndex(i), Name: "n"}
	}
	m.root = &modelAgent{host: entries[0], origin: m.launcher.Child(true, entries), failures: map[job.Number]*Failures{}}
	m.grow(m.root, entries[1:])
	m.say(m.root, KindReady, 0, m.root.ready)
	m.live(m.root)
	return m
}

func (m *model) live(a *modelAgent) {
	m.agents = append(m.agents, a)
	for _, kid := range a.kids {
		m.live(kid)
	}
}

// world has a world of a job live from its launch to its end. each host has at most so
// many ranks.
func (m *model) world(n job.Number, id, ranks int) {
	m.job = n
	var blocks []job.Block
	next := job.Rank(0)
	for _, a := range m.agents {
		if n := m.pick(ranks + 1); n > 0 {
			blocks = append(blocks, job.Block{Host: a.host.Index, First: next, Count: n})
			next += job.Rank(n)
		}
	}
	if len(blocks) == 0 {
		blocks = []job.Block{{Host: m.root.host.Index, Count: 1}}
	}
	m.node = blocks[m.pick(len(blocks))].Host
	m.launcher.Rules(n, modelRules)
	m.launcher.Know(n, id, blocks)
	m.know(m.root, id, blocks)
	run := map[job.HostIndex]job.Block{}
	for _, b := range blocks {
		run[b.Host] = b
	}
	for _, a := range m.agents {
		if b, here := run[a.host.Index]; here {
			m.work(a, id, b)
		}
	}
	m.end(m.root, id, run)
	if id == 0 {
		m.waits(m.root, run)
	}
	m.collect(m.root, id, run)
	if id > 0 {
		m.launcher.Forget(n, id)
		for _, a := range m.agents {
			a.below.Forget(n, id)
		}
		b := blocks[m.pick(len(blocks))]
		for _, a := range m.agents {
			if a.host.Index == b.Host { // messages that have overtaken the end of the world
				m.pass(a, KindName, 0, NameRequest{Host: b.Host, World: id, Rank: b.First, Op: pmi.Lookup})
				m.pass(a, KindWaiting, id, Waiting{Ranks: []RankRange{{First: b.First, Count: 1}}})
				m.say(a, KindBoard, id, []byte("late"))
			}
		}
	}
}

// know tells the agents that have to do with a world, parents last: a child that
// knows it must not be heard before.
func (m *model) know(a *modelAgent, id int, blocks []job.Block) bool {
	here := slices.ContainsFunc(blocks, func(b job.Block) bool { return b.Host == a.host.Index })
	a.below.Rules(m.job, modelRules)
	a.below.Know(m.job, id, blocks)
	for _, kid := range a.kids {
		here = m.know(kid, id, blocks) || here
	}
	return here
}

// work sends the messages of one host's running ranks.
func (m *model) work(a *modelAgent, id int, b job.Block) {
	rank := b.First + job.Rank(m.pick(b.Count))
	failure := job.Failure{Class: job.CauseClass(m.pick(int(job.CauseProtocol) + 1)), World: id, Rank: rank, Host: b.Host, PID: 1 + m.pick(1<<22)}
	switch failure.Class {
	case job.CauseSignal:
		failure.Signal = 1 + m.pick(job.MaxSignal)
	case job.CauseExit, job.CauseStart:
		failure.Code = 1 + m.pick(job.MaxCode)
	case job.CauseAbort:
		failure.Code = m.pick(1<<31) - 1<<30
	case job.CauseNodeLost:
		failure.Rank, failure.World, failure.PID = -1, 0, 0
		failure.Lost = tree.MakeHosts(a.hosts())
	}
	failure.Finalized = failure.Class == job.CauseExit && m.pick(2) == 0
	failure.Age, failure.Clock = time.Duration(m.pick(1<<60)), time.Duration(m.pick(1<<60))
	m.fail(a, failure)
	m.fail(a, failure)
	m.pass(a, KindWaiting, id, Waiting{Library: "libmpi.so", Ranks: []RankRange{{First: rank, Count: 1}}})
	m.pass(a, KindNote, 0, Note{Host: b.Host, Level: m.pick(3), Text: "text"})
	m.pass(a, KindSpawn, 0, SpawnRequest{Host: b.Host, World: id, Rank: rank, Spawn: pmi.Spawn{Commands: []pmi.Command{{Exec: "x", Procs: 1}}}})
	m.pass(a, KindSchedule, 0, ScheduleRequest{Host: b.Host, Rank: rank, Schedule: Schedule{World: id, Algorithm: "ring", Bytes: 8}})
	m.pass(a, KindName, 0, NameRequest{Host: b.Host, World: id, Rank: rank, Op: pmi.Publish, Service: []byte("s"), Port: []byte("p")})
	m.pass(a, KindOutput, 0, AppendChunk(nil, job.RankID{World: id, Rank: rank}, stdio.Stdout, []byte("line\n")))
	m.pass(a, KindHome, id, []byte("\x07\x00\x01k"))
	m.say(a, KindPMIxFence, id, []byte("x"))
	m.pass(a, KindPMIxCall, 0, PMIxCall{Host: b.Host, Number: 1, Count: 1, Frame: pmix.Append(nil, 1, pmix.Fence{Blob: []byte("x")})})
	m.pass(a, KindPMIxModex, 0, PMIxModex{Number: 1, Namespace: "kvs", Rank: rank})
	m.pass(a, KindGroup, id, Group{Key: []byte("WORLD:1"), Need: 1})
	for _, kid := range a.kids {
		m.summon(a, Summon{By: a.host.Index, Host: kid.host.Index, Addr: "[fe80::1%eth0]:65535"})
		m.address(a, AddrRequest{By: a.host.Index, Host: kid.host.Index})
		m.sign(a, SignRequest{By: a.host.Index, Request: bootstrap.SignRequest{Host: kid.host.Index, Data: make([]byte, 300)}})
	}
}

// end reports the begin and end of a world in a subtree, children first.
func (m *model) end(a *modelAgent, id int, run map[job.HostIndex]job.Block) (started Started, done Done, here bool) {
	b, here := run[a.host.Index]
	if failed := m.pick(b.Count + 1); id > 0 && failed > 0 {
		started.Fail(StartFailure{Host: b.Host, First: b.First, Count: failed, Code: job.ExitNotFound, Text: "no such file"})
		started.Ranks = b.Count - failed
	} else {
		started.Ranks = b.Count
	}
	if b.Count > 0 && m.pick(2) == 0 {
		bound := Bound{Hosts: []job.HostIndex{a.host.Index}}
		for i := range b.Count { // no two hosts alike
			bound.Ranks = append(bound.Ranks, fmt.Sprintf("CPUs %d,%d (core %[1]d of socket 0)", i, int(a.host.Index)))
		}
		started.Bound = append(started.Bound, bound)
	}
	done.Failed = m.pick(b.Count + 1)
	done.Ranks = b.Count - done.Failed
	for _, kid := range a.kids {
		if s, d, below := m.end(kid, id, run); below {
			started.Merge(s)
			done.Merge(d)
			here = true
		}
	}
	if here {
		m.say(a, KindProgress, 0, Progress{Nodes: 1, Ranks: started.Ranks, Host: a.host.Index})
		m.say(a, KindStarted, id, started)
		m.say(a, KindBoard, id, []byte("x"))
		m.say(a, KindDone, id, done)
		m.say(a, KindDrained, id, nil)
	}
	return started, done, here
}

// waits tells in what every rank waits, each as many as are told of, and who is
// missing in each.
func (m *model) waits(a *modelAgent, run map[job.HostIndex]job.Block) Waits {
	b, here := run[a.host.Index]
	w := Waits{Number: 1, Living: b.Count, Messages: b.Count}
	for i := range MostWaits {
		if here {
			w.Waits = append(w.Waits, Wait{ID: WaitID{Comm: uint64(i), Seq: 1 << 40}, Text: "Barrier"})
			if i == 0 {
				w.Waits[0].ID = InitOf(0)
			}
		}
		for r := range b.Count {
			w.Waits[i].Missing = append(w.Waits[i].Missing, WaitRun{First: int(b.First) + r, Count: 1})
		}
	}
	w.Examples = []string{"rank 0 for a message"}
	if b.Count > 0 {
		w.Unanswered, w.Attempts = []string{"rank 0 on a"}, b.Count*MostAttempts
	}
	for r := range b.Count { // no two ranks alike, with texts as long as they may be
		w.MergeStates(State{Call: strings.Repeat("x", MostStateText-10) + fmt.Sprint(int(b.First)+r), Process: strings.Repeat("y", MostStateText),
			Kernel: strings.Repeat("z", MostStateText), For: One(1 << 20), CPU: One(1000), Ranks: []WaitRun{{First: int(b.First) + r, Count: 1}}})
	}
	if here {
		w.Silent = append(w.Silent, a.host.Index)
	}
	for _, kid := range a.kids {
		w.Merge(m.waits(kid, run))
	}
	m.say(a, KindWaits, 0, w)
	return w
}

// collect tells of the counters of a subtree, with everything that may be asked.
func (m *model) collect(a *modelAgent, id int, run map[job.HostIndex]job.Block) report.Collected {
	c := report.Collected{Levels: []report.Level{report.One(report.Counters{1})}}
	c.Nodes = []report.Node{{Host: a.host.Index, Parent: job.NoHost, Trace: &report.NodeTrace{
		Fences: make([]report.Fence, 2), Steps: make([]report.Step, 4),
	}}}
	for i := range run[a.host.Index].Count {
		c.Ranks = append(c.Ranks, report.Rank{World: id, Rank: run[a.host.Index].First + job.Rank(i), Host: a.host.Index, ExitCode: 255})
	}
	for _, kid := range a.kids {
		part := m.collect(kid, id, run)
		part.Below(a.host.Index)
		c.Merge(part)
		c.Nodes[0].Trace.Starts = append(c.Nodes[0].Trace.Starts, report.Start{Host: kid.host.Index, Steps: make([]report.Step, 3)})
	}
	m.say(a, KindCollected, 0, c)
	return c
}

func TestHonestAgentsAreHeard(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pick := func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
		m := newModel(t, 1+pick(16), 1+pick(5), true, pick)
		m.world(1, 0, 3)
		m.world(2, 0, 2)
		m.world(1, 1, 2)
		m.grown()
		m.world(2, 1, 3)
		m.world(1, 2, 2)
		m.over(1 + job.Number(pick(2)))
		m.world(3, 0, 3)
	})
}

// over ends a job, parents first: they drop messages about it of children that have not heard
// of the end. Nothing of the job is left.
func (m *model) over(n job.Number) {
	m.job = n
	m.launcher.ForgetJob(n)
	for told := m.pick(len(m.agents)); told > 0; told-- {
		m.agents[told-1].below.ForgetJob(n)
	}
	for _, a := range m.agents {
		for k, message := range map[tree.Kind]any{
			KindFailure: job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: a.host.Index}, KindBoard: []byte("late"), KindOutput: output(9, 9, stdio.Stdout),
			KindStarted: Started{Ranks: 9}, KindDone: Done{}, KindWaits: Waits{Living: 9}, KindCollected: collectedOfTwo, KindDrained: nil,
		} {
			if a.parent == nil || !a.parent.below.knows(n) {
				require.ErrorIs(m.t, m.tell(a, a, k, 0, message), errJobOver, kinds[k].name)
			}
		}
		m.say(a, KindNote, 0, Note{Host: a.host.Index, Text: "late"})
	}
	for _, a := range m.agents {
		a.below.ForgetJob(n)
	}
	for _, a := range m.agents {
		require.NotContains(m.t, a.origin.jobs, n)
		require.NotContains(m.t, a.below.jobs, n)
		ranks := 0
		for _, c := range a.origin.jobs {
			ranks += c.ranks
		}
		require.Equal(m.t, ranks, a.origin.ranks)
	}
}

// knows reports jobs that live.
func (w *Worlds) knows(n job.Number) bool {
	_, err := w.find(n)
	return err == nil
}

// grown has a spawn bring the root two hosts more.
func (m *model) grown() {
	first := job.HostIndex(1000)
	more := []HostEntry{{Index: first, Name: "n"}, {Index: first + 1, Name: "n"}}
	m.root.origin.extend(more)
	was := m.root.ready
	m.root.ready = Ready{}
	m.start(m.root, more)
	m.root.ready.Settle()
	m.say(m.root, KindGrown, 0, m.root.ready)
	m.root.ready = was
	m.agents = nil
	m.live(m.root)
}

// The longest record that a node makes is within its bounds: every fence that is
// kept, and a wide tree whose hosts answer late.
func TestHonestRecordsOfOneNode(t *testing.T) {
	const children, tries = 64, maxTries
	hosts := make([]HostEntry, children+1)
	n := report.Node{Phases: make([]report.Phase, 6), Trace: &report.NodeTrace{
		Fences: make([]report.Fence, report.MaxFences), Steps: make([]report.Step, 4),
	}}
	for i := range hosts {
		hosts[i].Index = job.HostIndex(i)
		for range tries {
			if i == 0 {
				break // nobody starts itself
			}
			n.Trace.Starts = append(n.Trace.Starts, report.Start{Host: job.HostIndex(i), Steps: make([]report.Step, 9), Error: "no answer"})
		}
	}
	o := childAlone(false, hosts...)
	c := report.Collected{Levels: []report.Level{report.One(report.Counters{})}, Nodes: []report.Node{n}}
	require.NoError(t, say(o, KindCollected, 0, c))
}

// A job of 4,096 ranks on 512 hosts.
func TestHonestAgentsOfALargeJob(t *testing.T) {
	for _, troubles := range []bool{false, true} {
		r := rand.New(rand.NewPCG(1, 2))
		m := newModel(t, 512, 8, troubles, r.IntN)
		m.pick = func(n int) int { return n - 1 }
		m.world(job.Cold, 0, 8)
		if !troubles {
			require.Equal(t, 4096, m.root.origin.ranks)
		}
	}
}

// Of 65,536 hosts, one rank each, the largest messages are within their bounds.
func TestHonestMessagesOfTheLargestJob(t *testing.T) {
	const hosts = 65536
	entries := make([]HostEntry, hosts)
	var launch Launch
	var ready Ready
	for i := range entries {
		h := job.HostIndex(i)
		entries[i] = hostWithKeys(h)
		launch.Nodes = append(launch.Nodes, h)
		launch.World.Blocks = append(launch.World.Blocks, job.Block{Host: h, First: job.Rank(h), Count: 1})
		ready.Live = append(ready.Live, NodeInfo{Index: h, HostName: "node12345.example.org", Addr: "10.123.123.123", Cores: 256, Room: &Room{Ranks: 128, Has: "128 cores"}})
	}
	parent := OfParent()
	for k, message := range map[tree.Kind]any{KindLaunch: launch, KindRange: Range{Hosts: entries}} {
		h := tree.Header{Kind: k, Job: about(k), To: tree.Neighbor, From: tree.Launcher}
		body := Encode(message)
		_, err := hear(parent, kinds[k].stream, h, body)
		require.NoError(t, err)
		require.NoError(t, weigh(body, kinds[k].values.base), kinds[k].name)
	}
	var w Worlds
	o := w.Child(true, entries)
	_, err := hear(o, link.Service, tree.Header{Kind: KindReady, From: 0}, Encode(ready))
	require.NoError(t, err)
}

// hostWithKeys returns a host as it travels with all that ssh needs to know of it.
func hostWithKeys(h job.HostIndex) HostEntry {
	key := make([]byte, 51)
	data, err := bootstrap.Pack(sshboot.Target{
		Name: "node12345", HostName: "node12345.example.org", Addr: "10.123.123.123", Port: 22, User: "someone", KeyName: "node12345.example.org",
		HostKeys: [][]byte{key, key, key}, CAs: [][]byte{key}, Revoked: [][]byte{key}, Policy: sshboot.AcceptNew,
		Keys: []int{0, 1, 2, 3}, Kex: []byte{1, 2}, ConnectTimeout: 1,
	})
	if err != nil {
		panic(err) // a value of this file is wrong
	}
	return HostEntry{Index: h, Name: "node12345", Addr: "10.123.123.123", Access: &Access{Data: data}}
}
