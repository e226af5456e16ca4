package sshboot

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

type (
	// SignRequest is the seam's own; its Data is as in RFC 4252 section 7.
	SignRequest = bootstrap.SignRequest
	// Proof is the seam's own, of which this package makes the contents: HostKey is
	// a blob, or a certificate; Signature is the one on the exchange hash (RFC 4253
	// section 8), which as the first is the session identifier.
	Proof = bootstrap.Proof
	// RefusedError is the seam's own.
	RefusedError = bootstrap.RefusedError
)

// ErrSealed is the error of Sign after Seal.
var ErrSealed error = &RefusedError{Reason: "the job is launched"}

// defaultLogIns is the number of log-ins to a host that are signed: a start and its
// retries, by the agent that is to start it and by those that take its range over.
const defaultLogIns = 16

// AuthorityConfig has the keys of an Authority, and the limits of its signatures.
type AuthorityConfig struct {
	// AgentSocket is the ssh-agent's socket ($SSH_AUTH_SOCK) for targets that
	// name no other; empty for none.
	AgentSocket string
	// Targets are the planned hosts by HostIndex. OpenAuthority sets their
	// Keys and those of their jump hosts; they must not change afterwards.
	Targets []Target
	// LogIns is the number of signatures for each host that all agents together may ask
	// for; 0 means 16.
	LogIns int
	// Elsewhere finds the line of known_hosts that has a key, given as a blob, "" if
	// there is none; may be nil. It is asked about keys that a host has shown and that
	// are not known for that host.
	Elsewhere func(key []byte) string
	// SameHost says that a key which Elsewhere has found is known for the very host of t
	// by another name; may be nil.
	SameHost func(ctx context.Context, key []byte, t *Target) bool
	// Passphrase is bootstrap.Job's. It is asked for those of key files that a target
	// names, and of the usual ones where a target has no other key.
	Passphrase func(file string, again bool) ([]byte, error)
}

// Authority holds the user's private keys, in the launcher only, and signs log-ins to
// planned hosts and nothing else (docs/security.md). It may be used from several
// goroutines.
type Authority struct {
	targets   []Target
	maxLogIns int
	keys      []userKey
	notes     []string
	agents    []*agentConn

	touch chan struct{} // holds a token while a security key signs: one at a time

	mu        sync.Mutex
	sealed    bool
	elsewhere func(key []byte) string                               // AuthorityConfig.Elsewhere
	sameHost  func(ctx context.Context, key []byte, t *Target) bool // AuthorityConfig.SameHost
	root      job.HostIndex                                         // root may ask for every place
	places    map[job.HostIndex]place                               // in the range of the root
	logIns    map[job.HostIndex]int                                 // signed for
	signed    map[signedSession]bool                                // by agents' requests
	shown     map[job.HostIndex][]byte                              // the host key that agents met last, as a blob
}

// userKey is a key and how to use it.
type userKey struct {
	PublicKey
	sign func(ctx context.Context, data []byte, algorithm string) (*ssh.Signature, error)
}

// place is the position of a host in the range of the root: the part, and the number of
// hosts before it there.
type place struct{ part, after int }

// signedSession is a session and the index of the key that logs in there.
type signedSession struct {
	session string
	key     int
}

// OpenAuthority loads the keys that the targets name. Keys that cannot be used
// are no error but a note, because others may do. Close it.
func OpenAuthority(ctx context.Context, cfg AuthorityConfig) (*Authority, error) {
	a := &Authority{
		targets:   cfg.Targets,
		maxLogIns: cfg.LogIns,
		elsewhere: cfg.Elsewhere,
		sameHost:  cfg.SameHost,
		touch:     make(chan struct{}, 1),
		root:      job.NoHost,
		logIns:    make(map[job.HostIndex]int),
		signed:    make(map[signedSession]bool),
		shown:     make(map[job.HostIndex][]byte),
	}
	if a.maxLogIns <= 0 {
		a.maxLogIns = defaultLogIns
	}
	r := &keyring{authority: a, usual: cfg.AgentSocket, passphrase: cfg.Passphrase}
	for i := range cfg.Targets {
		r.openAgents(ctx, &cfg.Targets[i])
		for j := range cfg.Targets[i].Jump {
			r.openAgents(ctx, &cfg.Targets[i].Jump[j])
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
	if err := ctx.Err(); err != nil { // the user was asked for a passphrase, and ended the job
		a.Close()
		return nil, fmt.Errorf("ssh keys: %w", err)
	}
	return a, nil
}

func (a *Authority) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(a.notes, n) {
		a.notes = append(a.notes, n)
	}
}

// Keys returns the keys that may be offered to hosts; Target.Keys are indices into
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

// Allow lets agents ask for signatures, in place of earlier permissions: the agent on
// root for all hosts of parts, which it is to start, and the agent on one of those for
// the hosts behind it in its part. It starts no others: the first of a part that
// answers has the hosts after it there for its range.
func (a *Authority) Allow(root job.HostIndex, parts [][]job.HostIndex) {
	places := make(map[job.HostIndex]place)
	for i, part := range parts {
		for j, h := range part {
			places[h] = place{i, j}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.root, a.places = root, places
}

// mayAsk returns nil if host is in the range of the agent on from.
func (a *Authority) mayAsk(from, host job.HostIndex) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed {
		return ErrSealed
	}
	to, ok := a.places[host]
	if ok && from != a.root {
		var by place
		by, ok = a.places[from]
		ok = ok && by.part == to.part && by.after < to.after
	}
	if !ok {
		by := "another host"
		if from >= 0 && int(from) < len(a.targets) {
			by = a.targets[from].Name
		}
		return &RefusedError{Reason: fmt.Sprintf("%s may not ask for %s", by, a.targets[host].Name)}
	}
	return nil
}

// Seal ends signing for good, when the launch message goes out, and forgets the keys,
// and the requests. Signatures under way may still complete.
func (a *Authority) Seal() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sealed = true
	for i := range a.keys {
		a.keys[i].sign = nil
	}
	a.elsewhere, a.sameHost, a.places, a.logIns, a.signed = nil, nil, nil, nil, nil
}

// Close seals the Authority and waits for signatures under way, which lose
// their connection to the ssh-agent.
func (a *Authority) Close() {
	a.Seal()
	for _, c := range a.agents {
		c.close()
	}
}

// Sign signs r.Data if it is a request of a planned user to log in, by a key
// offered to that host, to a host in the range of r.From that has proved itself.
// The launcher's own log-ins need no proof. The result is a signature as in RFC
// 4253 section 6.6. Errors are *RefusedError, or say why the key could not sign.
func (a *Authority) Sign(ctx context.Context, r SignRequest) ([]byte, error) {
	req, err := parseAuthRequest(r.Data)
	if err != nil {
		return nil, &RefusedError{Reason: "request: " + err.Error()}
	}
	key, format, err := a.admit(ctx, r, req)
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

// admit checks a request against plan, range and proof, counts it, and returns
// the key and the signature format it is for.
func (a *Authority) admit(ctx context.Context, r SignRequest, req authRequest) (userKey, string, error) {
	index, format, err := a.plannedKey(r, req)
	if err != nil {
		return userKey{}, "", err
	}
	var shown proven
	if r.From != job.NoHost {
		if err := a.mayAsk(r.From, r.Host); err != nil {
			return userKey{}, "", err
		}
		if shown, err = a.prove(ctx, &a.targets[r.Host], req.session, r.Proof); err != nil {
			return userKey{}, "", err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sealed {
		return userKey{}, "", ErrSealed
	}
	if r.From != job.NoHost {
		if err := a.count(r.Host, req.session, index, shown); err != nil {
			return userKey{}, "", err
		}
	}
	return a.keys[index], format, nil
}

// plannedKey returns the index of the key that a request is for, and the signature
// format, if the plan has that log-in.
func (a *Authority) plannedKey(r SignRequest, req authRequest) (index int, format string, err error) {
	refuse := func(format string, args ...any) (int, string, error) {
		return 0, "", &RefusedError{Reason: fmt.Sprintf(format, args...)}
	}
	if r.Host < 0 || int(r.Host) >= len(a.targets) {
		return refuse("it is for a host that is not planned")
	}
	t := &a.targets[r.Host]
	index = -1
	for i := range a.keys {
		if bytes.Equal(a.keys[i].Blob, req.key) {
			index = i
		}
	}
	allowed := planned(t, req.user, index)
	for i := range t.Jump {
		// Jump hosts are the launcher's business only.
		allowed = allowed || r.From == job.NoHost && planned(&t.Jump[i], req.user, index)
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
	return index, format, nil
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
