package fakeagent

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/tree"
)

// nowhere is a host that no job of a lab has.
const nowhere = 9

// Relayed are forgeries that are for others than the neighbor, or pass through it. Those
// whose name has a home of a key want a policy with homes.
func Relayed() []Forgery {
	call := func(frame []byte) func(*node) any {
		return func(n *node) any { return overlay.PMIxCall{Host: n.self.Index, Number: 1, Count: 1, Frame: frame} }
	}
	bytes := func(b ...byte) func(*node) []byte { return func(*node) []byte { return b } }
	question := func(n *node) []byte { return overlay.Encode(overlay.PMIxModex{Number: 1, Namespace: n.world.KVSName}) }
	group := func(*node) []byte { return overlay.Encode(overlay.Group{Key: []byte("WORLD:1"), Need: 3}) }
	return []Forgery{
		tell("PMIx call: an empty frame", running, link.Service, overlay.KindPMIxCall, call(nil)),
		tell("PMIx call: an answer", running, link.Service, overlay.KindPMIxCall, call(pmix.Append(nil, 1, pmix.Done{}))),
		passed(tell("PMIx call: for another host's rank", running, link.Service, overlay.KindPMIxCall, func(n *node) any {
			p := pmix.Proc{Namespace: n.world.KVSName, Rank: uint32(n.otherRank())}
			return call(pmix.Append(nil, 1, pmix.Gone{Proc: p}))(n)
		})),
		passed(relayed("PMIx modex: for a host outside", overlay.KindPMIxModex, nowhere, question)),
		relayed("PMIx modex: for host -1", overlay.KindPMIxModex, -1, question),
		relayed("group: in a world without groups", overlay.KindGroup, 0, group),
		relayed("home: without content", overlay.KindHome, 0, bytes()),
		relayed("home: of a policy that has none", overlay.KindHome, 0, bytes(7, 0, 1, 'k')),
		relayed("home: for a host outside", overlay.KindHome, nowhere, bytes(7, 0, 1, 'k')),
		passed(relayed("home: of a key whose home is elsewhere", overlay.KindHome, 0, func(n *node) []byte {
			for key := byte('a'); ; key++ {
				if cache.Home(n.world.KVSName, []byte{key}, len(n.world.Blocks)) != 0 {
					return []byte{7, 0, 1, key}
				}
			}
		})),
		relayed("board: without content", overlay.KindBoard, tree.Neighbor, bytes()),
		relayed("board: more ranks than it has", overlay.KindBoard, tree.Neighbor, bytes(1, 0, 3)),
		relayed("PMIx fence: without content", overlay.KindPMIxFence, tree.Neighbor, bytes()),
		relayed("master: where rank 0 is not", overlay.KindMaster, tree.Neighbor, bytes()),
	}
}

// relayed is a forgery on the KVS stream, for a host.
func relayed(name string, kind tree.Kind, to job.HostIndex, body func(*node) []byte) Forgery {
	return Forgery{Name: name, at: running, commit: func(n *node) error {
		h := n.header(kind)
		h.To = to
		n.send(link.KVS, h, body(n))
		return nil
	}}
}

func passed(f Forgery) Forgery {
	f.Passed = true
	return f
}

// Spares are forgeries of a host without ranks, while the others' run: which these say by
// files of the names that RankIsUp has.
func Spares() []Forgery {
	lost := func(name string, runs [][2]job.HostIndex) Forgery {
		return Forgery{Name: "sparelie: " + name, at: launched, commit: func(n *node) error {
			for r := range n.world.Size {
				if err := awaitFile(RankIsUp(r)); err != nil {
					return err
				}
			}
			n.up(link.Control, overlay.KindFailure, job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: n.self.Index, Phase: "running", Text: "lost", Lost: runs})
			select {
			case <-n.gone:
			case <-time.After(patience):
			}
			return os.WriteFile(RanksMayEnd(), nil, 0o600)
		}}
	}
	return []Forgery{
		lost("an honest spare is lost", [][2]job.HostIndex{{2, 4}}),
		lost("all others are lost", [][2]job.HostIndex{{0, 4}}),
		lost("hosts that are not", [][2]job.HostIndex{{3, math.MaxInt32}}),
	}
}

// RankIsUp is a file that all nodes see, beside the login shell, by which a rank says that
// it runs.
func RankIsUp(rank int) string {
	self, _ := os.Executable()
	return filepath.Join(filepath.Dir(self), fmt.Sprint("up.", rank))
}

// RanksMayEnd is one by which the fake says that golaunch has had its time to answer.
func RanksMayEnd() string { return filepath.Join(filepath.Dir(RankIsUp(0)), "end") }

// awaitFile waits for a file as long as others may take to start.
func awaitFile(name string) error {
	for begun := time.Now(); ; {
		if _, err := os.Stat(name); err == nil || time.Since(begun) > time.Minute {
			return err
		}
		<-time.After(50 * time.Millisecond)
	}
}
