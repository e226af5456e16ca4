package sshboot

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

const (
	maxKeyFile = 1 << 20 // bytes
	// agentTimeout bounds requests that need no person: connecting to the ssh-agent and
	// listing its keys.
	agentTimeout = 5 * time.Second
	// noKey stands in Target.Keys where no key may be offered.
	noKey = -1
)

// agentConn is the connection to the ssh-agent.
type agentConn struct {
	conn   net.Conn
	client agent.ExtendedAgent

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
}

// close fails the calls under way and waits for them.
func (c *agentConn) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.conn.Close()
	c.calls.Wait()
}

// do runs one call to the ssh-agent, which cannot be cancelled: when ctx ends
// first, the call goes on until it is answered or the connection closed.
func (c *agentConn) do(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return net.ErrClosed
	}
	c.calls.Go(func() { done <- call() })
	c.mu.Unlock()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer from the ssh-agent: %w", ctx.Err())
	}
}

// keyring collects the Authority's keys while it is opened.
type keyring struct {
	authority *Authority
	usual     string           // AuthorityConfig.AgentSocket
	agents    map[string][]int // keys that each ssh-agent holds, by socket
	inAgent   []int            // keys that the ssh-agent of the target at hand holds
	files     map[string]int   // private key files seen, by ssh-agent and path: index or noKey
	orders    map[string][]int // Target.Keys by all that they depend on

	passphrase func(file string, again bool) ([]byte, error) // AuthorityConfig.Passphrase
	unlocked   map[string]unlocked                           // encrypted files that were asked about, by path
}

// socket returns the ssh-agent to ask for t's keys; empty for none.
func (r *keyring) socket(t *Target) string {
	switch t.Agent {
	case "":
		return r.usual
	case "none":
		return ""
	}
	return t.Agent
}

// openAgents connects to t's ssh-agent, once. One that does not answer is worth
// a note.
func (r *keyring) openAgents(ctx context.Context, t *Target) {
	socket := r.socket(t)
	if _, ok := r.agents[socket]; ok || socket == "" {
		return
	}
	keys, err := r.openAgent(ctx, socket)
	if err != nil {
		r.authority.note("ssh-agent %s: %v", socket, err)
	}
	if r.agents == nil {
		r.agents = make(map[string][]int)
	}
	r.agents[socket] = keys
}

// openAgent connects to an ssh-agent and lists its keys.
func (r *keyring) openAgent(ctx context.Context, socket string) ([]int, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		var oe *net.OpError
		if errors.As(err, &oe) {
			err = oe.Err
		}
		return nil, err
	}
	c := &agentConn{conn: conn, client: agent.NewClient(conn)}
	var keys []*agent.Key
	err = c.do(ctx, func() (err error) {
		keys, err = c.client.List()
		return err
	})
	if err != nil {
		c.close()
		return nil, err
	}
	r.authority.agents = append(r.authority.agents, c)
	var held []int
	for _, k := range keys {
		if _, ok := signatureAlgorithms[keyType(k.Blob)]; !ok {
			continue // DSA, or a type newer than this program
		}
		name := k.Comment
		if name == "" {
			name = "in the ssh-agent"
		}
		held = append(held, r.add(userKey{
			PublicKey: PublicKey{Blob: k.Blob, Name: name, Touch: needsTouch(keyType(k.Blob))},
			sign:      c.signer(k),
		}))
	}
	return held, nil
}

// signer signs with a key of the ssh-agent.
func (c *agentConn) signer(k *agent.Key) func(context.Context, []byte, string) (*ssh.Signature, error) {
	return func(ctx context.Context, data []byte, format string) (*ssh.Signature, error) {
		var flags agent.SignatureFlags
		switch format {
		case ssh.KeyAlgoRSASHA256:
			flags = agent.SignatureFlagRsaSha256
		case ssh.KeyAlgoRSASHA512:
			flags = agent.SignatureFlagRsaSha512
		}
		var sig *ssh.Signature
		err := c.do(ctx, func() (err error) {
			sig, err = c.client.SignWithFlags(k, data, flags)
			return err
		})
		if err != nil {
			return nil, err // a call that goes on may still write sig
		}
		return sig, nil
	}
}

// add appends a key unless it is there already, and returns its index.
func (r *keyring) add(k userKey) int {
	a := r.authority
	for i := range a.keys {
		if bytes.Equal(a.keys[i].Blob, k.Blob) {
			return i
		}
	}
	a.keys = append(a.keys, k)
	return len(a.keys) - 1
}

// assign sets t.Keys to the order in which OpenSSH offers keys: those of the
// ssh-agent that an identity names, the ssh-agent's others unless
// IdentitiesOnly, then key files.
func (r *keyring) assign(t *Target) {
	r.inAgent = r.agents[r.socket(t)]
	var id strings.Builder
	fmt.Fprintln(&id, r.socket(t), t.Certificates, t.KeyAlgorithms, t.MinRSA) //nolint:staticcheck // QF1010: these bytes are no text
	for _, f := range t.Identities {
		fmt.Fprintf(&id, "%t %s\n", f.Given, f.Path)
	}
	fmt.Fprint(&id, t.IdentitiesOnly, t.Batch)
	if order, ok := r.orders[id.String()]; ok {
		t.Keys = order
		return
	}
	unique := r.order(t, false)
	if len(unique) == 0 {
		unique = r.order(t, true)
	}
	if len(unique) == 0 {
		unique = []int{noKey}
	}
	if r.orders == nil {
		r.orders = make(map[string][]int)
	}
	r.orders[id.String()] = unique
	t.Keys = unique
}

// order returns the keys that assign offers. The user is asked to unlock the files that
// the configuration names, and all if all is set.
func (r *keyring) order(t *Target, all bool) (unique []int) {
	var named, files []int
	for _, f := range t.Identities {
		for _, i := range r.file(f, t, !t.Batch && (all || f.Given)) {
			if slices.Contains(r.inAgent, i) {
				named = append(named, i)
			} else {
				files = append(files, i)
			}
		}
	}
	order := named
	if !t.IdentitiesOnly {
		order = append(order, r.inAgent...)
	}
	for _, i := range append(order, files...) {
		if !slices.Contains(unique, i) && r.usable(i, t) {
			unique = append(unique, i)
		}
	}
	return unique
}

// usable tells whether t's RequiredRSASize and PubkeyAcceptedAlgorithms leave a
// key; one that they do not is worth a note.
func (r *keyring) usable(i int, t *Target) bool {
	k := r.authority.keys[i]
	for a := range signatureAlgorithms[keyType(k.Blob)] {
		if t.mayUse(a) {
			pub, err := ssh.ParsePublicKey(k.Blob)
			if cert, ok := pub.(*ssh.Certificate); ok {
				pub = cert.Key
			}
			if err == nil {
				err = t.checkSize(pub)
			}
			if err != nil {
				r.authority.note("%s: %v", k.Name, err)
			}
			return err == nil
		}
	}
	r.authority.note("%s: PubkeyAcceptedAlgorithms leaves out keys of type %s", k.Name, keyType(k.Blob))
	return false
}

// file returns the keys of a private key file: its certificates, the one beside
// it and t's, and itself. The user is asked to unlock it if ask is set.
func (r *keyring) file(f Identity, t *Target, ask bool) []int {
	id := r.socket(t) + "\n" + f.Path
	i, seen := r.files[id]
	if !seen {
		var err error
		if i, err = r.load(f.Path, ask); err != nil {
			i = noKey
			if f.Given || !errors.Is(err, os.ErrNotExist) {
				r.authority.note("%v", err)
			}
		}
		if r.files == nil {
			r.files = make(map[string]int)
		}
		if _, locked := errors.AsType[*ssh.PassphraseMissingError](err); !locked || ask {
			r.files[id] = i
		}
	}
	if i == noKey {
		return nil
	}
	var out []int
	for _, path := range t.Certificates {
		if c, ok := r.certificate(path, i, true); ok {
			out = append(out, c)
		}
	}
	if c, ok := r.certificate(f.Path+"-cert.pub", i, false); ok {
		out = append(out, c)
	}
	return append(out, i)
}

// load finds the key of a private key file, in the ssh-agent if that has it. The user is
// asked to unlock it if ask is set; an encrypted one that stays so is a
// *ssh.PassphraseMissingError.
func (r *keyring) load(path string, ask bool) (int, error) {
	text, err := readKeyFile(path)
	if err != nil {
		if i, ok := r.agentHas(path + ".pub"); ok {
			return i, nil // the private half is in the ssh-agent alone
		}
		return 0, err
	}
	signer, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked):
		if locked.PublicKey != nil {
			if i, ok := r.inAgentBlob(locked.PublicKey.Marshal()); ok {
				return i, nil
			}
		}
		if i, ok := r.agentHas(path + ".pub"); ok {
			return i, nil
		}
		if !ask || r.passphrase == nil {
			return 0, fmt.Errorf("%s: %w", path, stillLocked{locked, path, nil})
		}
		if signer, err = r.unlock(path, text); err != nil {
			return 0, fmt.Errorf("%s: %w", path, stillLocked{locked, path, err})
		}
	case err != nil:
		if i, ok := r.agentHas(path); ok {
			return i, nil // a public key, to choose one of the ssh-agent's
		}
		return 0, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "ssh: "))
	}
	blob := signer.PublicKey().Marshal()
	if _, ok := signatureAlgorithms[keyType(blob)]; !ok {
		return 0, fmt.Errorf("%s: keys of type %s are not supported", path, signer.PublicKey().Type())
	}
	return r.add(userKey{PublicKey: PublicKey{Blob: blob, Name: path}, sign: fileSigner(signer)}), nil
}

// unlocked is a private key that a passphrase has unlocked, or why none has.
type unlocked struct {
	signer ssh.Signer
	err    error
}

// stillLocked says that a key file is encrypted, and why it stays so if the user was
// asked.
type stillLocked struct {
	*ssh.PassphraseMissingError
	path string
	why  error // nil where nobody was asked
}

// Error names ways to do without a passphrase here.
func (e stillLocked) Error() string {
	text := "encrypted"
	if e.why != nil {
		text += ", and " + e.why.Error()
	}
	return text + "; unlock it with: ssh-add " + e.path
}

// Unwrap returns package ssh's error.
func (e stillLocked) Unwrap() error { return e.PassphraseMissingError }

// passphraseTries is the number of times that the user may mistype a passphrase, as
// with OpenSSH.
const passphraseTries = 3

// unlock asks the user, once, for the passphrase of a key file.
func (r *keyring) unlock(path string, text []byte) (ssh.Signer, error) {
	if u, ok := r.unlocked[path]; ok {
		return u.signer, u.err
	}
	var u unlocked
	for try := range passphraseTries {
		var word []byte
		if word, u.err = r.passphrase(path, try > 0); u.err == nil && len(word) == 0 {
			u.err = errors.New("no passphrase was given")
		}
		if u.err != nil {
			break
		}
		u.signer, u.err = ssh.ParsePrivateKeyWithPassphrase(text, word)
		if !errors.Is(u.err, x509.IncorrectPasswordError) {
			break
		}
		u.err = errors.New("that was not its passphrase")
	}
	if r.unlocked == nil {
		r.unlocked = make(map[string]unlocked)
	}
	r.unlocked[path] = u
	r.authority.notes = slices.DeleteFunc(r.authority.notes, func(note string) bool { return strings.HasPrefix(note, path+": encrypted") })
	return u.signer, u.err
}

// certificate adds a certificate of a key. A file that CertificateFile names
// may be about another key; the one beside a private key (CERTIFICATES of
// ssh-keygen(1)) may be absent.
func (r *keyring) certificate(path string, key int, named bool) (int, bool) {
	pub, err := readPublicKey(path)
	if err != nil {
		if named || !errors.Is(err, os.ErrNotExist) {
			r.authority.note("%v", err)
		}
		return 0, false
	}
	k := r.authority.keys[key]
	cert, ok := pub.(*ssh.Certificate)
	if ok && bytes.Equal(cert.Key.Marshal(), k.Blob) {
		k.Blob, k.Name = cert.Marshal(), path
		return r.add(k), true
	}
	if !named {
		r.authority.note("%s: not a certificate of %s", path, strings.TrimSuffix(path, "-cert.pub"))
	}
	return 0, false
}

// agentHas looks for the key in a public key file in the ssh-agent.
func (r *keyring) agentHas(path string) (int, bool) {
	pub, err := readPublicKey(path)
	if err != nil {
		return 0, false
	}
	return r.inAgentBlob(pub.Marshal())
}

func (r *keyring) inAgentBlob(blob []byte) (int, bool) {
	for _, i := range r.inAgent {
		if bytes.Equal(r.authority.keys[i].Blob, blob) {
			return i, true
		}
	}
	return 0, false
}

// fileSigner signs with a key in memory.
func fileSigner(s ssh.Signer) func(context.Context, []byte, string) (*ssh.Signature, error) {
	return func(_ context.Context, data []byte, format string) (*ssh.Signature, error) {
		as, ok := s.(ssh.AlgorithmSigner)
		if !ok {
			return s.Sign(rand.Reader, data)
		}
		return as.SignWithAlgorithm(rand.Reader, data, format)
	}
}

func readPublicKey(path string) (ssh.PublicKey, error) {
	text, err := readFile(path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	pub, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: not a public key file", path)
	}
	return pub, nil
}

// readKeyFile reads a private key file. Like OpenSSH it refuses one of ours
// that others may read.
func readKeyFile(path string) ([]byte, error) {
	f, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readAtMost(f, path, maxKeyFile)
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(st.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0 && bytes.Contains(text, []byte("PRIVATE KEY")) {
		return nil, fmt.Errorf("%s: others may read it (mode %04o); chmod 600 %s", path, info.Mode().Perm(), path)
	}
	return text, nil
}
