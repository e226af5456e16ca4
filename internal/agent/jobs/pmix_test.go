package jobs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/agenttest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// An answer of the root goes once to each child below which it is wanted, for those alone.
func TestAnswersOfTheRootPartOnTheirWay(t *testing.T) {
	a, _, _ := nodeOf(t, lostWarden{})
	a.self.Index = 0
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, a.inbox, nil)
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, a.inbox, a.outputOf)
	a.subtree.Begin(overlay.Ready{}, nil, 1)
	t.Cleanup(func() { a.subtree.Close() })
	var arrived []chan overlay.PMIxAnswer
	for child := range 2 {
		near, remote := memlink.Pair()
		heard := make(chan overlay.PMIxAnswer, 100)
		var far *overlay.Inbox
		far = overlay.NewInbox(func() {
			for _, e := range far.Take(nil) {
				if m, ok := e.(overlay.Message); ok && m.Header.Kind == overlay.KindPMIxAnswer {
					x, err := overlay.As[overlay.PMIxAnswer](m)
					if err == nil {
						heard <- x
					}
				}
			}
		})
		parent := overlay.NewEdge(remote, tree.Up, overlay.OfParent(), far, nil, nil)
		t.Cleanup(parent.Close)
		first := job.HostIndex(1 + 2*child)
		a.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: overlay.HostEntry{Index: first}, Rest: []overlay.HostEntry{{Index: first + 1}}})
		arrived = append(arrived, heard)
	}
	frame := pmix.Append(nil, 0, pmix.Forget{Namespace: "kvs"})
	to := []overlay.PMIxCaller{{Host: 0}, {Host: 2, Number: 5}, {Host: 3, Number: 6}, {Host: 4, Number: 7}}
	require.NoError(t, a.job.pmix.passAnswer(overlay.PMIxAnswer{To: to, Frame: frame}))
	require.Equal(t, overlay.PMIxAnswer{To: to[1:2], Frame: frame}, <-arrived[0])
	require.Equal(t, overlay.PMIxAnswer{To: to[2:], Frame: frame}, <-arrived[1])
	require.NoError(t, a.job.pmix.passAnswer(overlay.PMIxAnswer{To: to[1:2], Frame: frame}))
	require.NoError(t, a.job.pmix.passAnswer(overlay.PMIxAnswer{Frame: frame}))
	for _, heard := range arrived {
		for x := range heard {
			if x.To == nil {
				break
			}
			require.Equal(t, to[1:2], x.To)
		}
	}
	require.Error(t, a.job.pmix.passAnswer(overlay.PMIxAnswer{To: to[:1], Frame: []byte("x")}))
}

// What is called at the root is carried out there; elsewhere it is passed on as it is.
func TestCallsGoToTheRoot(t *testing.T) {
	a, w, said := nodeOf(t, lostWarden{})
	w.spec.KVSName, w.spec.Blocks, w.spec.Size = "kvs", agenttest.ThreeRanks, 3
	p := pmix.Proc{Namespace: "kvs", Rank: 1}
	publish := pmix.Publish{Proc: p, Range: pmix.RangeSession, Entries: []pmix.Entry{{Publisher: p, Key: "service", Blob: []byte("x")}}}
	c := overlay.PMIxCall{Host: 1, Number: 1, Frame: pmix.Append(nil, 1, publish)}
	m := overlay.Message{From: 0, Stream: link.Service, Value: c, Body: overlay.Encode(c),
		Header: tree.Header{Kind: overlay.KindPMIxCall, Job: job.Cold, To: tree.Launcher, From: 1}}
	require.NoError(t, a.job.pmix.call(m))
	passed := <-said
	require.Equal(t, m.Header, passed.Header)
	require.Equal(t, m.Body, passed.Body)

	a.root = true
	withChildren(t, a, []overlay.HostEntry{{Index: 2, Name: "n2"}, {Index: 1, Name: "n1"}})
	require.NoError(t, a.job.pmix.call(m))
	answer := a.job.services.lookUp(overlay.NameRequest{Op: pmi.Publish, Service: []byte("service"), Port: []byte("y")})
	require.Equal(t, pmi.ErrPublished.Error(), answer.Failure, "PMIx has it")
	require.Empty(t, a.job.services.lookUp(overlay.NameRequest{Op: pmi.Publish, Service: []byte("other"), Port: []byte("y")}).Failure)
	require.True(t, abovePMIx{atPMIx{station{j: a.job}}}.Taken("other"))
	c.Host = 2
	m.Value, m.Header.From = c, 2
	require.ErrorContains(t, a.job.pmix.call(m), `it calls for rank 1 of kvs, which is elsewhere`)
}

// What a rank has put is asked of its node, whatever its world.
func TestModexOfAnyNode(t *testing.T) {
	a, _, said := nodeOf(t, lostWarden{})
	a.self.Index = 1
	x := overlay.PMIxModex{Number: 4, Namespace: "over", Rank: 2}
	m := overlay.Message{From: tree.Up, Stream: link.KVS, Value: x, Header: tree.Header{Kind: overlay.KindPMIxModex, Job: job.Cold, To: 1, From: 0}}
	require.EqualError(t, a.job.ForServer(m), "it comes before the launch")
	a.job.pmix.atNode()
	require.NoError(t, a.job.ForServer(m))
	answer, err := overlay.As[overlay.PMIxModex](<-said)
	require.NoError(t, err)
	require.Equal(t, overlay.PMIxModex{Number: 4, Answer: true, Status: int32(pmix.NotFound)}, answer)
}
