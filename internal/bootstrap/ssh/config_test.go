package sshboot

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// load reads text as the one configuration file of a user ann with home dir.
func load(t testing.TB, dir, text string) *Config {
	t.Helper()
	c, err := LoadConfig(Options{File: writeFile(t, dir, "config", text), Home: dir, User: "ann"})
	require.NoError(t, err)
	return c
}

func TestConfigTarget(t *testing.T) {
	home := t.TempDir()
	t.Setenv("GOLAUNCH_TEST_KEYS", home+"/keys")
	writeFile(t, home, ".ssh/part/one", "Host inc\n  Port 1234\n")
	writeFile(t, home, ".ssh/part/two", "Host inc\n  Port 99\n  User late\n")
	for _, tc := range []struct {
		name, config string
		host         job.Host
		want         func(*testing.T, Target)
	}{
		{name: "defaults", host: job.Host{Name: "n1"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "n1", got.HostName)
			assert.Equal(t, 22, got.Port)
			assert.Equal(t, "ann", got.User)
			assert.Equal(t, Strict, got.Policy)
			assert.Equal(t, []Identity{{Path: home + "/.ssh/id_ed25519"}, {Path: home + "/.ssh/id_ecdsa"}, {Path: home + "/.ssh/id_rsa"}}, got.Identities)
			assert.Equal(t, home+"/.ssh/known_hosts", got.KnownHostsFile)
		}},
		{name: "first value wins", config: "Host n?\n Port 2022\n User first\nHost *\n User second\n Port 1\n ConnectTimeout 7\n ConnectionAttempts 4", host: job.Host{Name: "n1"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 2022, got.Port)
			assert.Equal(t, "first", got.User)
			assert.Equal(t, 7*time.Second, got.ConnectTimeout)
			assert.Equal(t, 4, got.Attempts)
		}},
		{name: "host file wins", config: "Host *\n User cfg\n Port 5", host: job.Host{Name: "n1", User: "bob", Port: 77}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "bob", got.User)
			assert.Equal(t, 77, got.Port)
		}},
		{name: "negation, tabs, equals, case, no final newline", config: "HOST\t*.x \t!bad.x\r\n\tport=2222\r\nHost bad.x\n\tPORT = 3333", host: job.Host{Name: "bad.x"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 3333, got.Port)
		}},
		{name: "match host and all", config: "Match host a,b\n Port 5\nMatch all\n User m", host: job.Host{Name: "b"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 5, got.Port)
			assert.Equal(t, "m", got.User)
		}},
		{name: "match exec, and final too late", config: "Match final all\n Port 5\n User late\nMatch exec \"test %n = a\"\n Port 6\nMatch exec \"test %n = b\"\n Port 7", host: job.Host{Name: "b"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 7, got.Port)
			assert.Equal(t, "late", got.User)
		}},
		{name: "match user", config: "Match host n002 user root\n StrictHostKeyChecking yes\nHost *\n StrictHostKeyChecking no", host: job.Host{Name: "n002", User: "root"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, Strict, got.Policy)
		}},
		{name: "match with an unknown criterion that need not be tested", config: "Match host other tagged x\n Port 5", host: job.Host{Name: "b"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 22, got.Port)
		}},
		{name: "include in order, inside a block", config: "Host inc\n Include part/* nothing/*\n User early", host: job.Host{Name: "inc"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 1234, got.Port)
			assert.Equal(t, "late", got.User)
		}},
		{name: "include in a block of another host", config: "Host other\n Include ~/.ssh/part/one", host: job.Host{Name: "inc"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, 22, got.Port)
		}},
		{name: "tokens", config: "Host *\n HostName %h.cluster\n Port 9\n User u%%\n IdentityFile ${GOLAUNCH_TEST_KEYS}/%u_%r_%h_%p_%n\n IdentityFile ~/k\n IdentitiesOnly yes\n BatchMode yes\n UserKnownHostsFile \"%d/with blank\" none", host: job.Host{Name: "n1", User: "bob"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "n1.cluster", got.HostName)
			assert.Equal(t, []Identity{{home + "/keys/ann_bob_n1.cluster_9_n1", true}, {home + "/k", true}}, got.Identities)
			assert.True(t, got.IdentitiesOnly)
			assert.True(t, got.Batch)
		}},
		{name: "address", config: "Host n1\n HostName ::ffff:10.0.0.1", host: job.Host{Name: "n1"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "10.0.0.1", got.Addr)
		}},
		{name: "jump chain", config: "Host *.in\n ProxyJump bob@gate:2200, inner\nHost gate\n HostName gate.example.com\n ProxyJump outer\nHost inner\n User carl\n ProxyJump gate", host: job.Host{Name: "n.in"}, want: func(t *testing.T, got Target) {
			require.Len(t, got.Jump, 3)
			assert.Equal(t, "outer", got.Jump[0].Name)
			assert.Equal(t, "gate.example.com", got.Jump[1].HostName)
			assert.Equal(t, "bob", got.Jump[1].User)
			assert.Equal(t, 2200, got.Jump[1].Port)
			assert.Equal(t, "carl", got.Jump[2].User)
		}},
		{name: "a pattern that catches the jump host too", config: "Host *\n ProxyJump gate", host: job.Host{Name: "n1"}, want: func(t *testing.T, got Target) {
			require.Len(t, got.Jump, 1)
			assert.Equal(t, "gate", got.Jump[0].Name)
		}},
		{name: "no jump", config: "Host n1\n ProxyJump none\nHost *\n ProxyJump gate\n ProxyCommand none", host: job.Host{Name: "n1"}, want: func(t *testing.T, got Target) {
			assert.Empty(t, got.Jump)
		}},
		{name: "policies", config: "Host a\n StrictHostKeyChecking accept-new\nHost *\n StrictHostKeyChecking off", host: job.Host{Name: "a"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, AcceptNew, got.Policy)
		}},
		{name: "kex list", config: "KexAlgorithms sntrup761x25519-sha512@openssh.com,curve25519-sha256@libssh.org,ecdh-sha2-nistp256", host: job.Host{Name: "a"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, []string{"curve25519-sha256@libssh.org", "ecdh-sha2-nistp256"}, got.Kex.or(nil))
		}},
		{name: "kex removal", config: "KexAlgorithms -mlkem*,*sha1", host: job.Host{Name: "a"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "curve25519-sha256", got.Kex.or(nil)[0])
			assert.NotContains(t, strings.Join(got.Kex.or(nil), ","), "sha1,")
		}},
		{name: "kex first", config: "KexAlgorithms ^diffie-hellman-group16-sha512", host: job.Host{Name: "a"}, want: func(t *testing.T, got Target) {
			assert.Equal(t, "diffie-hellman-group16-sha512", got.Kex.or(nil)[0])
			assert.Greater(t, len(got.Kex), 3)
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := load(t, home, tc.config).Target(tc.host)
			require.NoError(t, err)
			tc.want(t, got)
		})
	}
}

// Lines count before the files, for all hosts; the first of a keyword counts.
func TestLinesBeforeTheFiles(t *testing.T) {
	home := t.TempDir()
	file := writeFile(t, home, "config", "Host n1\n Port 5\n User joe\n")
	c, err := LoadConfig(Options{File: file, Home: home, User: "ann", Lines: []string{"Port=7", "port 8", "UserKnownHostsFile = /dev/null"}})
	require.NoError(t, err)
	got, err := c.Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	require.Equal(t, 7, got.Port)
	require.Equal(t, "joe", got.User)

	for line, want := range map[string]string{
		"Port":              `--ssh-option: "Port" has no value`,
		"Host=n1":           `--ssh-option: "Host=n1" is not KEY=VALUE`,
		" include /x":       "is not KEY=VALUE",
		"=x":                "is not KEY=VALUE",
		"UserKnownHosts \"": "quote is not closed",
	} {
		_, err := LoadConfig(Options{File: "none", Home: home, Lines: []string{line}})
		require.ErrorContains(t, err, want)
	}
	c, err = LoadConfig(Options{File: "none", Home: home, User: "ann", Lines: []string{"Prot=7"}})
	require.NoError(t, err)
	_, err = c.Target(job.Host{Name: "n1"})
	require.ErrorContains(t, err, "host n1: --ssh-option: keyword prot is not known to golaunch")
}

func TestConfigErrors(t *testing.T) {
	home := t.TempDir()
	for _, tc := range []struct{ name, config, want string }{
		{"port", "Port x", "config:1: Port x: "},
		{"port range", "Port 70000", "70000"},
		{"policy", "StrictHostKeyChecking maybe", "StrictHostKeyChecking"},
		{"timeout", "ConnectTimeout soon", "ConnectTimeout"},
		{"attempts", "ConnectionAttempts many", "ConnectionAttempts"},
		{"no attempts", "ConnectionAttempts 0", "it is no number of 1 to 100000"},
		{"token", "IdentityFile ~/%Z", "%Z"},
		{"dangling token", "IdentityFile ~/%", "ends in %"},
		{"variable", "IdentityFile ${GOLAUNCH_NO_SUCH}/x", "GOLAUNCH_NO_SUCH"},
		{"other home", "IdentityFile ~bob/x", "home directories"},
		{"proxy command", "ProxyCommand nc %h %Z", "config:1: ProxyCommand nc %h %Z in"},
		{"circle", "Host n1\n ProxyJump a\nHost a\n ProxyJump b\nHost b\n ProxyJump a", "circles"},
		{"jump port", "ProxyJump gate:x", `"gate:x"`},
		{"jump empty", "ProxyJump a,,b", "HOST"},
		{"kex", "KexAlgorithms nothing", "KexAlgorithms nothing"},
		{"match", "\nMatch host n1 localnetwork 10.0.0.0/8", "config:2: Match localnetwork is not known"},
		{"two words", "IdentityFile ~/my key", "config:1: IdentityFile ~/my key: it has more than one word"},
		{"unknown keyword", "UseKeychain yes", "config:1: keyword usekeychain is not known to golaunch; IgnoreUnknown usekeychain"},
		{"public keys off", "Host *\n PubkeyAuthentication no", "config:2: PubkeyAuthentication no: not supported"},
		{"other methods", "PreferredAuthentications password,gssapi-with-mic", "add publickey"},
		{"no key exchange left", "KexAlgorithms -*", "config:1: KexAlgorithms -*: nothing is left of"},
		{"revoked keys that cannot be read", "RevokedHostKeys /no/such", "config:1: RevokedHostKeys /no/such: /no/such: no such file"},
		{"rekey amount", "RekeyLimit 1", "config:1: RekeyLimit 1: it is no amount"},
		{"time too long", "ConnectTimeout 99999999w", "config:1: ConnectTimeout 99999999w: it is more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := load(t, home, tc.config).Target(job.Host{Name: "n1"})
			require.ErrorContains(t, err, "host n1: ")
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := load(t, home, "").Target(job.Host{Name: "-oProxyCommand=x"})
	require.ErrorContains(t, err, "no host name")
}

func TestConfigFileErrors(t *testing.T) {
	home := t.TempDir()
	loop := writeFile(t, home, "loop", "Include "+filepath.Join(home, "loop"))
	for _, tc := range []struct{ name, text, want string }{
		{"no value", "\nPort", ":2: \"Port\" has no value"},
		{"no keyword", "= 5", ":1: \"\" is no keyword"},
		{"odd keyword", "P?rt 5", "is no keyword"},
		{"control character", "Port \x01", "control character"},
		{"empty pattern", "Host a !", `host pattern "!"`},
		{"quote", "UserKnownHostsFile \"a b c", ":1: quote is not closed"},
		{"match all and more", "Match all host x", ":1: match all goes with no other"},
		{"include loop", "Include " + loop, "includes itself"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			path := writeFile(t, home, "bad", tc.text)
			_, err := LoadConfig(Options{File: path, Home: home})
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := LoadConfig(Options{File: filepath.Join(home, "absent"), Home: home})
	require.EqualError(t, err, filepath.Join(home, "absent")+": no such file or directory")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = LoadConfig(Options{File: home, Home: home})
	require.ErrorContains(t, err, "is a directory")
	_, err = LoadConfig(Options{File: "/dev/zero", Home: home})
	require.EqualError(t, err, "/dev/zero: is a device")
	_, err = LoadConfig(Options{File: "none", Home: home})
	require.NoError(t, err)
}

// Like ssh, golaunch takes no word from a file that others may write: the
// user's own, and what is included.
func TestFilesThatOthersMayWrite(t *testing.T) {
	home := t.TempDir()
	own := writeFile(t, home, ".ssh/config", "User u\n")
	_, err := LoadConfig(Options{Home: home})
	require.NoError(t, err)
	require.NoError(t, os.Chmod(own, 0o620))
	_, err = LoadConfig(Options{Home: home})
	require.ErrorContains(t, err, own+": others may write it")
	_, err = LoadConfig(Options{Home: home, File: own})
	require.NoError(t, err, "ssh -F takes it")
	_, err = LoadConfig(Options{Home: home, File: writeFile(t, home, "with", "Include "+own)})
	require.ErrorContains(t, err, own+": others may write it")
}

func FuzzConfig(f *testing.F) {
	f.Add("Host a\n Port 5\nMatch all\nInclude x\n")
	f.Add("Host \"a\nKey")
	f.Add("=\n")
	f.Add("Host a # b\nUserKnownHostsFile /dev/null\n")
	f.Add("Match host a user u\nKexAlgorithms ^ecdh*\nRekeyLimit 1G\nMatch final\nConnectTimeout 1m")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "exec") {
			return // would run commands on this machine
		}
		if strings.ContainsAny(text, "/*?[") && strings.Contains(strings.ToLower(text), "include") {
			return // would read files of this machine
		}
		home := t.TempDir()
		c, err := LoadConfig(Options{File: writeFile(t, home, "config", text), Home: home, User: "u"})
		if err != nil {
			require.ErrorContains(t, err, "config")
			return
		}
		target, err := c.Target(job.Host{Name: "a"})
		if err != nil {
			require.ErrorContains(t, err, "host a: ")
			return
		}
		require.NotEmpty(t, target.HostName)
		require.NotEmpty(t, target.User)
		require.NotZero(t, target.Port)
	})
}

func TestTargetTravelsWithoutLauncherMatters(t *testing.T) {
	in := Target{
		Name: "n1", HostName: "n1.x", Addr: "10.0.0.1", Port: 22, User: "u", KeyName: "n1.x", HostKeys: [][]byte{{1}},
		Policy: AcceptNew, Keys: []int{2, 0}, ConnectTimeout: time.Second, Attempts: 5,
		Kex: algorithmList{1}, Ciphers: algorithmList{2}, MACs: algorithmList{3}, HostKeyAlgorithms: algorithmList{4}, CASignatures: algorithmList{5},
		KeyAlgorithms: algorithmList{6, 7}, MinRSA: 2048, RekeyBytes: 1 << 30, Network: "tcp4",
		Certificates: []string{"/home/u/.ssh/cert"}, Agent: "/home/u/agent", HashKnownHosts: true,
		Jump: []Target{{Name: "gate"}}, Identities: []Identity{{Path: "/home/u/.ssh/id"}}, IdentitiesOnly: true, KnownHostsFile: "/x",
	}
	b, err := cbor.Marshal(in)
	require.NoError(t, err)
	require.NotContains(t, string(b), "gate")
	require.NotContains(t, string(b), "/home")
	var out Target
	require.NoError(t, cbor.Unmarshal(b, &out))
	in.Jump, in.Identities, in.IdentitiesOnly, in.KnownHostsFile = nil, nil, false, ""
	in.Certificates, in.Agent, in.HashKnownHosts = nil, "", false
	require.Equal(t, in, out)
}

func TestResolve(t *testing.T) {
	names := map[string][]netip.Addr{
		"both": {netip.MustParseAddr("fe80::1"), netip.MustParseAddr("10.0.0.2")},
		"six":  {netip.MustParseAddr("2001:db8::1")},
	}
	lookup := func(_ context.Context, network, host string) ([]netip.Addr, error) {
		if a, ok := names[host]; ok {
			return slices.DeleteFunc(slices.Clone(a), func(a netip.Addr) bool {
				return network == "ip4" && !a.Is4() || network == "ip6" && a.Is4()
			}), nil
		}
		return nil, errors.New("no such host")
	}
	targets := []Target{
		{HostName: "both"}, {HostName: "six"}, {HostName: "inside"}, {HostName: "both", Jump: []Target{{}}}, {HostName: "both"},
		{HostName: "10.9.9.9", Addr: "10.9.9.9"}, {HostName: "both", Network: "tcp6"}, {HostName: "six", Network: "tcp4"},
	}
	require.NoError(t, Resolve(t.Context(), targets, lookup))
	var got []string
	for _, target := range targets {
		got = append(got, target.Addr)
	}
	require.Equal(t, []string{"10.0.0.2", "2001:db8::1", "", "", "10.0.0.2", "10.9.9.9", "fe80::1", ""}, got)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Resolve(ctx, []Target{{HostName: "x"}}, lookup), context.Canceled)
}

// A host that is this machine by a name that is 127.0.1.1 here is dialled at the
// address that the others see; addresses that the user has written so stay.
func TestMeetElsewhere(t *testing.T) {
	nearEnd := func(to string) (netip.Addr, error) {
		if end, ok := map[string]string{"10.0.0.2": "10.0.0.1", "2001:db8::2": "2001:db8::1", "10.9.9.9": "127.0.0.1"}[to]; ok {
			return netip.MustParseAddr(end), nil
		}
		return netip.Addr{}, errors.New("no route")
	}
	var routes []string
	meet := func(targets ...Target) (addrs []string) {
		meetElsewhere(targets, func(to string) (netip.Addr, error) {
			routes = append(routes, to)
			return nearEnd(to)
		})
		for _, target := range targets {
			addrs = append(addrs, target.Addr)
		}
		return addrs
	}
	here := Target{HostName: "here", Addr: "127.0.1.1"}
	unknown, far, off := Target{HostName: "unknown"}, Target{HostName: "far", Addr: "10.0.0.2"}, Target{HostName: "off", Addr: "10.8.8.8"}
	require.Equal(t, []string{"127.0.1.1"}, meet(here))
	require.Equal(t, []string{"127.0.1.1", "", "127.0.1.1"}, meet(here, unknown, here))
	require.Equal(t, []string{"127.0.0.1", "127.0.0.1", "10.0.0.2"}, meet(Target{HostName: "localhost", Addr: "127.0.0.1"}, Target{HostName: "127.0.0.1", Addr: "127.0.0.1"}, far))
	require.Empty(t, routes, "nothing to find out")
	require.Equal(t, []string{"10.0.0.1", "", "10.8.8.8", "10.0.0.2"}, meet(here, unknown, off, far))
	require.Equal(t, []string{"127.0.1.1", "10.9.9.9"}, meet(here, Target{HostName: "alias", Addr: "10.9.9.9"}))
	require.Equal(t, []string{"10.0.0.2", "2001:db8::2", "2001:db8::1"}, meet(far, Target{HostName: "six", Addr: "2001:db8::2"}, Target{HostName: "here", Addr: "::1", Network: "tcp6"}))
}

func TestLookUp(t *testing.T) {
	lookup := func(_ context.Context, network, host string) ([]netip.Addr, error) {
		require.Equal(t, "ip4", network)
		if host == "late" {
			return []netip.Addr{netip.MustParseAddr("10.0.0.2")}, nil
		}
		return nil, errors.New("no such host")
	}
	addr, err := lookUp(t.Context(), &Target{HostName: "late", Network: "tcp4"}, lookup)
	require.NoError(t, err)
	require.Equal(t, "10.0.0.2", addr)
	_, err = lookUp(t.Context(), &Target{HostName: "later", Network: "tcp4"}, lookup)
	require.EqualError(t, err, "name later does not resolve")
}

// Comments end a line where OpenSSH ends it; quotes are not part of a value.
func TestConfigLines(t *testing.T) {
	for line, want := range map[string]string{
		"User u # comment":  "u",
		"User=u":            "u",
		"user = u#1":        "u#1",
		`User "a b"`:        "a b",
		`User "a # b" # no`: "a # b",
		`User 'a b'`:        "a b",
		`User a\ b`:         "a b",
	} {
		c := load(t, t.TempDir(), line+"\n")
		target, err := c.Target(job.Host{Name: "h"})
		require.NoError(t, err, line)
		require.Equal(t, want, target.User, line)
	}
}

// Names of known_hosts files are quoted one by one.
func TestKnownHostsFilesInQuotes(t *testing.T) {
	for line, want := range map[string]string{
		`UserKnownHostsFile "/a b"`:       "/a b",
		`UserKnownHostsFile "/a b" "/c"`:  "/a b",
		`UserKnownHostsFile /a "/b c"`:    "/a",
		`UserKnownHostsFile "/a" # "/b"`:  "/a",
		`UserKnownHostsFile none "/a b" `: "/a b",
	} {
		target, err := load(t, t.TempDir(), line+"\n").Target(job.Host{Name: "h"})
		require.NoError(t, err, line)
		require.Equal(t, want, target.KnownHostsFile, line)
	}
}

// Services run without $HOME.
func TestHomeWithoutTheVariable(t *testing.T) {
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	require.NoError(t, err)
	t.Setenv("HOME", "/from the variable")
	c, err := LoadConfig(Options{File: "none"})
	require.NoError(t, err)
	require.Equal(t, "/from the variable", c.home)
	t.Setenv("HOME", "")
	c, err = LoadConfig(Options{File: "none"})
	require.NoError(t, err)
	require.Equal(t, u.HomeDir, c.home)
}

// The cost of a site's configuration for each of thousands of hosts.
func BenchmarkTargetOfASite(b *testing.B) {
	c := load(b, b.TempDir(), `Match final all
 Ciphers aes256-gcm@openssh.com,chacha20-poly1305@openssh.com,aes256-ctr,aes128-gcm@openssh.com,aes128-ctr
 MACs hmac-sha2-256-etm@openssh.com,hmac-sha1-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha1,umac-128@openssh.com,hmac-sha2-512
 KexAlgorithms curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,diffie-hellman-group14-sha256
 PubkeyAcceptedAlgorithms ecdsa-sha2-nistp256,ecdsa-sha2-nistp256-cert-v01@openssh.com,ssh-ed25519,ssh-ed25519-cert-v01@openssh.com,rsa-sha2-256,rsa-sha2-512
 CASignatureAlgorithms ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,ssh-ed25519,rsa-sha2-256,rsa-sha2-512
 HostKeyAlgorithms -ecdsa*
 RequiredRSASize 2048
`)
	for b.Loop() {
		target, err := c.Target(job.Host{Name: "n1"})
		if err != nil {
			b.Fatal(err)
		}
		if size, err := cbor.Marshal(target); err != nil || len(size) > 300 {
			b.Fatal(err, len(size))
		}
	}
}
