package sshboot

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// whereKnown is the position of a key in a known_hosts file.
type whereKnown struct {
	number int          // of the first line
	names  []string     // for which it has it, as they stand there; without patterns
	hashed []hashedLine // with names that cannot be read
}

// Elsewhere returns the place of a key, given as a blob, in the known_hosts files that
// Target has read, as "file:line"; "" if none has it. Keys of authorities do not count,
// nor revoked ones.
func (c *Config) Elsewhere(key []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := base64.StdEncoding.EncodeToString(key)
	for _, k := range c.known {
		if k == nil {
			continue
		}
		if w := k.where(text); w != nil {
			return fmt.Sprintf("%s:%d", k.path, w.number)
		}
	}
	return ""
}

// where returns the place of a key in the file, nil if it has none.
func (k *knownHosts) where(key string) *whereKnown {
	if k.byKey == nil {
		k.byKey = make(map[string]*whereKnown)
		for name, lines := range k.plain {
			for _, l := range lines {
				if w := k.index(l); w != nil {
					w.names = append(w.names, name)
				}
			}
		}
		for _, l := range k.patterns {
			k.index(l)
		}
		for _, h := range k.hashed {
			if w := k.index(h.knownLine); w != nil {
				w.hashed = append(w.hashed, h)
			}
		}
	}
	return k.byKey[key]
}

// index notes a line, and returns where its key is known; nil where the line makes
// none known.
func (k *knownHosts) index(l *knownLine) *whereKnown {
	if l.marker != "" {
		return nil
	}
	w := k.byKey[l.key]
	if w == nil {
		w = &whereKnown{number: l.number}
		k.byKey[l.key] = w
	}
	w.number = min(w.number, l.number)
	return w
}

// resolver has the method of net.Resolver that SameHost needs.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	LookupAddr(ctx context.Context, addr string) (names []string, err error)
}

// maxNames bounds how many names of one key are looked up.
const maxNames = 16

// SameHost reports whether the key, a blob that the known_hosts files have for other
// names, is that of t by another name: one of these names, at t's port, is or resolves
// to the very address of t, which is not behind a jump host. A hashed name counts if it is
// the address's own by a reverse look-up, and then leads to it, too.
func (c *Config) SameHost(ctx context.Context, key []byte, t *Target, r resolver) bool {
	addr, err := netip.ParseAddr(t.Addr)
	if err != nil || len(t.Jump) > 0 || t.Proxy != "" { // there, addresses may be others'
		return false
	}
	names, hashed := c.namesOf(key, t.Port)
	if len(names)+len(hashed) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	if len(hashed) > 0 {
		own, _ := r.LookupAddr(ctx, addr.String()) // without an answer it has none
		for _, name := range append(own, addr.String()) {
			name = strings.TrimSuffix(strings.ToLower(name), ".")
			short, _, _ := strings.Cut(name, ".")
			for _, n := range []string{name, short} {
				if slices.ContainsFunc(hashed, func(h hashedLine) bool { return h.matches(atPort(n, t.Port)) }) {
					names = append(names, n)
				}
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	found := make(chan bool)
	names = names[:min(len(names), maxNames)]
	for _, name := range names {
		go func() { // ends with the look-up, which ctx bounds
			addrs, _ := r.LookupNetIP(ctx, "ip", name)
			found <- slices.ContainsFunc(addrs, func(a netip.Addr) bool { return a.Unmap() == addr })
		}()
	}
	same := false
	for range names {
		same = <-found || same
	}
	return same
}

// namesOf returns the names, at a port, for which the known_hosts files have a key, and
// the lines that have it for hashed ones.
func (c *Config) namesOf(key []byte, port int) (names []string, hashed []hashedLine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := base64.StdEncoding.EncodeToString(key)
	for _, k := range c.known {
		if k == nil {
			continue
		}
		w := k.where(text)
		if w == nil {
			continue
		}
		for _, name := range w.names {
			host, inner := strings.CutPrefix(name, "[")
			if inner {
				var own string
				if host, own, _ = strings.Cut(host, "]:"); own != strconv.Itoa(port) {
					continue
				}
			} else if port != defaultPort {
				continue
			}
			names = append(names, host)
		}
		hashed = append(hashed, w.hashed...)
	}
	return names, hashed
}

// atPort returns the form of a name at a port in known_hosts.
func atPort(name string, port int) string {
	if port == defaultPort {
		return name
	}
	return "[" + name + "]:" + strconv.Itoa(port)
}
