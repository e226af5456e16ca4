package trees

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// signer makes a key.
func signer(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	s, err := ssh.NewSignerFromKey(private)
	require.NoError(t, err)
	return s, private
}

// signing is a job of the hosts a, b, c and d, whose agents know hostKey for
// the key of each; the agent on a has joined, to start the others.
func signing(t *testing.T, hostKey ssh.Signer) (tr *Tree, key []byte) {
	t.Helper()
	user, private := signer(t)
	block, err := ssh.MarshalPrivateKey(private, "")
	require.NoError(t, err)
	file := t.TempDir() + "/id"
	require.NoError(t, os.WriteFile(file, pem.EncodeToMemory(block), 0o600))
	hosts, entries := hostsNamed("a", "b", "c", "d")
	var targets []sshboot.Target
	for _, h := range hosts {
		targets = append(targets, sshboot.Target{Name: h.Name, User: "ann", HostKeys: [][]byte{hostKey.PublicKey().Marshal()},
			Identities: []sshboot.Identity{{Path: file, Given: true}}})
	}
	b := &boot{common: overlay.Common{Degree: 2}, hosts: entries}
	b.authority, err = sshboot.OpenAuthority(t.Context(), sshboot.AuthorityConfig{Targets: targets})
	require.NoError(t, err)
	t.Cleanup(b.close)

	tr = New(nil, &voice{})
	tr.boot, tr.hosts, tr.ctx = b, hosts, t.Context()
	sink := func(tree.Header, []byte) {}
	starter := overlay.NewStarter(t.Context(), nil, nil, b.common, tr.inbox, nil)
	tr.subtree = overlay.NewSubtree(starter, b.common, tr.inbox, func(tree.Slot) overlay.Sink { return sink })
	near, far := memlink.Pair()
	t.Cleanup(func() { near.Close(); far.Close() })
	tr.Handle(overlay.Joined{Link: near, Host: b.hosts[0], Rest: b.hosts[1:]})
	return tr, user.PublicKey().Marshal()
}

// ask has the root ask in the name of by, with the proof of a new session.
func ask(t *testing.T, tr *Tree, key []byte, hostKey ssh.Signer, by, host job.HostIndex) error {
	t.Helper()
	session := make([]byte, 32)
	rand.Read(session)
	signature, err := hostKey.Sign(rand.Reader, session)
	require.NoError(t, err)
	data := ssh.Marshal(struct {
		Session               []byte
		Kind                  byte
		User, Service, Method string
		Signed                bool
		Algorithm             string
		Key                   []byte
	}{session, 50, "ann", "ssh-connection", "publickey", true, ssh.KeyAlgoED25519, key})
	proof := sshboot.Proof{HostKey: hostKey.PublicKey().Marshal(), Signature: ssh.Marshal(signature)}
	tr.requests.sign(0, overlay.SignRequest{ID: 7, By: by, Request: sshboot.SignRequest{Host: host, Data: data, Proof: proof}})
	tr.tasks.Wait()
	for _, e := range tr.inbox.Take(nil) {
		if made, ok := e.(signatureMade); ok {
			require.Equal(t, uint64(7), made.answer.ID)
			_, err := made.answer.Result()
			return err
		}
	}
	require.FailNow(t, "no answer")
	return nil
}

// The launcher knows the ranges of agents: of four hosts at degree 2, a starts b and d,
// and b starts c.
func TestSignaturesByRange(t *testing.T) {
	hostKey, _ := signer(t)
	tr, key := signing(t, hostKey)
	allowed := map[job.HostIndex][]job.HostIndex{0: {1, 2, 3}, 1: {2}}
	for by := job.HostIndex(-1); by < 5; by++ {
		for host := job.HostIndex(-1); host < 5; host++ {
			err := ask(t, tr, key, hostKey, by, host)
			if slices.Contains(allowed[by], host) {
				require.NoError(t, err, "%d asks for %d", by, host)
				continue
			}
			var refusal *sshboot.RefusedError
			require.ErrorAs(t, err, &refusal, "%d asks for %d", by, host)
		}
	}
	other, _ := signer(t)
	require.ErrorContains(t, ask(t, tr, key, other, 0, 1), "host b has not proved itself")
	tr.boot.seal()
	require.ErrorContains(t, ask(t, tr, key, hostKey, 0, 1), "the job is launched")
}

// Hosts for a spawn are the root's and their own business, and no others are.
func TestSignaturesWhileTheJobGrows(t *testing.T) {
	hostKey, _ := signer(t)
	tr, key := signing(t, hostKey)
	tr.growing = &growth{first: 2, opening: tr.boot}
	tr.growthReady(growthReady{})
	for by := job.HostIndex(0); by < 4; by++ {
		for host := job.HostIndex(0); host < 4; host++ {
			err := ask(t, tr, key, hostKey, by, host)
			require.Equal(t, by == 0 && host >= 2, err == nil, "%d asks for %d: %v", by, host, err)
		}
	}
}

// slow is an authority that takes its time.
type slow struct {
	bootstrap.Authority
	release chan struct{}
}

func (s slow) Sign(context.Context, bootstrap.SignRequest) ([]byte, error) {
	<-s.release
	return []byte("signature"), nil
}

// An agent that asks without end keeps no more requests waiting than a job of its
// hosts can have.
func TestRequestsThatWaitAreBounded(t *testing.T) {
	hostKey, _ := signer(t)
	tr, _ := signing(t, hostKey) // a job of four
	release := make(chan struct{})
	tr.boot.authority = slow{tr.boot.authority, release}
	ask := func() []overlay.Event {
		tr.requests.sign(0, overlay.SignRequest{By: 0, Request: bootstrap.SignRequest{Host: 1}})
		return tr.inbox.Take(nil)
	}
	tr.inbox.Take(nil)
	for range 4 * maxAnswers {
		require.Empty(t, ask())
	}
	refused := signatureMade{0, overlay.SignAnswer{Refusal: "64 requests wait for an answer already"}}
	require.Equal(t, []overlay.Event{refused}, ask(), "it may ask again")
	close(release)
	tr.tasks.Wait()
	require.Len(t, tr.inbox.Take(nil), 4*maxAnswers)
	ask()
	tr.tasks.Wait()
	require.Zero(t, tr.requests.waiting.Load())
}

// Hosts that share a key are named, once the tree is up, with -v.
func TestHostsThatShareAKeyAreNamed(t *testing.T) {
	hostKey, _ := signer(t)
	for verbose, want := range map[int]string{0: "", 1: "hosts a,b,c,d share a host key: each of them can pass for the others\n"} {
		tr, _ := signing(t, hostKey)
		var said voice
		tr.boot.common.Verbose, tr.report = verbose, &said
		tr.tellShared()
		require.Equal(t, want, said.text.String())
	}
}

// Rights to ask for a host go by the ranges that the root starts, also where a network
// cuts them: b has nobody below it, c has d.
func TestSignaturesFollowTheCuts(t *testing.T) {
	hostKey, _ := signer(t)
	tr, key := signing(t, hostKey)
	require.NoError(t, ask(t, tr, key, hostKey, 1, 2), "in even ranges c is below b")
	for i, below := range []int{3, 0, 1, 0} {
		tr.boot.hosts[i].Cut = below
	}
	tr.boot.allow(0, tr.boot.hosts[1:])
	require.NoError(t, ask(t, tr, key, hostKey, 2, 3))
	require.NoError(t, ask(t, tr, key, hostKey, 0, 3))
	require.ErrorContains(t, ask(t, tr, key, hostKey, 1, 2), "b may not ask for c")
}

// The launcher answers for hosts that an agent is to start, by its resolver's answer at
// that time.
func TestAddressesOfHosts(t *testing.T) {
	hostKey, _ := signer(t)
	tr, _ := signing(t, hostKey) // a job of four, whose root is host 0
	tr.boot.lookUp = func(_ context.Context, h job.HostIndex) (string, error) {
		if h == 2 {
			return "10.0.0.2", nil
		}
		return "", errors.New("name b does not resolve")
	}
	for _, x := range []struct {
		by, host      job.HostIndex
		addr, refusal string
	}{{0, 2, "10.0.0.2", ""}, {0, 1, "", "name b does not resolve"}, {0, 9, "", "a may not ask for another host"}, {9, 2, "", "another host may not ask for c"}} {
		tr.requests.address(0, overlay.AddrRequest{ID: 5, By: x.by, Host: x.host})
		tr.tasks.Wait()
		events := tr.inbox.Take(nil)
		made, ok := events[len(events)-1].(signatureMade)
		require.True(t, ok)
		require.Equal(t, uint64(5), made.answer.ID)
		require.Equal(t, x.addr, string(made.answer.Signature))
		require.Equal(t, x.refusal, made.answer.Refusal)
	}
}
