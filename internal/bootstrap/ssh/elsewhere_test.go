package sshboot

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// names is a resolver of fixed answers.
type names map[string][]string

func (n names) LookupAddr(_ context.Context, addr string) ([]string, error) {
	return n[addr], nil
}

func (n names) LookupNetIP(_ context.Context, _, host string) (list []netip.Addr, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	for _, text := range n[host] {
		list = append(list, netip.MustParseAddr(text))
	}
	if list == nil {
		err = errors.New("no such host")
	}
	return list, err
}

// A key is the host's by another name only if known_hosts has that name for it, at the
// port, and it leads to the address.
func TestSameHost(t *testing.T) {
	key, other := newSigner(t, "ed25519").PublicKey(), newSigner(t, "ed25519").PublicKey()
	text := keyText(key)
	dns := names{
		"n1": {"10.0.0.9", "::ffff:10.0.0.1"}, "n1.cluster": {"10.0.0.1"}, "n2": {"10.0.0.2"}, "v6": {"fd00::1"},
		"10.0.0.1": {"N1.cluster."}, "10.0.0.3": {"n2."}, "fd00::1": {"v6"},
	}
	for name, x := range map[string]struct {
		known string
		addr  string
		port  int
		want  bool
	}{
		"its name":                            {"n1 " + text, "10.0.0.1", 22, true},
		"one of several":                      {"gone,n2,n1 " + text, "10.0.0.1", 22, true},
		"another's name":                      {"n2 " + text, "10.0.0.1", 22, false},
		"a name that nobody knows":            {"gone " + text, "10.0.0.1", 22, false},
		"another key of the name":             {"n1 " + keyText(other) + "\nn2 " + text, "10.0.0.1", 22, false},
		"its address, by a name":              {"10.0.0.1 " + text, "10.0.0.1", 22, true},
		"another address":                     {"10.0.0.2 " + text, "10.0.0.1", 22, false},
		"IPv6":                                {"v6 " + text, "fd00::1", 22, true},
		"another server of the host":          {"[n1]:2222 " + text, "10.0.0.1", 22, false},
		"that server":                         {"[n1]:2222 " + text, "10.0.0.1", 2222, true},
		"the usual server of the host":        {"n1 " + text, "10.0.0.1", 2222, false},
		"a pattern":                           {"n* " + text, "10.0.0.1", 22, false},
		"an authority's":                      {"@cert-authority n1 " + text, "10.0.0.1", 22, false},
		"revoked":                             {"@revoked n1 " + text, "10.0.0.1", 22, false},
		"hashed":                              {hashName("n1.cluster") + " " + text, "10.0.0.1", 22, true},
		"hashed, without domain":              {hashName("n1") + " " + text, "10.0.0.1", 22, true},
		"hashed, at the port":                 {hashName("[n1]:2222") + " " + text, "10.0.0.1", 2222, true},
		"hashed, another's":                   {hashName("n2") + " " + text, "10.0.0.1", 22, false},
		"hashed, an address that lies":        {hashName("n2") + " " + text, "10.0.0.3", 22, false},
		"an address that nobody has resolved": {"n1 " + text, "", 22, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Config{known: map[string]*knownHosts{"/absent": nil, "/known": parseKnownHosts("/known", x.known+"\n")}}
			target := &Target{Name: "x", Addr: x.addr, Port: x.port}
			require.Equal(t, x.want, c.SameHost(t.Context(), key.Marshal(), target, dns))
			target.Jump = []Target{{Name: "gate"}}
			require.False(t, c.SameHost(t.Context(), key.Marshal(), target, dns), "addresses behind another host are not ours to look up")
		})
	}
}
