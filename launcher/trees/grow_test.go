package trees

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// voice is a Reporter that keeps its messages.
type voice struct{ text strings.Builder }

func (v *voice) Say(format string, args ...any)  { fmt.Fprintf(&v.text, format+"\n", args...) }
func (v *voice) Note(format string, args ...any) { v.Say(format, args...) }

// hostsNamed are hosts as they travel, with indexes in order.
func hostsNamed(names ...string) (hosts []job.Host, entries []overlay.HostEntry) {
	for i, name := range names {
		hosts = append(hosts, job.Host{Name: name})
		entries = append(entries, overlay.HostEntry{Index: job.HostIndex(i), Name: name})
	}
	return hosts, entries
}

// A host that dies while agents are being started for a spawn, and has told that
// it was ready, is one more that could not be started: the job hears of it with those.
func TestHostsDieWhileTheTreeGrows(t *testing.T) {
	tr := New(nil, &voice{}) // a job that hears of a loss would panic
	tr.up, tr.growing = true, &growth{first: 1}
	dead := []overlay.DeadHost{{Index: 2, Cause: "power"}}
	died := overlay.Message{Stream: link.Service, Header: tree.Header{Kind: overlay.KindDied}, Value: overlay.Died{Dead: dead}}
	require.NoError(t, tr.message(died))
	require.Equal(t, dead, tr.growing.died)
}

// A job may do without some hosts when it begins, a spawn that was placed may not.
func TestHostsForASpawnHaveTheirTime(t *testing.T) {
	tr := New(nil, &voice{})
	tr.ctx = t.Context()
	tr.hosts, _ = hostsNamed("a")
	tr.boot = &boot{common: overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute, MissAfter: time.Second}}}
	hosts, entries := hostsNamed("a", "b")
	tr.Extend(&Config{Kind: registry.Local(), Hosts: hosts, Entries: entries}) // fork has nothing to open
	tr.tasks.Wait()
	require.Equal(t, overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}, tr.growing.opening.common)
}

// The root and the agents that it starts for a spawn hear how deep the tree is with these:
// those above give those below longer to end than these need.
func TestASpawnsHostsCountAsLevels(t *testing.T) {
	tr := New(nil, &voice{})
	common := overlay.Common{Degree: 2, Levels: 1}
	sink := func(tree.Header, []byte) {}
	tr.subtree = overlay.NewSubtree(overlay.NewStarter(t.Context(), nil, nil, common, tr.inbox, nil), common, tr.inbox, func(tree.Slot) overlay.Sink { return sink })
	near, far := memlink.Pair()
	defer far.Close()
	hosts := make([]overlay.HostEntry, 5) // the root is above two, each of them above one
	for i := range hosts {
		hosts[i].Index = job.HostIndex(i)
	}
	tr.subtree.Join(overlay.Joined{Link: near, Host: hosts[0]})
	tr.growing = &growth{first: 1, opening: &boot{common: common, hosts: hosts}}
	tr.growthReady(growthReady{})
	frame, err := far.Recv(link.KVS)
	require.NoError(t, err)
	h, body, err := tree.ParseHeader(frame)
	require.NoError(t, err)
	require.Equal(t, overlay.KindGrow, h.Kind)
	told, err := overlay.Decode[overlay.Range](body)
	require.NoError(t, err)
	require.Equal(t, 3, told.Levels)
}
