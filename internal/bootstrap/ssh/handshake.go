package sshboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// attempt is one log-in under way, with its events so far, to explain it should it
// fail. The callbacks run in goroutines of x/crypto.
type attempt struct {
	d    *Dialer
	t    *Target
	host job.HostIndex
	ctx  context.Context // of the Start that this is part of
	wire *witness

	mu        sync.Mutex
	stepDone  func()        // ends the step under way; nil once logged in
	keyed     bool          // the host key was accepted
	fresh     ssh.PublicKey // the host key, if it was not known before
	methods   []string      // methods that the server lets clients try
	partial   bool          // a key was right, but the server wants more
	offered   []int         // keys, in order
	signedBy  int           // the key whose signature was sent last, -1 for none
	signError error         // why a signature could not be had
	said      string        // server's words once it had a signature, as far as they are repeated
}

// client is one authenticated connection, with a goroutine that refuses all requests of
// the server.
type client struct {
	conn ssh.Conn
	done chan struct{} // closed when that goroutine has ended
}

// handshake logs in to t over conn. The caller closes conn to end it early.
func (d *Dialer) handshake(ctx context.Context, host bootstrap.Host, t *Target, conn transport) (*client, *bootstrap.Error) {
	a := &attempt{d: d, t: t, host: job.HostIndex(host.Index), ctx: ctx, wire: &witness{transport: conn}, signedBy: noKey}
	a.stepDone = bootstrap.BeginStep(ctx, bootstrap.HostKey)
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stepDone()
		a.stepDone = nil
	}()
	config := &ssh.ClientConfig{
		Config:            t.cryptography(),
		User:              t.User,
		HostKeyAlgorithms: t.hostKeyAlgorithms(),
		HostKeyCallback:   a.hostKey,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(a.signers()...)},
		AuthCallback:      a.nextMethod,
		BannerCallback:    a.banner,
		ClientVersion:     "SSH-2.0-golaunch",
	}
	c, channels, requests, err := ssh.NewClientConn(a.wire, t.namedAddress(), config)
	bootstrap.Detail(ctx, "%s", a.keysTried(err == nil))
	if err != nil {
		return nil, a.explain(err)
	}
	if a.signedBy != noKey {
		d.worked.Store(int64(a.signedBy))
		d.proven.Store(true)
	}
	if a.fresh != nil && d.cfg.Accepted != nil {
		d.cfg.Accepted(t, t.knownHostsLine(a.fresh))
	}
	cl := &client{conn: c, done: make(chan struct{})}
	go cl.refuse(channels, requests)
	return cl, nil
}

// refuse says no to all that the server asks. It ends with the connection,
// which closes both channels.
func (c *client) refuse(channels <-chan ssh.NewChannel, requests <-chan *ssh.Request) {
	defer close(c.done)
	for channels != nil || requests != nil {
		select {
		case ch, ok := <-channels:
			if !ok {
				channels = nil
				continue
			}
			_ = ch.Reject(ssh.Prohibited, "nothing is forwarded")
		case r, ok := <-requests:
			if !ok {
				requests = nil
				continue
			}
			_ = r.Reply(false, nil)
		}
	}
}

// hostKey is the ssh.HostKeyCallback.
func (a *attempt) hostKey(_ string, _ endAddr, key ssh.PublicKey) error {
	fresh, err := a.t.checkHostKey(key)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keyed = true
	if a.stepDone != nil { // else keys are exchanged anew, later
		a.stepDone()
		a.stepDone = bootstrap.BeginStep(a.ctx, bootstrap.Authenticate)
	}
	if fresh {
		a.fresh = key
	}
	return nil
}

// nextMethod is the ssh.AuthCallback. It only takes note of the methods that the server
// accepts.
func (a *attempt) nextMethod(c *ssh.ClientAuthContext) (ssh.AuthMethod, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.methods = c.AllowedMethods
	a.partial = len(c.PartialSuccessMethods) > 0
	return nil, nil
}

// banner is the ssh.BannerCallback. A server's words before it knows the user are for
// people at a terminal; those after a right key say why it goes no further.
func (a *attempt) banner(message string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.signedBy != noKey && len(a.said) < maxSaid {
		said := strings.Join(append(strings.Fields(a.said), strings.Fields(message)...), " ")
		a.said = said[:min(len(said), maxSaid)]
	}
	return nil
}

// signers returns the keys to offer, the preferred one first.
func (a *attempt) signers() []ssh.Signer {
	order := a.t.Keys
	if len(order) == 0 {
		for i := range a.d.keys {
			order = append(order, i)
		}
	}
	prefer := int(a.d.worked.Load())
	if slices.Contains(order, prefer) {
		order = append([]int{prefer}, slices.DeleteFunc(slices.Clone(order), func(i int) bool { return i == prefer })...)
	}
	var out []ssh.Signer
	for _, i := range order {
		if i >= 0 && i < len(a.d.keys) {
			out = append(out, &remoteSigner{a, i})
			a.offered = append(a.offered, i)
		}
	}
	return out
}

// keysTried lists the keys that were tried, in order, and the one that was taken.
func (a *attempt) keysTried(loggedIn bool) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := fmt.Sprintf("user %s at %s: ", a.t.User, a.t.Name)
	tried := a.offered
	at := slices.Index(tried, a.signedBy)
	switch {
	case !a.keyed:
		return text + "no key was tried"
	case loggedIn && at < 0:
		return text + "logged in without a key"
	case !loggedIn && len(tried) == 0:
		return text + "there is no key to try"
	case !loggedIn:
		return text + "not logged in; keys in order: " + a.keyNames(tried)
	}
	text += "key " + a.keyNames(tried[at:at+1])
	if at > 0 {
		text += " was taken, not " + a.keyNames(tried[:at])
	}
	return text
}

// keyNames returns names and types of keys.
func (a *attempt) keyNames(keys []int) string {
	var names []string
	for _, i := range keys {
		names = append(names, fmt.Sprintf("%s (%s)", a.d.cfg.Keys[i].Name, a.d.keys[i].Type()))
	}
	return strings.Join(names, ", ")
}

// remoteSigner is an ssh.Signer whose private key is elsewhere.
type remoteSigner struct {
	a     *attempt
	index int
}

var _ ssh.MultiAlgorithmSigner = (*remoteSigner)(nil)

func (s *remoteSigner) PublicKey() ssh.PublicKey { return s.a.d.keys[s.index] }

// Algorithms returns the signature formats of the key, the stronger hash first.
func (s *remoteSigner) Algorithms() []string {
	var out []string
	for algorithm, format := range signatureAlgorithms[s.PublicKey().Type()] {
		if s.a.t.mayUse(algorithm) {
			out = append(out, format)
		}
	}
	slices.Sort(out)
	slices.Reverse(out)
	return out
}

func (s *remoteSigner) Sign(rand io.Reader, data []byte) (*ssh.Signature, error) {
	return s.SignWithAlgorithm(rand, data, "")
}

// SignWithAlgorithm has data signed. The algorithm is part of data, where the
// Authority reads it.
func (s *remoteSigner) SignWithAlgorithm(_ io.Reader, data []byte, _ string) (*ssh.Signature, error) {
	a := s.a
	r := SignRequest{From: job.NoHost, Host: a.host, Data: data}
	if proof := a.wire.proof.Load(); proof != nil { // else an agent's request is refused
		r.Proof = *proof
	}
	blob, err := a.d.cfg.Sign(a.ctx, r)
	sig := new(ssh.Signature)
	if err == nil && ssh.Unmarshal(blob, sig) != nil {
		err = errors.New("signature is malformed")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.signError = err
		return nil, err
	}
	a.signedBy = s.index
	return sig, nil
}
