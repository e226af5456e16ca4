package sshboot

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

func keyText(k ssh.PublicKey) string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) }

func TestKnownHosts(t *testing.T) {
	k := make([]ssh.PublicKey, 6)
	for i := range k {
		k[i] = newSigner(t, "ed25519").PublicKey()
	}
	home := t.TempDir()
	file := strings.Join([]string{
		"# comment", "",
		"n1,N2 " + keyText(k[0]) + " a comment",
		"[n1]:2222 " + keyText(k[1]),
		"*.x,!bad.x " + keyText(k[2]),
		knownhosts.HashHostname("hidden") + " " + keyText(k[3]),
		knownhosts.HashHostname("[hidden]:2222") + " " + keyText(k[4]),
		"@cert-authority *.x " + keyText(k[4]),
		"@revoked * " + keyText(k[5]),
		"alias " + keyText(k[5]),
		"::1 " + keyText(k[1]),
	}, "\n")
	writeFile(t, home, ".ssh/known_hosts", file)
	global := writeFile(t, home, "global", "n1 "+keyText(k[0])+"\nn1 "+keyText(k[3])+"\n")
	c := load(t, home, "Host aliased\n HostName n1\n HostKeyAlias Alias\n Port 2222\nHost *\n GlobalKnownHostsFile "+global)
	for _, tc := range []struct {
		host     string
		port     int
		keys     []int
		cas      []int
		keyName  string
		knownRow string
	}{
		{host: "n1", keys: []int{0, 3}, keyName: "n1", knownRow: "n1"},
		{host: "N2", keys: []int{0}, keyName: "N2", knownRow: "N2"},
		{host: "n1", port: 2222, keys: []int{1}, keyName: "n1", knownRow: "'[n1]:2222'"},
		{host: "n2", port: 2222, keys: []int{0}, keyName: "n2", knownRow: "'[n2]:2222'"}, // falls back to the key without a port
		{host: "a.x", keys: []int{2}, cas: []int{4}, keyName: "a.x", knownRow: "a.x"},
		{host: "bad.x", cas: []int{4}, keyName: "bad.x", knownRow: "bad.x"},
		{host: "hidden", keys: []int{3}, keyName: "hidden", knownRow: "hidden"},
		{host: "hidden", keys: []int{3}, keyName: "hidden", knownRow: "hidden"}, // still there the second time
		{host: "hidden", port: 2222, keys: []int{4}, keyName: "hidden", knownRow: "'[hidden]:2222'"},
		{host: "aliased", keys: []int{5}, keyName: "Alias", knownRow: "Alias"},
		{host: "::1", keys: []int{1}, keyName: "::1", knownRow: "::1"},
		{host: "nobody", keyName: "nobody", knownRow: "nobody"},
	} {
		t.Run(fmt.Sprint(tc.host, tc.port), func(t *testing.T) {
			got, err := c.Target(job.Host{Name: tc.host, Port: tc.port})
			require.NoError(t, err)
			blobs := func(want []int) (out [][]byte) {
				for _, i := range want {
					out = append(out, k[i].Marshal())
				}
				return out
			}
			require.Equal(t, blobs(tc.keys), got.HostKeys)
			require.Equal(t, blobs(tc.cas), got.CAs)
			require.NotEmpty(t, got.Revoked)
			require.Equal(t, k[5].Marshal(), got.Revoked[0])
			require.Equal(t, tc.keyName, got.KeyName)
			require.Equal(t, tc.knownRow, got.knownHostsName())
		})
	}
}

func TestKnownHostsPassesOverBadLines(t *testing.T) {
	good := newSigner(t, "ed25519").PublicKey()
	home := t.TempDir()
	writeFile(t, home, ".ssh/known_hosts", strings.Join([]string{
		"n1", "@strange n1 " + keyText(good), "n1 ssh-ed25519 !!!", "|1|x|y " + keyText(good), "|2|a|b " + keyText(good),
		"n1 2048 35 1234567", "@revoked", "n1 ssh-ed25519 AAAA", "n1 " + keyText(good),
	}, "\n"))
	c := load(t, home, "GlobalKnownHostsFile none")
	got, err := c.Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	require.Equal(t, [][]byte{good.Marshal()}, got.HostKeys)
	w := strings.Join(c.Warnings(), "\n")
	for line := 1; line <= 8; line++ {
		require.Contains(t, w, fmt.Sprintf("known_hosts:%d: ", line))
	}
}

func TestUnreadableKnownHostsIsAnError(t *testing.T) {
	home := t.TempDir()
	_, err := load(t, home, "UserKnownHostsFile "+home).Target(job.Host{Name: "n1"})
	require.ErrorContains(t, err, home+": is a directory")
}

// A pattern means what the regular expression that spells it out means.
func TestMatchPattern(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,8}`).Draw(t, "pattern")
		s := rapid.StringMatching(`[ab]{0,10}`).Draw(t, "string")
		re := "^" + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + "$"
		require.Equal(t, regexp.MustCompile(re).MatchString(s), matchPattern(pattern, s))
	})
}

func FuzzKnownHosts(f *testing.F) {
	key := base64.StdEncoding.EncodeToString(append([]byte{0, 0, 0, 11}, "ssh-ed25519x"...))
	f.Add("n1 ssh-ed25519 "+key, "n1")
	f.Add("@revoked * ssh-ed25519 "+key, "n1")
	f.Add("|1|AAAA|AAAA ssh-ed25519 "+key, "n1")
	f.Add("@cert-authority", "[n1]:22")
	f.Fuzz(func(t *testing.T, text, name string) {
		k := parseKnownHosts("f", text)
		var found knownKeys
		k.find(name, &found)
		for _, blob := range append(append(found.keys, found.cas...), found.revoked...) {
			require.NotEmpty(t, keyType(blob))
		}
	})
}

// The cost of thousands of hosts, all of them hidden among as many.
func BenchmarkKnownHostsHashed(b *testing.B) {
	const hosts = 1000
	key := keyText(newSigner(b, "ed25519").PublicKey())
	var text strings.Builder
	for i := range hosts {
		fmt.Fprintf(&text, "%s %s\n", knownhosts.HashHostname(fmt.Sprintf("node%04d", i)), key)
	}
	for b.Loop() {
		k := parseKnownHosts("f", text.String())
		for i := range hosts {
			var found knownKeys
			k.find(fmt.Sprintf("node%04d", i), &found)
			if len(found.keys) != 1 {
				b.Fatal("not found")
			}
		}
	}
}
