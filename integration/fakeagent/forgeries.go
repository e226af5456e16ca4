package fakeagent

import (
	"math"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// moment is the time of a forgery.
type moment int

const (
	staging  moment = iota // instead of the agent
	ranged                 // its range is known, nothing was answered
	up                     // it has said that it is up
	launched               // its ranks are known, nothing was answered
	running                // its ranks run
	told                   // it has said that they have ended
	dried                  // it has said that all their output has come, and no more
	killed                 // its ranks, which run, are told to end
	asked                  // it is asked for its counters
	ended                  // the job is over for it
)

// Forgery is one breach of the protocol.
type Forgery struct {
	Name string
	// Root says that it is worth committing at the tree's root, too, where
	// nobody but the launcher sees it.
	Root bool
	// Sum says that only the sum of all nodes shows it: nobody can be named.
	Sum bool
	// Passed says that a relay cannot see it: a node that can drops it.
	Passed bool

	at       moment
	claims   bool // say that the hosts below are up, and have run their ranks
	answered bool // commit waits for the answer
	commit   func(*node) error
}

// Forgeries are all but those that want a signature. None of them can be true: an agent
// that commits one has broken the protocol.
func Forgeries() []Forgery {
	var all []Forgery
	for _, some := range [][]Forgery{stagings(), failures(), hosts(), counts(), outputs(), clocks(), wrongKinds(), frames()} {
		all = append(all, some...)
	}
	return all
}

// tell is a forgery that is one message.
func tell(name string, at moment, s link.Stream, kind tree.Kind, message func(*node) any) Forgery {
	return Forgery{Name: name, Root: true, at: at, commit: func(n *node) error {
		n.up(s, kind, message(n))
		return nil
	}}
}

// other is the host that the fake lies about.
func (n *node) other() job.HostIndex { return job.HostIndex(n.order.Other) }

// otherRank is a rank that is not the node's.
func (n *node) otherRank() job.Rank {
	for _, b := range n.world.Blocks {
		if b.Host != n.self.Index {
			return b.First
		}
	}
	return job.Rank(n.world.Size)
}

// failures are ranks and nodes that are said to have failed.
func failures() []Forgery {
	failure := func(name string, f func(*node) job.Failure) Forgery {
		return tell("failure: "+name, running, link.Control, overlay.KindFailure, func(n *node) any { return f(n) })
	}
	return []Forgery{
		failure("signal -128 of another host", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseSignal, Signal: -128, Host: n.other(), Rank: n.otherRank(), Phase: "running"}
		}),
		failure("signal -128 of its own rank", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseSignal, Signal: -128, Host: n.self.Index, Rank: n.first, Phase: "running"}
		}),
		failure("start with code 0", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseStart, Host: n.self.Index, Rank: n.first, Phase: "start"}
		}),
		failure("exit of another host's rank", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseExit, Code: 7, Host: n.other(), Rank: n.otherRank(), Phase: "running"}
		}),
		failure("exit of another host's rank as its own", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseExit, Code: 7, Host: n.self.Index, Rank: n.otherRank(), Phase: "running"}
		}),
		failure("another host is lost", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: n.other(), Phase: "running", Text: "link to its agent lost"}
		}),
		failure("class 99", func(n *node) job.Failure {
			return job.Failure{Class: 99, Host: n.self.Index, Rank: n.first, Phase: "running"}
		}),
		failure("rank of a world that is not", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseExit, Code: 7, Host: n.self.Index, Rank: n.first, World: 9, Phase: "running"}
		}),
		failure("a rank far below 0", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseExit, Code: 7, Host: n.self.Index, Rank: math.MinInt, Phase: "running"}
		}),
		failure("as long ago as can be said", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseExit, Code: 7, Host: n.self.Index, Rank: n.first, Phase: "running", Age: math.MaxInt64}
		}),
		failure("with a phase of 400 KiB", func(n *node) job.Failure {
			return job.Failure{Class: job.CauseNodeLost, Host: n.self.Index, Rank: -1, Phase: strings.Repeat("x", 400<<10)}
		}),
		tell("spawn: by a rank far below 0", running, link.Service, overlay.KindSpawn, func(n *node) any {
			return overlay.SpawnRequest{Host: n.self.Index, Rank: math.MinInt}
		}),
		tell("note of another host", running, link.Control, overlay.KindNote, func(n *node) any {
			return overlay.Note{Host: n.other(), Text: "its disk is full"}
		}),
	}
}

// hosts are hosts that are said to be up, or dead.
func hosts() []Forgery {
	ready := func(name string, add func(*node, *overlay.Ready)) Forgery {
		return tell("ready: "+name, ranged, link.Service, overlay.KindReady, func(n *node) any {
			r := overlay.Ready{Live: []overlay.NodeInfo{{Index: n.self.Index, HostName: n.self.Name, Cores: 1}}}
			add(n, &r)
			return r
		})
	}
	dead := func(h job.HostIndex) []overlay.DeadHost {
		return []overlay.DeadHost{{Index: h, Phase: "connect", Cause: "connection refused"}}
	}
	died := func(n *node) any { return overlay.Died{Dead: dead(n.other())} }
	again := tell("ready: twice", up, link.Service, overlay.KindReady, func(n *node) any {
		return overlay.Ready{Live: []overlay.NodeInfo{{Index: n.self.Index, HostName: n.self.Name, Cores: 1}}}
	})
	return []Forgery{
		ready("another host is dead", func(n *node, r *overlay.Ready) { r.Dead = dead(n.other()) }),
		ready("another host is up", func(n *node, r *overlay.Ready) {
			r.Live = append(r.Live, overlay.NodeInfo{Index: n.other(), HostName: n.self.Name, Cores: 1})
		}),
		ready("host 100000 is dead", func(_ *node, r *overlay.Ready) { r.Dead = dead(100000) }),
		ready("host -1 is dead", func(_ *node, r *overlay.Ready) { r.Dead = dead(-1) }),
		ready("it lives twice", func(_ *node, r *overlay.Ready) { r.Live = append(r.Live, r.Live[0]) }),
		again,
		tell("died: another host, while starting", ranged, link.Service, overlay.KindDied, died),
		tell("died: another host, running", running, link.Service, overlay.KindDied, died),
	}
}

// counts are ranks that are counted wrong, or twice.
func counts() []Forgery {
	started := func(name string, at moment, s func(*node) overlay.Started) Forgery {
		return tell("started: "+name, at, link.Control, overlay.KindStarted, func(n *node) any { return s(n) })
	}
	done := func(name string, at moment, d func(*node) overlay.Done) Forgery {
		return tell("done: "+name, at, link.Control, overlay.KindDone, func(n *node) any { return d(n) })
	}
	mute := done("failed, and nobody says how", running, func(n *node) overlay.Done { return overlay.Done{Failed: n.ranks} })
	mute.Sum = true
	all := func(n *node) overlay.Done { return overlay.Done{Ranks: n.ranks} }
	return []Forgery{
		started("more than there are", launched, func(n *node) overlay.Started { return overlay.Started{Ranks: n.ranks + 1} }),
		started("fewer than none", launched, func(*node) overlay.Started { return overlay.Started{Ranks: -5} }),
		started("twice", running, func(n *node) overlay.Started { return overlay.Started{Ranks: n.ranks} }),
		started("not those of another host", launched, func(n *node) overlay.Started {
			return overlay.Started{Failures: []overlay.StartFailure{{Host: n.other(), First: n.otherRank(), Count: 1, Code: 127, Text: "not found"}}}
		}),
		done("more than there are", running, func(n *node) overlay.Done { return overlay.Done{Ranks: n.ranks + 5} }),
		done("fewer than none", running, func(n *node) overlay.Done { return overlay.Done{Ranks: n.ranks + 5, Ended: -5} }),
		mute,
		{Name: "done: twice", Root: true, at: running, commit: func(n *node) error { // while others run: the job is not over by the first
			n.up(link.Control, overlay.KindDone, all(n))
			n.up(link.Control, overlay.KindDone, all(n))
			return nil
		}},
		{Name: "drained: twice", Root: true, at: dried, commit: func(n *node) error {
			n.send(link.Stdio, n.header(overlay.KindDrained), nil)
			return nil
		}},
		tell("input: more taken than was sent", running, link.Control, overlay.KindInputAck, func(*node) any {
			return overlay.InputAck{Bytes: 1 << 40, Read: 1 << 40}
		}),
	}
}

// outputs are lines that no rank of the node has written.
func outputs() []Forgery {
	output := func(name string, id func(*node) job.RankID) Forgery {
		return Forgery{Name: "output: " + name, Root: true, at: running, commit: func(n *node) error {
			n.send(link.Stdio, n.header(overlay.KindOutput), overlay.AppendChunk(nil, id(n), stdio.Stdout, []byte("forged\n")))
			return nil
		}}
	}
	return []Forgery{
		output("of another host's rank", func(n *node) job.RankID { return job.RankID{Rank: n.otherRank()} }),
		output("of a rank that is not", func(*node) job.RankID { return job.RankID{Rank: 1 << 30} }),
		output("of a world that is not", func(n *node) job.RankID { return job.RankID{World: 9, Rank: n.first} }),
		{Name: "output: of a stream that is not", Root: true, at: running, commit: func(n *node) error {
			n.send(link.Stdio, n.header(overlay.KindOutput), overlay.AppendChunk(nil, job.RankID{Rank: n.first}, 77, []byte("forged\n")))
			return nil
		}},
		{Name: "output: cut short", Root: true, at: running, commit: func(n *node) error {
			record := overlay.AppendChunk(nil, job.RankID{Rank: n.first}, stdio.Stdout, []byte("forged\n"))
			n.send(link.Stdio, n.header(overlay.KindOutput), record[:len(record)-3])
			return nil
		}},
	}
}

// clocks are times that the parent has not asked for: it would ask again for each.
func clocks() []Forgery {
	answer := func(name string, times int, clock func(asked time.Duration) time.Duration) Forgery {
		return Forgery{Name: "pong: " + name, Root: true, at: running, commit: func(n *node) error {
			select {
			case p := <-n.pings:
				for range times {
					n.up(link.Control, overlay.KindPong, overlay.Pong{Clock: clock(p.Clock), Heard: 1, Said: 1})
				}
				return nil
			case <-n.gone:
				return errGone
			}
		}}
	}
	return []Forgery{
		answer("of another clock than was sent", 1, func(asked time.Duration) time.Duration { return asked + 1 }),
		answer("more often than was asked", 1000, func(asked time.Duration) time.Duration { return asked }),
	}
}

// wrongKinds are messages that only a parent sends, or nobody does at that time,
// or on that stream.
func wrongKinds() []Forgery {
	kind := func(name string, at moment, s link.Stream, kind tree.Kind, message any) Forgery {
		f := tell("kind: "+name, at, s, kind, func(*node) any { return message })
		f.Root = false // one place knows the kinds
		return f
	}
	ready := kind("ready on the control stream", ranged, link.Control, overlay.KindReady, overlay.Ready{})
	return []Forgery{
		kind("range", ranged, link.Service, overlay.KindRange, overlay.Range{}),
		kind("launch", running, link.KVS, overlay.KindLaunch, overlay.Launch{}),
		kind("kill", running, link.Control, overlay.KindKill, overlay.Kill{}),
		kind("signal", running, link.Control, overlay.KindSignal, overlay.Signal{Number: 9}),
		kind("resize", running, link.Control, overlay.KindResize, unix.Window{Rows: 1}),
		kind("signed", ranged, link.Service, overlay.KindSigned, overlay.SignAnswer{}),
		kind("world", running, link.KVS, overlay.KindWorld, overlay.World{}),
		kind("grow", running, link.KVS, overlay.KindGrow, overlay.Range{}),
		kind("counters that nobody asked for", running, link.Service, overlay.KindCollected, report.Collected{}),
		kind("hello again", running, link.Control, overlay.KindHello, overlay.Hello{Protocol: overlay.Protocol}),
		kind("started before the launch", ranged, link.Control, overlay.KindStarted, overlay.Started{Ranks: 1}),
		kind("failure before the launch", ranged, link.Control, overlay.KindFailure, job.Failure{Class: job.CauseExit, Code: 3}),
		kind("200, which is none", running, link.Control, 200, overlay.Kill{}),
		ready,
	}
}
