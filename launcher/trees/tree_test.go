package trees

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// heardJob is a job that keeps the news of its tree.
type heardJob struct {
	heard    []string
	replaces int // times to have hosts started in place of dead ones
	over     bool
}

func (j *heardJob) hear(format string, args ...any) {
	j.heard = append(j.heard, fmt.Sprintf(format, args...))
}

func (j *heardJob) HostsTried(dead []overlay.DeadHost, tried int) bool {
	j.hear("%d of %d dead", len(dead), tried)
	j.replaces--
	return j.replaces >= 0
}
func (j *heardJob) TreeUp()                 { j.hear("up") }
func (j *heardJob) ReplaceFailed(err error) { j.hear("no others: %v", err) }
func (j *heardJob) Grown(ready overlay.Ready, err error) {
	j.hear("grown: %d, %v", len(ready.Live), err)
}
func (j *heardJob) HostsLost(dead []overlay.DeadHost)        { j.hear("lost: %d", dead[0].Index) }
func (j *heardJob) RootLost(root overlay.HostEntry, _ error) { j.hear("root lost: %s", root.Name) }
func (j *heardJob) Late()                                    { j.hear("late") }
func (j *heardJob) Noted(n overlay.Note)                     { j.hear("note of %d: %s", n.Host, n.Text) }
func (j *heardJob) Silent(n overlay.Note)                    { j.hear("silent: %d", n.Host) }
func (j *heardJob) Demanded(host job.HostIndex)              { j.hear("demanded: %d", host) }
func (j *heardJob) DemandedNext()                            { j.hear("demanded later") }
func (j *heardJob) RootTimed()                               { j.hear("timed") }
func (j *heardJob) Message(m overlay.Message) error          { j.hear("message %d", m.Header.Kind); return nil }
func (j *heardJob) Ended() bool                              { return j.over }

// onlyLink is the pipe of an agent that nobody started.
type onlyLink struct{ bootstrap.Pipe }

func (onlyLink) Close() error        { return nil }
func (onlyLink) Diagnostics() string { return "" }
func (onlyLink) PeerAddr() string    { return "" }

// rooted is a tree of hosts a, b and c, of which a has joined, to start the others.
func rooted(t *testing.T, j *heardJob) (*Tree, link.Link) {
	t.Helper()
	hosts, entries := hostsNamed("a", "b", "c")
	tr := New(j, &voice{})
	err := tr.Open(context.Background(), &Config{
		Common: overlay.Common{Degree: 2}, Hosts: hosts, Entries: entries, Ask: NewPassphrases(),
		Kind:    bootstrap.Kind{Open: func(context.Context, bootstrap.Job) (*bootstrap.Opened, error) { return &bootstrap.Opened{}, nil }},
		InOrder: func([]overlay.HostEntry) []overlay.HostEntry { return nil }, // nobody is to be started
	}, func(tree.Header, []byte) {})
	require.NoError(t, err)
	near, agent := memlink.Pair()
	require.True(t, tr.Handle(overlay.Joined{Link: near, Host: entries[0], Rest: entries[1:], Pipe: onlyLink{}}))
	tr.Begin()
	t.Cleanup(func() { agent.Close(); tr.Close() })
	return tr, agent
}

// say has the root say something.
func say(tr *Tree, kind tree.Kind, body any) {
	tr.Handle(overlay.Message{Stream: link.Service, Header: tree.Header{Kind: kind}, Value: body})
}

func live(hosts ...job.HostIndex) (r overlay.Ready) {
	for _, h := range hosts {
		r.Live = append(r.Live, overlay.NodeInfo{Index: h})
	}
	return r
}

// The job hears the living hosts once, and then that the tree is up; of losses before
// with those that never came, of later ones each.
func TestTheJobHearsOfItsTree(t *testing.T) {
	j := &heardJob{}
	tr, _ := rooted(t, j)
	say(tr, overlay.KindDied, overlay.Died{Dead: []overlay.DeadHost{{Index: 2, Cause: "power"}}})
	require.Empty(t, j.heard)
	say(tr, overlay.KindReady, live(0, 1, 2))
	require.Equal(t, []string{"1 of 3 dead", "up"}, j.heard)
	require.True(t, tr.Up())
	require.Len(t, tr.Hosts().Live, 2)
	say(tr, overlay.KindDied, overlay.Died{Dead: []overlay.DeadHost{{Index: 1, Cause: "power"}}})
	say(tr, overlay.KindDone, overlay.Done{})
	say(tr, overlay.KindDemand, overlay.Demand{Host: 1})
	tr.Handle(overlay.EdgeEnded{From: 0, Err: overlay.BrokeProtocol(context.Canceled)})
	require.Equal(t, []string{"lost: 1", fmt.Sprint("message ", overlay.KindDone), "demanded: 1", "root lost: a"}, j.heard[2:])
}

// A tree whose job has others started in place of dead hosts is not up before those are
// decided, and is asked about them alone.
func TestATreeWaitsForReplacements(t *testing.T) {
	j := &heardJob{replaces: 1}
	tr, agent := rooted(t, j)
	ready := live(0, 1)
	ready.Dead = []overlay.DeadHost{{Index: 2, Cause: "power"}}
	say(tr, overlay.KindReady, ready)
	require.Equal(t, []string{"1 of 3 dead"}, j.heard)
	require.False(t, tr.Up())

	hosts, entries := hostsNamed("a", "b", "c", "d")
	tr.growing = &growth{first: 3, early: true, opening: &boot{common: tr.boot.common, hosts: entries}}
	tr.hosts = hosts
	tr.Handle(growthReady{})
	frame, err := agent.Recv(link.KVS)
	require.NoError(t, err)
	h, _, err := tree.ParseHeader(frame)
	require.NoError(t, err)
	require.Equal(t, overlay.KindGrow, h.Kind)
	say(tr, overlay.KindGrown, live(3))
	require.Equal(t, []string{"0 of 1 dead", "up"}, j.heard[1:])
	require.Len(t, tr.Hosts().Live, 3)
	require.Len(t, tr.Hosts().Dead, 1)
}

// Nothing that comes once the job waits for nothing more is the loss of its root.
func TestALateLossIsNone(t *testing.T) {
	j := &heardJob{over: true}
	tr, _ := rooted(t, j)
	tr.Handle(overlay.EdgeEnded{From: 0, Err: context.Canceled})
	require.Empty(t, j.heard)
	require.True(t, tr.rooted())
}
