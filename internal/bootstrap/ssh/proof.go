package sshboot

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/job"
)

// proven is a host's proven identity.
type proven struct {
	key   ssh.PublicKey // without a certificate
	fresh bool          // accepted without being known
}

// prove decides whether the session is one with t: with the key that the plan knows of
// it, or accepts, which has signed the session identifier in the key exchange. A host
// key signs nothing else that is as short. It may have to look up the keys of other
// hosts.
func (a *Authority) prove(ctx context.Context, t *Target, session []byte, p Proof) (proven, error) {
	refuse := func(format string, args ...any) (proven, error) {
		return proven{}, &RefusedError{Reason: "host " + t.Name + " has not proved itself: " + fmt.Sprintf(format, args...)}
	}
	if len(p.HostKey) > maxString || len(p.Signature) > maxString {
		return refuse("its proof is longer than %d bytes", maxString)
	}
	key, err := ssh.ParsePublicKey(p.HostKey)
	if err != nil {
		return refuse("host key is malformed")
	}
	fresh, err := t.checkHostKey(key)
	if err != nil {
		return refuse("%v", err)
	}
	signature, ok := parseSignature(p.Signature)
	if !ok {
		return refuse("signature is malformed")
	}
	if !t.allowsHostSignature(key.Type(), signature.Format) {
		return refuse("signature algorithm %.40q is none of those for its key", signature.Format)
	}
	if err := key.Verify(session, signature); err != nil {
		return refuse("the session is not one with the owner of key %s", fingerprint(key))
	}
	shown := proven{key, fresh}
	if cert, ok := key.(*ssh.Certificate); ok {
		shown.key = cert.Key
	}
	if !fresh {
		return shown, nil
	}
	if where := a.whereKnown(ctx, t, shown.key); where != "" {
		return refuse("host key %s is known, but only for other hosts (%s); if they share it, add %s there",
			fingerprint(shown.key), where, t.knownHostsName())
	}
	return shown, nil
}

// whereKnown returns the place of key in known_hosts for hosts other than t, "" if it
// has none.
func (a *Authority) whereKnown(ctx context.Context, t *Target, key ssh.PublicKey) string {
	a.mu.Lock()
	elsewhere, same := a.elsewhere, a.sameHost
	a.mu.Unlock()
	if elsewhere == nil {
		return ""
	}
	blob := key.Marshal()
	where := elsewhere(blob)
	if where != "" && same != nil && same(ctx, blob, t) {
		return ""
	}
	return where
}

// allowsHostSignature says that a host key of that type may sign in that format
// under one of the algorithms that are proposed to the host. RSA with SHA-1 is
// no format of any.
func (t *Target) allowsHostSignature(keyType, format string) bool {
	return slices.ContainsFunc(t.hostKeyAlgorithms(), func(algorithm string) bool {
		f, ok := signatureAlgorithms[keyType][algorithm]
		return ok && f == format
	})
}

// count lets a proven session of host be signed for by key once, and holds the
// host to its number of log-ins, and to its key. The caller holds a.mu.
func (a *Authority) count(host job.HostIndex, session []byte, key int, shown proven) error {
	name := a.targets[host].Name
	blob := shown.key.Marshal()
	if before, ok := a.shown[host]; ok && shown.fresh && !bytes.Equal(before, blob) {
		return &RefusedError{Reason: fmt.Sprintf("host %s shows the key %s, and has shown another for this job", name, fingerprint(shown.key))}
	}
	s := signedSession{string(session), key}
	switch {
	case a.signed[s]:
		return &RefusedError{Reason: fmt.Sprintf("host %s: that session was signed for before", name)}
	case a.logIns[host] >= a.maxLogIns:
		return &RefusedError{Reason: fmt.Sprintf("host %s: %d log-ins have been signed for", name, a.maxLogIns)}
	}
	a.signed[s] = true
	a.logIns[host]++
	a.shown[host] = blob
	return nil
}

// Shared lists the hosts that cannot be told apart, since they have a host key
// in common: that known_hosts has for several, or that several have shown.
func (a *Authority) Shared() [][]job.HostIndex {
	a.mu.Lock()
	defer a.mu.Unlock()
	owners := make(map[string][]job.HostIndex)
	for i := range a.targets {
		h := job.HostIndex(i)
		keys := a.targets[i].HostKeys
		if shown, ok := a.shown[h]; ok && !slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, shown) }) {
			keys = append(slices.Clip(keys), shown)
		}
		for _, k := range keys {
			owners[string(k)] = append(owners[string(k)], h)
		}
	}
	groups := slices.DeleteFunc(slices.Collect(maps.Values(owners)), func(g []job.HostIndex) bool { return len(g) < 2 })
	slices.SortFunc(groups, slices.Compare)
	return slices.CompactFunc(groups, slices.Equal)
}
