package sshboot

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/job"
)

// hostile is an agent that asks the launcher for more than its log-ins: on
// host 0 of a job, with the others below it.
type hostile struct{ *Authority }

// logIn tries to log in to s, and asks the launcher for what forge makes of the
// request that an honest agent would send.
func (h hostile) logIn(t *testing.T, s *bootstraptest.SSHD, forge func(*SignRequest)) (refused error) {
	t.Helper()
	target := targetOf(s)
	d, err := New(DialerConfig{
		Targets: func(job.HostIndex) (Target, bool) { return target, true },
		Keys:    h.Keys(), PreferKey: -1,
		Sign: func(ctx context.Context, r SignRequest) ([]byte, error) {
			forge(&r)
			r.From = 0
			signature, err := h.Sign(ctx, r)
			refused = err
			return signature, err
		},
	})
	require.NoError(t, err)
	p, err := d.Start(t.Context(), n0, []string{"true"})
	if err == nil {
		require.NoError(t, p.Close())
	}
	require.Equal(t, err == nil, refused == nil, "%v, %v", err, refused)
	return refused
}

// targetOf returns the Target of s in a job that knows its host key.
func targetOf(s *bootstraptest.SSHD) Target {
	return Target{
		Name: fmt.Sprint("n", s.Port), HostName: s.Addr, Addr: s.Addr, KeyName: s.Addr, Port: s.Port, User: s.User,
		HostKeys: [][]byte{s.HostKey.Marshal()}, Identities: []Identity{{s.Identity, true}},
	}
}

// servers returns sshds that all let the key of the first one in.
func servers(t *testing.T, n int) []*bootstraptest.SSHD {
	var all []*bootstraptest.SSHD
	for i := range n {
		s := bootstraptest.StartSSHD(t)
		if all = append(all, s); i > 0 {
			s.Identity = all[0].Identity
			require.NoError(t, os.WriteFile(s.Dir+"/authorized_keys", []byte(mustRead(t, all[0].Dir+"/authorized_keys")), 0o600))
		}
	}
	return all
}

// hostileJob returns a job whose hosts are the hostile one and, from host 1 on, those
// of targets.
func hostileJob(t *testing.T, cfg AuthorityConfig, targets ...Target) hostile {
	cfg.Targets = append([]Target{{Name: "n0", User: targets[0].User, Identities: targets[0].Identities}}, targets...)
	a := open(t, cfg)
	var below []job.HostIndex
	for i := range targets {
		below = append(below, job.HostIndex(i+1))
	}
	a.Allow(0, [][]job.HostIndex{below})
	return hostile{a}
}

// letIn checks what the log of s says of the one log-in that was tried: whether
// it came about is for the server to say.
func letIn(t *testing.T, s *bootstraptest.SSHD, want bool) {
	t.Helper()
	const accepted = "Accepted publickey for"
	line := s.WaitLog(t, accepted, "Connection closed by authenticating user", "Connection reset by authenticating user")
	require.Equal(t, want, strings.Contains(line, accepted), line)
}

// A node that speaks for the launcher's keys logs in nowhere but to the hosts
// below it, each of which has to prove itself.
func TestNoSignatureForAnotherServer(t *testing.T) {
	sshds := servers(t, 8)
	h := hostileJob(t, AuthorityConfig{}, targetOf(sshds[0]), targetOf(sshds[1]))
	var honest SignRequest // signed for host 1
	for i, tc := range []struct {
		name    string
		forge   func(*SignRequest)
		refused string // "" if it is signed
	}{
		{"host 1", func(r *SignRequest) { r.Host, honest = 1, *r; honest.Host = 1 }, ""},
		{"host 2 in the name of host 1", func(r *SignRequest) { r.Host = 1 }, "is not the one in known_hosts"},
		{"a stranger without a proof", func(r *SignRequest) { r.Host, r.Proof = 1, Proof{} }, "host key is malformed"},
		{"a stranger with its own proof", func(r *SignRequest) { r.Host = 1 }, "is not the one in known_hosts"},
		{"a stranger with its own number", func(r *SignRequest) { r.Host = 3 }, "a host that is not planned"},
		{"a stranger with the proof of host 1", func(r *SignRequest) { r.Host, r.Proof = 1, honest.Proof }, "is not one with the owner of key"},
		{"a stranger with the key of host 1", func(r *SignRequest) { r.Host, r.Proof.HostKey = 1, honest.Proof.HostKey }, "is not one with the owner of key"},
		{"a stranger with the session of host 1", func(r *SignRequest) { *r = honest }, "that session was signed for before"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := h.logIn(t, sshds[i], tc.forge)
			if tc.refused != "" {
				var refusal *RefusedError
				require.ErrorAs(t, err, &refusal)
				require.ErrorContains(t, err, tc.refused)
			}
			letIn(t, sshds[i], tc.refused == "")
		})
	}
}

// Where keys need not be known, a host is held to the one it has shown, and
// what is known to be another host's is not its own.
func TestHostsAreHeldToTheirKeys(t *testing.T) {
	for _, policy := range []Policy{AcceptNew, AcceptAny} {
		t.Run(fmt.Sprint(policy), func(t *testing.T) {
			sshds := servers(t, 5)
			one, stranger, other := targetOf(sshds[0]), sshds[3], sshds[4]
			one.HostKeys, one.Policy = nil, policy
			two, three := one, one
			two.Name, three.Name = "two", "three"
			c := &Config{known: map[string]*knownHosts{
				"/absent": nil, "/known": parseKnownHosts("/known", "# a comment\nother,o* "+keyText(other.HostKey)+"\n@revoked x "+keyText(sshds[0].HostKey)+"\n"),
			}}
			h := hostileJob(t, AuthorityConfig{Elsewhere: c.Elsewhere}, one, two, three)
			require.Empty(t, h.Shared())
			to := func(host job.HostIndex) func(*SignRequest) { return func(r *SignRequest) { r.Host = host } }

			require.NoError(t, h.logIn(t, sshds[0], to(1)))
			require.NoError(t, h.logIn(t, sshds[0], to(1)), "it is started again")
			require.ErrorContains(t, h.logIn(t, stranger, to(1)), "and has shown another for this job")
			letIn(t, stranger, false)
			require.ErrorContains(t, h.logIn(t, other, to(2)), "known, but only for other hosts (/known:2)")
			letIn(t, other, false)
			require.NoError(t, h.logIn(t, sshds[1], to(2)))
			require.Empty(t, h.Shared())
			require.NoError(t, h.logIn(t, sshds[0], to(3)), "a cloned image")
			require.Equal(t, [][]job.HostIndex{{1, 3}}, h.Shared())
		})
	}
}

// threeHosts returns an authority for hosts 0 to 2, the last of which is as given, and
// what asks it for a signature for that one in a new session.
func threeHosts(t *testing.T, cfg AuthorityConfig, victim Target) (a *Authority, sign func(from job.HostIndex, shown ssh.Signer) error) {
	dir := t.TempDir()
	key := saveKey(t, dir+"/id", newEd25519(t))
	cfg.Targets = []Target{{Name: "hostile"}, {Name: "honest"}, victim}
	for i := range cfg.Targets {
		cfg.Targets[i].User, cfg.Targets[i].Identities = "ann", []Identity{{dir + "/id", true}}
	}
	a = open(t, cfg)
	return a, func(from job.HostIndex, shown ssh.Signer) error {
		data := request("ann", "ssh-ed25519", key.Marshal())
		data.session = make([]byte, 32)
		rand.Read(data.session)
		_, err := a.Sign(t.Context(), SignRequest{From: from, Host: 2, Data: data.bytes(), Proof: proofOf(t, shown, ssh.KeyAlgoED25519, data.session)})
		return err
	}
}

// A hostile node that is the first to prove a key of a host that nobody knows keeps
// the host out of the job: an honest agent that takes the range over is refused.
func TestAFalseKeyKeepsAHostOut(t *testing.T) {
	truth, lie := newSigner(t, "ed25519"), newSigner(t, "ed25519")
	a, sign := threeHosts(t, AuthorityConfig{}, Target{Name: "victim", Policy: AcceptNew})
	a.Allow(0, [][]job.HostIndex{{1, 2}})
	require.NoError(t, sign(0, lie))
	a.Allow(1, [][]job.HostIndex{{2}}) // the hostile node was lost
	require.ErrorContains(t, sign(1, truth), "host victim shows the key")
	require.NoError(t, sign(1, lie), "the false key is the host's for this job")
}

// A key that known_hosts has for others only is the host's own where it is known to be the
// same host; the host is held to it as to any that was not known for it.
func TestAKeyOfTheSameHostByAnotherName(t *testing.T) {
	own, other := newSigner(t, "ed25519"), newSigner(t, "ed25519")
	known := AuthorityConfig{
		Elsewhere: func([]byte) string { return "/known:2" },
		SameHost: func(_ context.Context, key []byte, _ *Target) bool {
			return bytes.Equal(key, own.PublicKey().Marshal())
		},
	}
	for _, policy := range []Policy{AcceptNew, AcceptAny} {
		a, sign := threeHosts(t, known, Target{Name: "victim", Policy: policy})
		a.Allow(0, [][]job.HostIndex{{1, 2}})
		require.ErrorContains(t, sign(0, other), "is known, but only for other hosts (/known:2)")
		require.NoError(t, sign(0, own))
		require.NoError(t, sign(0, own))
	}
	a, sign := threeHosts(t, known, Target{Name: "victim", Policy: Strict})
	a.Allow(0, [][]job.HostIndex{{1, 2}})
	require.ErrorContains(t, sign(0, own), "is not known", "who demands known keys gets them alone")
}

// Under "no" a host may show any key instead of the one that is known.
func TestNoAcceptsAnyKeyInsteadOfTheKnown(t *testing.T) {
	known := newSigner(t, "ed25519").PublicKey().Marshal()
	elsewhere := func([]byte) string { return "/known:2" }
	a, sign := threeHosts(t, AuthorityConfig{Elsewhere: elsewhere}, Target{Name: "victim", Policy: AcceptAny, HostKeys: [][]byte{known}})
	a.Allow(0, [][]job.HostIndex{{1, 2}})
	require.NoError(t, sign(0, newSigner(t, "ed25519")))
	require.NoError(t, sign(0, newSigner(t, "ed25519")))
}

// Sharers are found in known_hosts, once for all keys they share.
func TestSharedHostKeys(t *testing.T) {
	key := func() []byte { return newSigner(t, "ed25519").PublicKey().Marshal() }
	a, b, c := key(), key(), key()
	authority := open(t, AuthorityConfig{Targets: []Target{{HostKeys: [][]byte{a, b}}, {HostKeys: [][]byte{c}}, {HostKeys: [][]byte{b, a}}, {HostKeys: [][]byte{c}}, {}}})
	require.Equal(t, [][]job.HostIndex{{0, 2}, {1, 3}}, authority.Shared())
}

// proofOf returns the proof of a session with a host that has signer for its key.
func proofOf(t testing.TB, signer ssh.Signer, algorithm string, session []byte) Proof {
	t.Helper()
	signature, err := signer.(ssh.AlgorithmSigner).SignWithAlgorithm(rand.Reader, session, algorithm)
	require.NoError(t, err)
	return Proof{HostKey: signer.PublicKey().Marshal(), Signature: ssh.Marshal(signature)}
}

func TestProofs(t *testing.T) {
	ed, ecdsaKey, rsaKey, ca := newSigner(t, "ed25519"), newSigner(t, "ecdsa"), newSigner(t, "rsa"), newSigner(t, "ed25519")
	certify := func(s ssh.Signer, principal string, kind uint32) ssh.Signer {
		cert := &ssh.Certificate{Key: s.PublicKey(), CertType: kind, ValidPrincipals: []string{principal}, ValidBefore: ssh.CertTimeInfinity}
		require.NoError(t, cert.SignCert(rand.Reader, ca))
		signer, err := ssh.NewCertSigner(cert, s)
		require.NoError(t, err)
		return signer
	}
	blob := func(s ssh.Signer) []byte { return s.PublicKey().Marshal() }
	known := func(keys ...ssh.Signer) Target {
		t := Target{Name: "n1", KeyName: "n1"}
		for _, k := range keys {
			t.HostKeys = append(t.HostKeys, blob(k))
		}
		return t
	}
	certified := Target{Name: "n1", KeyName: "n1", CAs: [][]byte{blob(ca)}}
	revoked := known(ed)
	revoked.Revoked = revoked.HostKeys
	session := []byte("the first exchange hash is this.")
	for _, tc := range []struct {
		name      string
		target    Target
		signer    ssh.Signer
		algorithm string
		change    func(*Proof)
		refused   string
	}{
		{name: "ed25519", target: known(ed), signer: ed},
		{name: "ecdsa", target: known(ecdsaKey), signer: ecdsaKey},
		{name: "rsa", target: known(rsaKey), signer: rsaKey, algorithm: ssh.KeyAlgoRSASHA256},
		{name: "rsa with sha-512", target: known(rsaKey), signer: rsaKey, algorithm: ssh.KeyAlgoRSASHA512},
		{name: "rsa with sha-1", target: known(rsaKey), signer: rsaKey, algorithm: ssh.KeyAlgoRSA, refused: `signature algorithm "ssh-rsa"`},
		{name: "rsa with sha-1, any key", target: Target{Name: "n1", Policy: AcceptAny}, signer: rsaKey, algorithm: ssh.KeyAlgoRSA, refused: `signature algorithm "ssh-rsa"`},
		{name: "certificate", target: certified, signer: certify(ed, "n1", ssh.HostCert)},
		{name: "certificate of an rsa key", target: certified, signer: certify(rsaKey, "n*", ssh.HostCert), algorithm: ssh.KeyAlgoRSASHA256},
		{name: "certificate of an rsa key with sha-1", target: certified, signer: certify(rsaKey, "n1", ssh.HostCert), algorithm: ssh.KeyAlgoRSA, refused: `signature algorithm "ssh-rsa"`},
		{name: "certificate of another host", target: certified, signer: certify(ed, "n2", ssh.HostCert), refused: `principal "n1" not in the set`},
		{name: "certificate of a user", target: certified, signer: certify(ed, "n1", ssh.UserCert), refused: "it is not for hosts"},
		{name: "certificate where the key is known", target: known(ed), signer: certify(ed, "n1", ssh.HostCert), refused: `signature algorithm "ssh-ed25519" is none of`},
		{name: "revoked", target: revoked, signer: ed, refused: "is revoked"},
		{name: "unknown", target: Target{Name: "n1"}, signer: ed, refused: "is not known"},
		{name: "another key", target: known(rsaKey), signer: ed, refused: "is not the one in known_hosts"},
		{name: "a key of no host", target: known(ed), signer: ed, change: func(p *Proof) { p.HostKey = p.HostKey[1:] }, refused: "host key is malformed"},
		{name: "signature cut short", target: known(ed), signer: ed, change: func(p *Proof) { p.Signature = p.Signature[:20] }, refused: "signature is malformed"},
		{name: "bytes after the signature", target: known(ed), signer: ed, change: func(p *Proof) { p.Signature = append(p.Signature, 0) }, refused: "signature is malformed"},
		{name: "another signature", target: known(ed), signer: ed, change: func(p *Proof) { p.Signature[len(p.Signature)-1] ^= 1 }, refused: "is not one with the owner of key ssh-ed25519"},
		{name: "too long", target: known(ed), signer: ed, change: func(p *Proof) { p.Signature = make([]byte, maxString+1) }, refused: "longer than 65536 bytes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := open(t, AuthorityConfig{})
			algorithm := cmp.Or(tc.algorithm, underlying(tc.signer))
			p := proofOf(t, tc.signer, algorithm, session)
			if tc.change != nil {
				tc.change(&p)
			}
			_, err := a.prove(t.Context(), &tc.target, session, p)
			if tc.refused == "" {
				require.NoError(t, err)
				return
			}
			var refusal *RefusedError
			require.ErrorAs(t, err, &refusal)
			require.ErrorContains(t, err, "host n1 has not proved itself: ")
			require.ErrorContains(t, err, tc.refused)
		})
	}
}

// underlying returns the one signature format of a key that is not RSA.
func underlying(s ssh.Signer) string {
	for _, format := range signatureAlgorithms[s.PublicKey().Type()] {
		return format
	}
	return ""
}

// Each agent asks for what is behind it, whoever of its part is the first to
// answer; nobody asks for itself.
func TestRangesOfAgents(t *testing.T) {
	a := open(t, AuthorityConfig{Targets: make([]Target, 8)})
	may := func(from, host job.HostIndex) bool { return a.mayAsk(from, host) == nil }
	require.False(t, may(0, 1), "nothing is allowed yet")
	require.False(t, may(job.NoHost, 1))
	// Host 2 is the root since host 0 was silent; it has two children.
	a.Allow(2, [][]job.HostIndex{{0, 3, 4}, {5, 6}})
	for from := range job.HostIndex(8) {
		for host := range job.HostIndex(8) {
			want := slices.Contains(map[job.HostIndex][]job.HostIndex{2: {0, 3, 4, 5, 6}, 0: {3, 4}, 3: {4}, 5: {6}}[from], host)
			require.Equal(t, want, may(from, host), "%d asks for %d", from, host)
		}
	}
	a.Allow(3, [][]job.HostIndex{{4, 5, 6}})
	require.False(t, may(2, 4), "the root is another")
	require.True(t, may(3, 6))
	require.True(t, may(4, 5))
}

// BenchmarkProof measures the cost of a proof at the launcher, per type of the host
// key.
func BenchmarkProof(b *testing.B) {
	session := make([]byte, 32)
	rsa4096, err := rsa.GenerateKey(rand.Reader, 4096)
	require.NoError(b, err)
	big, err := ssh.NewSignerFromKey(rsa4096)
	require.NoError(b, err)
	for _, tc := range []struct {
		name      string
		signer    ssh.Signer
		algorithm string
	}{
		{"ed25519", newSigner(b, "ed25519"), ssh.KeyAlgoED25519},
		{"ecdsa-p256", newSigner(b, "ecdsa"), ssh.KeyAlgoECDSA256},
		{"rsa-2048", newSigner(b, "rsa"), ssh.KeyAlgoRSASHA256},
		{"rsa-4096", big, ssh.KeyAlgoRSASHA512},
	} {
		b.Run(tc.name, func(b *testing.B) {
			a := open(b, AuthorityConfig{})
			target := Target{HostKeys: [][]byte{tc.signer.PublicKey().Marshal()}}
			p := proofOf(b, tc.signer, tc.algorithm, session)
			before := cpuTime(b)
			for b.Loop() {
				_, err := a.prove(b.Context(), &target, session, p)
				require.NoError(b, err)
			}
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
		})
	}
}
