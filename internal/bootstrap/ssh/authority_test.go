package sshboot

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/golaunch/golaunch/internal/job"
)

// authData builds what a client signs (RFC 4252 section 7), field by field.
type authData struct {
	session         []byte
	message         byte
	user            string
	service, method string
	signed          byte
	algorithm       string
	key             []byte
	trailer         string
}

func request(user, algorithm string, key []byte) authData {
	return authData{session: make([]byte, 32), message: 50, user: user, service: "ssh-connection", method: "publickey", signed: 1, algorithm: algorithm, key: key}
}

func (d authData) bytes() []byte {
	var out []byte
	str := func(s []byte) { out = append(binary.BigEndian.AppendUint32(out, uint32(len(s))), s...) }
	str(d.session)
	out = append(out, d.message)
	str([]byte(d.user))
	str([]byte(d.service))
	str([]byte(d.method))
	out = append(out, d.signed)
	str([]byte(d.algorithm))
	str(d.key)
	return append(out, d.trailer...)
}

func TestParseAuthRequest(t *testing.T) {
	good := request("ann", "ssh-ed25519", []byte("key"))
	r, err := parseAuthRequest(good.bytes())
	require.NoError(t, err)
	require.Equal(t, authRequest{session: make([]byte, 32), user: "ann", algorithm: "ssh-ed25519", key: []byte("key")}, r)

	for name, change := range map[string]func(*authData){
		"session identifier": func(d *authData) { d.session = []byte("short") },
		"not a user auth":    func(d *authData) { d.message = 51 },
		"service is":         func(d *authData) { d.service = "ssh-userauth" },
		"method is":          func(d *authData) { d.method = "hostbased" },
		"no signature":       func(d *authData) { d.signed = 0 },
		"bytes follow":       func(d *authData) { d.trailer = "x" },
		"longer than":        func(d *authData) { d.trailer = strings.Repeat("x", maxSignData) },
	} {
		t.Run(name, func(t *testing.T) {
			d := good
			change(&d)
			_, err := parseAuthRequest(d.bytes())
			require.ErrorContains(t, err, name)
		})
	}
	whole := good.bytes()
	for n := range whole {
		_, err := parseAuthRequest(whole[:n])
		require.Error(t, err, "cut at %d", n)
	}
}

// Whatever is accepted is, byte for byte, a publickey request.
func FuzzParseAuthRequest(f *testing.F) {
	f.Add(request("ann", "ssh-ed25519", []byte("key")).bytes())
	f.Add([]byte{})
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseAuthRequest(data)
		if err != nil {
			return
		}
		session, _, ok := cutString(data)
		require.True(t, ok)
		again := request(r.user, r.algorithm, r.key)
		again.session = session
		require.Equal(t, data, again.bytes())
	})
}

// saveKey writes a private key file and returns its public half.
func saveKey(t testing.TB, path string, key any) ssh.PublicKey {
	t.Helper()
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	writeFile(t, filepath.Dir(path), filepath.Base(path), string(pem.EncodeToMemory(block)))
	s, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	return s.PublicKey()
}

// saveLocked writes what looks like an encrypted key file (openssh-portable,
// PROTOCOL.key), without the time it takes to make a real one.
func saveLocked(t testing.TB, path string, key any) ssh.PublicKey {
	t.Helper()
	s, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	block := pem.Block{Type: "OPENSSH PRIVATE KEY", Bytes: append([]byte("openssh-key-v1\x00"), ssh.Marshal(struct {
		Cipher, KDF, Options string
		Count                uint32
		Public, Private      []byte
	}{Cipher: "aes256-ctr", KDF: "bcrypt", Options: "\x00\x00\x00\x04salt\x00\x00\x00\x10", Count: 1, Public: s.PublicKey().Marshal(), Private: make([]byte, 160)})...)}
	writeFile(t, filepath.Dir(path), filepath.Base(path), string(pem.EncodeToMemory(&block)))
	return s.PublicKey()
}

func newEd25519(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return key
}

// startAgent serves an ssh-agent with those keys until the test ends.
func startAgent(t testing.TB, keys ...agent.AddedKey) (socket string) {
	t.Helper()
	ring := agent.NewKeyring()
	for _, k := range keys {
		require.NoError(t, ring.Add(k))
	}
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { // ends when the listener is closed
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(ring, c) // one client at a time is enough
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return socket
}

func open(t testing.TB, cfg AuthorityConfig) *Authority {
	t.Helper()
	a, err := OpenAuthority(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func verify(t testing.TB, key ssh.PublicKey, data, signature []byte) {
	t.Helper()
	var sig ssh.Signature
	require.NoError(t, ssh.Unmarshal(signature, &sig))
	require.NoError(t, key.Verify(data, &sig))
}

func TestSignOnlyWhatWasPlanned(t *testing.T) {
	dir := t.TempDir()
	key := saveKey(t, dir+"/id", newEd25519(t))
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsaPub := saveKey(t, dir+"/rsa", rsaKey)
	identities := []Identity{{dir + "/id", true}, {dir + "/rsa", true}}
	targets := []Target{
		{Name: "n0", User: "ann", Identities: identities},
		{Name: "n1", User: "ann", Identities: identities, Jump: []Target{{Name: "gate", User: "gina", Identities: identities[:1]}}},
		{Name: "n2", User: "bob", Identities: identities[1:]},
		{Name: "n3", User: "ann", Identities: []Identity{{dir + "/absent", false}}},
	}
	hostKey := newSigner(t, "ed25519")
	for i := range targets {
		targets[i].HostKeys = [][]byte{hostKey.PublicKey().Marshal()}
	}
	a := open(t, AuthorityConfig{Targets: targets})
	require.Len(t, a.Keys(), 2)
	a.Allow(0, [][]job.HostIndex{{1, 2}})
	blob := key.Marshal()
	good := request("ann", "ssh-ed25519", blob)

	for i, tc := range []struct {
		name       string
		from, host job.HostIndex
		data       authData
		refused    string // "" if it is signed
	}{
		{name: "launcher", from: job.NoHost, data: good},
		{name: "agent in range", host: 1, data: good},
		{name: "rsa with sha-2", host: 2, data: request("bob", "rsa-sha2-256", rsaPub.Marshal())},
		{name: "rsa with sha-1", host: 2, data: request("bob", "ssh-rsa", rsaPub.Marshal()), refused: "does not fit the key"},
		{name: "algorithm of another type", host: 1, data: request("ann", "rsa-sha2-256", blob), refused: "does not fit the key"},
		{name: "below the range", data: good, refused: "n0 may not ask for n0"},
		{name: "above the range", host: 3, data: good, refused: "not planned with"},
		{name: "agent without a range", from: 2, host: 1, data: good, refused: "may not ask"},
		{name: "host that is not planned", host: 4, data: good, refused: "not planned"},
		{name: "negative host", from: job.NoHost, host: -1, data: good, refused: "not planned"},
		{name: "another user", host: 1, data: request("root", "ssh-ed25519", blob), refused: "not planned with user"},
		{name: "key that is not offered there", host: 2, data: request("bob", "ssh-ed25519", blob), refused: "not planned with"},
		{name: "key that is not ours", host: 1, data: request("ann", "ssh-ed25519", newSigner(t, "ed25519").PublicKey().Marshal()), refused: "not one of ours"},
		{name: "jump host for the launcher", from: job.NoHost, host: 1, data: request("gina", "ssh-ed25519", blob)},
		{name: "jump host for an agent", host: 1, data: request("gina", "ssh-ed25519", blob), refused: "not planned with"},
		{name: "host without any key", from: job.NoHost, host: 3, data: good, refused: "not planned with"},
		{name: "another message", host: 1, data: authData{session: make([]byte, 32)}, refused: "not a user authentication request"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.data.session = bytes.Repeat([]byte{byte(i)}, 32)
			r := SignRequest{From: tc.from, Host: tc.host, Data: tc.data.bytes()}
			if tc.from != job.NoHost {
				r.Proof = proofOf(t, hostKey, ssh.KeyAlgoED25519, tc.data.session)
			}
			sig, err := a.Sign(t.Context(), r)
			if tc.refused != "" {
				var refused *RefusedError
				require.ErrorAs(t, err, &refused)
				require.ErrorContains(t, err, tc.refused)
				return
			}
			require.NoError(t, err)
			pub, err := ssh.ParsePublicKey(tc.data.key)
			require.NoError(t, err)
			verify(t, pub, tc.data.bytes(), sig)
		})
	}
}

func TestSignaturesAreCountedAndEnd(t *testing.T) {
	dir := t.TempDir()
	key, hostKey := saveKey(t, dir+"/id", newEd25519(t)), newSigner(t, "ed25519")
	targets := []Target{{Name: "n0"}, {Name: "n1"}, {Name: "n2"}, {Name: "n3"}}
	for i := range targets {
		targets[i].User, targets[i].Identities = "ann", []Identity{{dir + "/id", true}}
		targets[i].HostKeys = [][]byte{hostKey.PublicKey().Marshal()}
	}
	a := open(t, AuthorityConfig{Targets: targets, LogIns: 2})
	data := request("ann", "ssh-ed25519", key.Marshal())
	ask := func(from, host job.HostIndex) error {
		r := SignRequest{From: from, Host: host, Data: data.bytes(), Proof: proofOf(t, hostKey, ssh.KeyAlgoED25519, data.session)}
		_, err := a.Sign(context.Background(), r)
		return err
	}
	sign := func(from, host job.HostIndex) error { // in a new session
		data.session = make([]byte, 32)
		rand.Read(data.session)
		return ask(from, host)
	}
	a.Allow(0, [][]job.HostIndex{{1, 2, 3}})
	require.NoError(t, sign(0, 2))
	require.ErrorContains(t, ask(0, 2), "that session was signed for before")
	require.ErrorContains(t, ask(0, 3), "that session was signed for before", "for another host with the same key")
	a.Allow(1, [][]job.HostIndex{{2, 3}}) // host 0 was lost
	require.NoError(t, sign(1, 2))
	require.ErrorContains(t, sign(1, 2), "host n2: 2 log-ins have been signed for", "by whomever")
	require.NoError(t, sign(2, 3), "each host is counted by itself")
	require.ErrorContains(t, sign(0, 3), "may not ask", "its range is another's")
	for range 10 {
		require.NoError(t, ask(job.NoHost, 0), "the launcher is not counted")
	}
	a.Seal()
	require.ErrorIs(t, sign(job.NoHost, 0), ErrSealed)
	require.ErrorIs(t, sign(2, 3), ErrSealed)
}

func TestKeysComeInTheOrderOfOpenSSH(t *testing.T) {
	dir := t.TempDir()
	plain := saveKey(t, dir+"/plain", newEd25519(t))
	lockedKey, onlyInAgent, unrelated := newEd25519(t), newEd25519(t), newEd25519(t)
	locked := saveLocked(t, dir+"/locked", lockedKey)
	saveLocked(t, dir+"/encrypted", newEd25519(t))
	other, err := ssh.NewSignerFromKey(onlyInAgent)
	require.NoError(t, err)
	writeFile(t, dir, "chosen.pub", keyText(other.PublicKey()))
	saveKey(t, dir+"/open", newEd25519(t))
	require.NoError(t, os.Chmod(dir+"/open", 0o644))
	writeFile(t, dir, "garbage", "hello")
	stranger, err := ssh.NewSignerFromKey(unrelated)
	require.NoError(t, err)

	socket := startAgent(t, agent.AddedKey{PrivateKey: unrelated, Comment: "stranger"}, agent.AddedKey{PrivateKey: lockedKey}, agent.AddedKey{PrivateKey: onlyInAgent})
	all := []Identity{{dir + "/plain", true}, {dir + "/locked", true}, {dir + "/chosen.pub", true}, {dir + "/encrypted", true},
		{dir + "/open", true}, {dir + "/garbage", true}, {dir + "/absent", true}, {dir + "/default", false}}
	targets := []Target{
		{Name: "any", User: "ann", Identities: all},
		{Name: "only", User: "ann", Identities: all, IdentitiesOnly: true},
		{Name: "none", User: "ann", IdentitiesOnly: true, Identities: []Identity{{dir + "/absent", true}}},
	}
	a := open(t, AuthorityConfig{AgentSocket: socket, Targets: targets})
	names := func(indices []int) (out []string) {
		for _, i := range indices {
			require.Less(t, i, len(a.Keys()))
			out = append(out, string(a.Keys()[i].Blob))
		}
		return out
	}
	blob := func(k ssh.PublicKey) string { return string(k.Marshal()) }
	require.Equal(t, []string{blob(locked), blob(other.PublicKey()), blob(stranger.PublicKey()), blob(plain)}, names(targets[0].Keys))
	require.Equal(t, []string{blob(locked), blob(other.PublicKey()), blob(plain)}, names(targets[1].Keys))
	require.Equal(t, []int{noKey}, targets[2].Keys)

	notes := strings.Join(a.Notes(), "\n")
	assert.Contains(t, notes, dir+"/encrypted: encrypted; unlock it with: ssh-add "+dir+"/encrypted")
	assert.Contains(t, notes, dir+"/open: others may read it (mode 0644)")
	assert.Contains(t, notes, dir+"/garbage: ")
	assert.Contains(t, notes, dir+"/absent: no such file")
	assert.NotContains(t, notes, "default")
	assert.NotContains(t, notes, "locked")

	data := request("ann", "ssh-ed25519", locked.Marshal()).bytes()
	sig, err := a.Sign(t.Context(), SignRequest{From: job.NoHost, Host: 0, Data: data})
	require.NoError(t, err)
	verify(t, locked, data, sig)
}

func TestCertificateBesideTheKeyComesFirst(t *testing.T) {
	dir := t.TempDir()
	pub := saveKey(t, dir+"/id", newEd25519(t))
	ca := newSigner(t, "ed25519")
	cert := &ssh.Certificate{Key: pub, CertType: ssh.UserCert, ValidPrincipals: []string{"ann"}, ValidBefore: ssh.CertTimeInfinity}
	require.NoError(t, cert.SignCert(rand.Reader, ca))
	writeFile(t, dir, "id-cert.pub", keyText(cert))
	targets := []Target{{Name: "n0", User: "ann", Identities: []Identity{{dir + "/id", true}}}}
	a := open(t, AuthorityConfig{Targets: targets})
	require.Len(t, targets[0].Keys, 2)
	require.Equal(t, cert.Marshal(), a.Keys()[targets[0].Keys[0]].Blob)
	data := request("ann", ssh.CertAlgoED25519v01, cert.Marshal()).bytes()
	sig, err := a.Sign(t.Context(), SignRequest{From: job.NoHost, Host: 0, Data: data})
	require.NoError(t, err)
	verify(t, pub, data, sig)
}

func TestAgentThatDoesNotAnswer(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "agent")
	a := open(t, AuthorityConfig{AgentSocket: socket, Targets: []Target{{Name: "n0"}}})
	require.Len(t, a.Notes(), 1)
	require.Contains(t, a.Notes()[0], socket)

	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // accepts and stays silent; ends with the connection
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		cancel()
		_, _ = io.Copy(io.Discard, c)
	}()
	_, err = OpenAuthority(ctx, AuthorityConfig{AgentSocket: socket, Targets: []Target{{Name: "n0"}}})
	require.ErrorIs(t, err, context.Canceled)
}

// The user is asked once for the passphrase of a key file that the configuration names,
// and of the usual ones where there is no other key.
func TestPassphrases(t *testing.T) {
	dir := t.TempDir()
	key, plain := newEd25519(t), newEd25519(t)
	block, err := ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte("secret"))
	require.NoError(t, err)
	writeFile(t, dir, "locked", string(pem.EncodeToMemory(block)))
	saveKey(t, dir+"/plain", plain)
	given, usual, other := Identity{dir + "/locked", true}, Identity{dir + "/locked", false}, Identity{dir + "/plain", false}
	for _, x := range []struct {
		name       string
		identities []Identity
		words      []string // that the user types; then nothing
		keys       int
		note       string
	}{
		{name: "named", identities: []Identity{given, other}, words: []string{"secret"}, keys: 2},
		{name: "the only one", identities: []Identity{usual}, words: []string{"secret"}, keys: 1},
		{name: "not needed", identities: []Identity{usual, other}, keys: 1, note: "locked: encrypted; unlock it with: ssh-add " + dir + "/locked"},
		{name: "mistyped", identities: []Identity{given}, words: []string{"wrong", "wronger", "secret"}, keys: 1},
		{name: "wrong", identities: []Identity{given, other}, words: []string{"a", "b", "c"}, keys: 1, note: "locked: encrypted, and that was not its passphrase; unlock it with: ssh-add"},
		{name: "none", identities: []Identity{given}, words: []string{""}, note: "locked: encrypted, and no passphrase was given; unlock it with: ssh-add"},
		{name: "nobody there", identities: []Identity{usual}, words: []string{}, note: "locked: encrypted, and nobody is there; unlock it with: ssh-add"},
	} {
		t.Run(x.name, func(t *testing.T) {
			targets := []Target{{Name: "a", Identities: x.identities}, {Name: "b", User: "ann", Identities: x.identities}, {Name: "c", IdentitiesOnly: true, Identities: x.identities}}
			asked := 0
			a := open(t, AuthorityConfig{Targets: targets, Passphrase: func(file string, again bool) ([]byte, error) {
				require.Equal(t, dir+"/locked", file)
				require.Equal(t, asked > 0, again)
				if asked == len(x.words) {
					return nil, errors.New("nobody is there")
				}
				asked++
				return []byte(x.words[asked-1]), nil
			}})
			require.Equal(t, len(x.words), asked)
			require.Len(t, a.Keys(), x.keys)
			if x.note == "" {
				require.Empty(t, a.Notes())
			} else {
				require.Len(t, a.Notes(), 1)
				require.Contains(t, a.Notes()[0], x.note)
			}
			for _, target := range targets {
				require.Equal(t, targets[0].Keys, target.Keys)
			}
		})
	}
	t.Run("BatchMode", func(t *testing.T) {
		a := open(t, AuthorityConfig{Targets: []Target{{Name: "a", Batch: true, Identities: []Identity{given}}}, Passphrase: func(string, bool) ([]byte, error) {
			return nil, errors.New("asked")
		}})
		require.Equal(t, []string{dir + "/locked: encrypted; unlock it with: ssh-add " + dir + "/locked"}, a.Notes())
	})
}
