package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// received is the next service message on a link.
func received[T any](t *testing.T, l link.Link, kind tree.Kind) T {
	t.Helper()
	for {
		frame, err := l.Recv(link.Service)
		require.NoError(t, err)
		h, body, err := tree.ParseHeader(frame)
		require.NoError(t, err)
		if h.Kind == overlay.KindRange {
			continue // what a child is told first
		}
		require.Equal(t, kind, h.Kind)
		m, err := overlay.Decode[T](body)
		require.NoError(t, err)
		return m
	}
}

// withChild is an agent with a child on host 1, which is to start hosts 2 and 3, another
// on host 4, and the far ends of the links to the parent and to the first.
func withChild(t *testing.T) (a *Agent, slot tree.Slot, above, below link.Link) {
	t.Helper()
	sink := func(tree.Header, []byte) {}
	inbox := overlay.NewInbox(func() {})
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, inbox, nil)
	a = joined(t, &Agent{inbox: inbox, requests: requests{signs: map[uint64]signOrigin{}}})
	up, above := memlink.Pair()
	a.parent = overlay.NewEdge(up, tree.Up, overlay.OfParent(), inbox, sink, nil)
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, inbox, func(tree.Slot) overlay.Sink { return sink })
	a.subtree.Worlds.Call(overlay.HostEntry{Index: 1, Name: "n1"})
	down, below := memlink.Pair()
	slot = a.subtree.Join(overlay.Joined{Link: down, Host: overlay.HostEntry{Index: 1}, Rest: []overlay.HostEntry{{Index: 2}, {Index: 3}}})
	other, _ := memlink.Pair()
	a.subtree.Join(overlay.Joined{Link: other, Host: overlay.HostEntry{Index: 4}, Rest: []overlay.HostEntry{{Index: 5}}})
	t.Cleanup(func() { above.Close(); below.Close(); other.Close(); a.parent.Close() })
	return a, slot, above, below
}

// A link takes a child's requests for what the child is to start, and for
// nothing else: least of all for the child's own host, whose root can sign
// whatever would prove it.
func TestSignaturesThatAChildMayAskFor(t *testing.T) {
	a, slot, above, below := withChild(t)
	for _, tc := range []struct {
		name     string
		by, host job.HostIndex
		allowed  bool
	}{
		{"what it starts", 1, 2, true},
		{"what a host below it starts", 2, 3, true},
		{"its own host", 1, 1, false},
		{"its own host, as if for another", 2, 1, false},
		{"another child", 1, 4, false},
		{"a host below another child", 1, 5, false},
		{"in the name of another child", 4, 2, false},
		{"this host", 1, 0, false},
		{"in the name of the launcher", job.NoHost, 2, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			proof := sshboot.Proof{HostKey: []byte("key"), Signature: []byte("signature")}
			request := sshboot.SignRequest{From: job.NoHost, Host: tc.host, Data: []byte("data"), Proof: proof}
			a.requests.childSignature(slot, overlay.SignRequest{ID: 7, By: tc.by, Request: request})
			if tc.allowed {
				passed := received[overlay.SignRequest](t, above, overlay.KindSign)
				require.Equal(t, tc.by, passed.By)
				request.From = 0 // which does not travel
				require.Equal(t, request, passed.Request)
				a.requests.signed(overlay.SignAnswer{ID: passed.ID, Signature: []byte("made")})
				answer := received[overlay.SignAnswer](t, below, overlay.KindSigned)
				require.Equal(t, overlay.SignAnswer{ID: 7, Signature: []byte("made")}, answer)
				return
			}
			answer := received[overlay.SignAnswer](t, below, overlay.KindSigned)
			require.Equal(t, uint64(7), answer.ID)
			_, err := answer.Result()
			var refusal *sshboot.RefusedError
			require.ErrorAs(t, err, &refusal)
			require.ErrorContains(t, err, "signature refused: n1 asked for a signature that concerns ")
		})
	}
}
