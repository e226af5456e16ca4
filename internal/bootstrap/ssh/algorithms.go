package sshboot

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
)

// The defaults are those of OpenSSH that x/crypto has, in the order that is best for
// many short connections. SHA-1 is only in MACs, where OpenSSH has it, too.
var (
	defaultKex = []string{
		ssh.KeyExchangeMLKEM768X25519, ssh.KeyExchangeCurve25519, oldCurve25519,
		ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384, ssh.KeyExchangeECDHP521,
		ssh.KeyExchangeDH14SHA256, ssh.KeyExchangeDH16SHA512, ssh.KeyExchangeDHGEXSHA256,
	}
	defaultCiphers = []string{
		ssh.CipherAES128GCM, ssh.CipherAES256GCM, ssh.CipherChaCha20Poly1305,
		ssh.CipherAES128CTR, ssh.CipherAES192CTR, ssh.CipherAES256CTR,
	}
	defaultMACs         = []string{ssh.HMACSHA256ETM, ssh.HMACSHA512ETM, ssh.HMACSHA256, ssh.HMACSHA512, ssh.HMACSHA1}
	defaultHostKeys     = slices.Concat(certHostKeys, plainHostKeys)
	defaultCASignatures = slices.Concat(plainHostKeys, []string{ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256})
)

// oldCurve25519 is ssh.KeyExchangeCurve25519 under its old name, which x/crypto
// adds itself.
const oldCurve25519 = "curve25519-sha256@libssh.org"

// defaultUserKeys are all that a key of the user's may sign with.
var defaultUserKeys = sync.OnceValue(func() []string {
	var out []string
	for _, algorithms := range signatureAlgorithms {
		for a := range algorithms {
			out = append(out, a)
		}
	}
	slices.Sort(out)
	return out
})

// algorithms fills in the lists that the configuration has, which are worked out
// once for all hosts.
func (c *Config) algorithms(t *Target, set settings) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range []struct {
		key   string
		usual []string
		into  *algorithmList
	}{
		{"kexalgorithms", defaultKex, &t.Kex},
		{"ciphers", defaultCiphers, &t.Ciphers},
		{"macs", defaultMACs, &t.MACs},
		{"hostkeyalgorithms", defaultHostKeys, &t.HostKeyAlgorithms},
		{"casignaturealgorithms", defaultCASignatures, &t.CASignatures},
		{"pubkeyacceptedalgorithms", defaultUserKeys(), &t.KeyAlgorithms},
	} {
		line := set.first(l.key)
		if line.arg() == "" {
			continue
		}
		id := l.key + " " + line.arg()
		list, ok := c.lists[id]
		if !ok {
			list = listOf(assemble(line.arg(), l.usual)...)
			c.lists[id] = list
		}
		if *l.into = list; len(list) == 0 {
			return line.errorf("nothing is left of %s", strings.Join(l.usual, ","))
		}
	}
	return nil
}

// assemble applies a list of algorithms, which may be patterns, or a change to
// the usual list that begins with + (append), - (remove) or ^ (put first). All
// that this program has is in the usual list; other names are passed over.
func assemble(value string, usual []string) []string {
	how := value[0]
	patterns := strings.Split(strings.TrimLeft(value[:1], "+-^")+value[1:], ",")
	if how == '-' {
		return slices.DeleteFunc(slices.Clone(usual), func(have string) bool { return matchPatterns(patterns, have) })
	}
	var named []string
	for _, p := range patterns {
		for _, have := range usual {
			if matchPattern(p, have) && !slices.Contains(named, have) {
				named = append(named, have)
			}
		}
	}
	switch how {
	case '+':
		return slices.Clone(usual)
	case '^':
		return append(named, slices.DeleteFunc(slices.Clone(usual), func(have string) bool { return slices.Contains(named, have) })...)
	}
	return named
}

// cryptography returns the algorithms to propose to t.
func (t *Target) cryptography() ssh.Config {
	return ssh.Config{
		KeyExchanges: t.Kex.or(defaultKex), Ciphers: t.Ciphers.or(defaultCiphers), MACs: t.MACs.or(defaultMACs),
		RekeyThreshold: t.RekeyBytes,
	}
}

// mayUse tells whether the user's key may log in to t with an algorithm.
func (t *Target) mayUse(algorithm string) bool {
	return slices.Contains(t.KeyAlgorithms.or(defaultUserKeys()), algorithm)
}

// algorithmList is a list of algorithms as it travels: places in algorithmNames. Sites
// configure six lists for all hosts, whose names would be most of an agent's data of a
// host.
type algorithmList []byte

// algorithmNames are all algorithms. Launcher and agents are one build. Few of
// either ask for them.
var algorithmNames = sync.OnceValue(func() []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(
		defaultKex, defaultCiphers, defaultMACs, defaultHostKeys, defaultCASignatures, defaultUserKeys()))))
})

// listOf makes a list of names that are among algorithmNames.
func listOf(names ...string) algorithmList {
	var l algorithmList
	for _, n := range names {
		l = append(l, byte(slices.Index(algorithmNames(), n)))
	}
	return l
}

// or returns the list's names, or those that stand for an empty one.
func (l algorithmList) or(usual []string) []string {
	if len(l) == 0 {
		return usual
	}
	all, names := algorithmNames(), make([]string, len(l))
	for i, at := range l {
		if int(at) < len(all) { // else a name that nobody has
			names[i] = all[at]
		}
	}
	return names
}
