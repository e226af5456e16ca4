package sshboot

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/job"
)

// SignRequest asks the launcher for one signature.
type SignRequest struct {
	// From is the agent that asks, job.NoHost for the launcher itself. The
	// launcher fills it in from the link the request came over; it does not
	// travel, because an agent's word for it is worth nothing.
	From job.HostIndex `cbor:"-"`
	Host job.HostIndex `cbor:"1,keyasint"` // the host to log in to
	Data []byte        `cbor:"2,keyasint"` // what to sign: RFC 4252 section 7
}

// RefusedError is why the Authority did not sign. Asking again is no use.
type RefusedError struct{ Reason string }

// Error renders "signature refused: reason".
func (e *RefusedError) Error() string { return "signature refused: " + e.Reason }

// ErrSealed is what Sign returns after Seal.
var ErrSealed error = &RefusedError{"the job is launched"}

// defaultRetries is how many signatures an agent may ask for per host: a start
// and its retries, and the host's jump through a retaken range.
const defaultRetries = 5

// AuthorityConfig says which keys an Authority holds and what it signs.
type AuthorityConfig struct {
	// AgentSocket is the ssh-agent's socket ($SSH_AUTH_SOCK); empty for none.
	AgentSocket string
	// Targets are the planned hosts by HostIndex. OpenAuthority sets their
	// Keys and those of their jump hosts; they must not change afterwards.
	Targets []Target
	// Retries is how many signatures an agent may ask for per host of its
	// range; 0 means five.
	Retries int
}

// Authority holds the user's private keys, in the launcher only, and signs
// what logging in to planned hosts needs and nothing else (design section
// 4.5). It may be used from several goroutines.
type Authority struct {
	targets []Target
	retries int
	keys    []userKey
	notes   []string
	agent   *agentConn // nil for none

	touch chan struct{} // holds a token while a security key signs: one at a time

	mu     sync.Mutex
	sealed bool
	grants map[job.HostIndex]*grant
}

// userKey is a key and how to use it.
type userKey struct {
	PublicKey
	sign func(ctx context.Context, data []byte, algorithm string) (*ssh.Signature, error)
}

// grant is what one agent may ask for.
type grant struct {
	ranges []hostRange
	used   map[job.HostIndex]int
}

// hostRange is a half-open range of hosts.
type hostRange struct{ first, end job.HostIndex }

// OpenAuthority loads the keys that the targets name. Keys that cannot be used
// are no error but a note, because others may do. Close it.
func OpenAuthority(ctx context.Context, cfg AuthorityConfig) (*Authority, error) {
	a := &Authority{
		targets: cfg.Targets,
		retries: cfg.Retries,
		touch:   make(chan struct{}, 1),
		grants:  make(map[job.HostIndex]*grant),
	}
	if a.retries <= 0 {
		a.retries = defaultRetries
	}
	r := &keyring{authority: a}
	if cfg.AgentSocket != "" {
		if err := r.openAgent(ctx, cfg.AgentSocket); err != nil {
			a.note("ssh-agent %s: %v", cfg.AgentSocket, err)
		}
	}
	if err := ctx.Err(); err != nil {
		a.Close()
		return nil, fmt.Errorf("ssh keys: %w", err)
	}
	for i := range cfg.Targets {
		r.assign(&cfg.Targets[i])
		for j := range cfg.Targets[i].Jump {
			r.assign(&cfg.Targets[i].Jump[j])
		}
	}
	return a, nil
}

func (a *Authority) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// Keys are the keys that may be offered to hosts; Target.Keys are indices into
// them.
func (a *Authority) Keys() []PublicKey {
	out := make([]PublicKey, len(a.keys))
	for i, k := range a.keys {
		out[i] = k.PublicKey
	}
	return out
}

// Notes say which keys could not be used and why, for the message that ends a
// start: an encrypted key file, an ssh-agent that does not answer.
func (a *Authority) Notes() []string { return append([]string(nil), a.notes...) }

// Allow lets the agent on host from ask for signatures for hosts first..end-1,
// in addition to what it was allowed before.
func (a *Authority) Allow(from, first, end job.HostIndex) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.grants[from]
	if g == nil {
		g = &grant{used: make(map[job.HostIndex]int)}
		a.grants[from] = g
	}
	g.ranges = append(g.ranges, hostRange{first, end})
}

// Seal ends signing for good, when the launch message goes out, and forgets
// the keys. Signatures under way may still complete.
func (a *Authority) Seal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed = true
	for i := range a.keys {
		a.keys[i].sign = nil
	}
}

// Close seals the Authority and waits for signatures under way, which lose
// their connection to the ssh-agent.
func (a *Authority) Close() {
	a.Seal()
	if a.agent != nil {
		a.agent.close()
	}
}

// Sign signs r.Data if it is a request of a planned user to log in to a host
// that r.From may ask for, by a key offered to that host. The result is a
// signature as in RFC 4253 section 6.6. Errors are *RefusedError, or say why
// the key could not sign.
func (a *Authority) Sign(ctx context.Context, r SignRequest) ([]byte, error) {
	req, err := parseAuthRequest(r.Data)
	if err != nil {
		return nil, &RefusedError{"request: " + err.Error()}
	}
	key, format, err := a.admit(r, req)
	if err != nil {
		return nil, err
	}
	if key.Touch {
		select {
		case a.touch <- struct{}{}:
			defer func() { <-a.touch }()
		case <-ctx.Done():
			return nil, fmt.Errorf("key %s: waiting for the security key: %w", key.Name, ctx.Err())
		}
	}
	sig, err := key.sign(ctx, r.Data, format)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", key.Name, err)
	}
	if sig.Format != format {
		return nil, fmt.Errorf("key %s: signature is %s where %s was asked for", key.Name, sig.Format, format)
	}
	return ssh.Marshal(sig), nil
}

// admit checks a request against plan and grants, counts it, and returns the
// key and the signature format it is for.
func (a *Authority) admit(r SignRequest, req authRequest) (userKey, string, error) {
	refuse := func(format string, args ...any) (userKey, string, error) {
		return userKey{}, "", &RefusedError{fmt.Sprintf(format, args...)}
	}
	if r.Host < 0 || int(r.Host) >= len(a.targets) {
		return refuse("host %d is not planned", r.Host)
	}
	t := &a.targets[r.Host]
	index := -1
	for i := range a.keys {
		if bytes.Equal(a.keys[i].Blob, req.key) {
			index = i
		}
	}
	launcher := r.From == job.NoHost
	allowed := planned(t, req.user, index)
	for i := range t.Jump {
		// Jump hosts are the launcher's business only.
		allowed = allowed || launcher && planned(&t.Jump[i], req.user, index)
	}
	switch {
	case index < 0:
		return refuse("the key is not one of ours")
	case !allowed:
		return refuse("host %s is not planned with user %.40q and that key", t.Name, req.user)
	}
	format, ok := signatureAlgorithms[keyType(req.key)][req.algorithm]
	if !ok {
		return refuse("algorithm %.40q does not fit the key", req.algorithm)
	}

	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed {
		return userKey{}, "", ErrSealed
	}
	if launcher {
		return a.keys[index], format, nil
	}
	g := a.grants[r.From]
	if g == nil || !g.covers(r.Host) {
		return refuse("host %d may not ask for host %s", r.From, t.Name)
	}
	if g.used[r.Host] >= a.retries {
		return refuse("host %d has asked %d times for host %s", r.From, a.retries, t.Name)
	}
	g.used[r.Host]++
	return a.keys[index], format, nil
}

func (g *grant) covers(h job.HostIndex) bool {
	for _, r := range g.ranges {
		if r.first <= h && h < r.end {
			return true
		}
	}
	return false
}

// planned says that t is to be logged in to as user with that key.
func planned(t *Target, user string, key int) bool {
	if t.User != user {
		return false
	}
	for _, k := range t.Keys {
		if k == key {
			return true
		}
	}
	return len(t.Keys) == 0
}
