package sshboot

import (
	"bytes"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/job"
)

// samples are values that ssh takes, separated by |, for keywords that the
// generator draws. DIR stands for a directory with files. Keywords of which ssh
// would ask a name server have none; deprecated ones do without.
var samples = map[string]string{
	"AddKeysToAgent": "yes|no|ask", "AddressFamily": "any|inet|inet6", "BatchMode": "yes", "BindAddress": "127.0.0.9", "BindInterface": "lo",
	"CanonicalDomains": "a.example b.example", "CanonicalizeFallbackLocal": "no", "CanonicalizeHostname": "no|false", "CanonicalizeMaxDots": "3",
	"CanonicalizePermittedCNAMEs": "none", "CASignatureAlgorithms": "ssh-ed25519|+rsa-sha2-512|-rsa*|^ecdsa-sha2-nistp384",
	"CertificateFile": "DIR/c1|DIR/c2", "CheckHostIP": "yes|no", "Ciphers": "aes128-ctr,aes256-ctr|+aes192-ctr|-aes*|^aes256-gcm@openssh.com|-aes1*,chacha20*",
	"ClearAllForwardings": "yes", "Compression": "yes", "ConnectionAttempts": "4", "ConnectTimeout": "9|1m30s|2m|none|0",
	"ControlMaster": "auto|no", "ControlPath": "none|/x/%h", "ControlPersist": "yes|10m", "DynamicForward": "1080", "EnableEscapeCommandline": "yes",
	"EnableSSHKeysign": "yes", "EscapeChar": "none|%", "ExitOnForwardFailure": "yes", "FingerprintHash": "md5", "ForkAfterAuthentication": "no",
	"ForwardAgent": "yes|no", "ForwardX11": "yes", "ForwardX11Timeout": "5m", "ForwardX11Trusted": "no", "GatewayPorts": "yes",
	"GlobalKnownHostsFile": "none|DIR/k1|DIR/k1 DIR/k2", "GSSAPIAuthentication": "yes|no", "GSSAPIDelegateCredentials": "yes", "HashKnownHosts": "yes|no",
	"HostbasedAcceptedAlgorithms": "ssh-ed25519", "HostbasedAuthentication": "yes", "HostKeyAlias": "alias|other-%%",
	"HostKeyAlgorithms": "ssh-ed25519|rsa-sha2-512,ssh-ed25519|+ssh-rsa|-ecdsa*|^rsa-sha2-256|-*-cert-*,ssh-ed25519|ecdsa-*,ssh-ed25519",
	"HostName":          "%h.cluster|10.0.0.7|real", "IdentitiesOnly": "yes|no", "IdentityAgent": "none|SSH_AUTH_SOCK|DIR/agent|$NO_SUCH_VARIABLE", "IdentityFile": "DIR/i1|DIR/i2",
	"IgnoreUnknown": "nothing", "IPQoS": "cs1", "KbdInteractiveAuthentication": "no", "KbdInteractiveDevices": "pam",
	"KexAlgorithms":     "ecdh-sha2-nistp256|curve25519-sha256@libssh.org|+diffie-hellman-group14-sha1|-ecdh*|^diffie-hellman-group16-sha512|-diffie-hellman-*,!curve*",
	"KnownHostsCommand": "none|/bin/echo %H", "LocalCommand": "none|true", "LocalForward": "8080 x:80", "LogLevel": "QUIET", "LogVerbose": "none",
	"MACs": "hmac-sha2-512|+hmac-sha1-96|-*etm*|^hmac-sha1|-hmac-sha1*", "NoHostAuthenticationForLocalhost": "yes", "NumberOfPasswordPrompts": "1",
	"PasswordAuthentication": "no", "PermitLocalCommand": "yes", "PermitRemoteOpen": "none", "Port": "22|2222", "PreferredAuthentications": "publickey|password|gssapi-with-mic,publickey",
	"ProxyCommand": "none|nc %h %p", "ProxyJump": "none|gate|ann@gate:2200,second", "ProxyUseFdpass": "no",
	"PubkeyAcceptedAlgorithms": "ssh-ed25519|+ssh-rsa|-ecdsa*|rsa-sha2-512,ssh-ed25519", "PubkeyAuthentication": "yes|no|unbound|host-bound",
	"RekeyLimit": "1G|512M none|default|100K 1h|default none", "RemoteCommand": "none", "RemoteForward": "8080 x:80", "RequestTTY": "yes|no", "RequiredRSASize": "2048|3072",
	"RevokedHostKeys": "none|DIR/r1|DIR/r2", "SecurityKeyProvider": "internal", "SendEnv": "A B*", "ServerAliveCountMax": "9", "ServerAliveInterval": "30",
	"SessionType": "default", "SetEnv": "A=b", "StdinNull": "no", "StreamLocalBindMask": "0177", "StreamLocalBindUnlink": "yes",
	"StrictHostKeyChecking": "yes|no|ask|accept-new|off|true", "SyslogFacility": "USER", "TCPKeepAlive": "no", "Tunnel": "no", "TunnelDevice": "any:any",
	"UpdateHostKeys": "yes|no|ask", "User": "root|bob", "UserKnownHostsFile": "none|DIR/k3|DIR/k4 DIR/k1", "VerifyHostKeyDNS": "yes|no|ask",
	"VisualHostKey": "yes", "XAuthLocation": "/usr/bin/xauth",
	"Protocol": "2", "UsePrivilegedPort": "yes",
}

// unsampled are keywords of the table that the generator does not draw: they
// are structure, ask a name server, or are not ssh's in every build.
var unsampled = []string{"Host", "Match", "Include"}

// criteria stand before blocks.
var criteria = []string{
	"Host n1", "Host n*", "Host * !n2", "Host other n2", "Host \"n2\"", "Match all", "Match host n1", "Match host n*,!n2", "Match !host n2 originalhost N*",
	"Match user root", "Match user r*,b*", "Match host n002 user root", "Match host=*.cluster", "Match originalhost n2 localuser *", "Match localuser nobody",
	"Match exec true", "Match exec \"test %n = n1 -a %h != n1\"", "Match !exec \"test %r = root\"", "Match host n1 exec \"test %p = 22\"",
	"Match final", "Match canonical host *.cluster", "Match final all", "Match final host real", "Match !final user bob", "Match\thost n1 # comment",
}

// drawConfig draws blocks, some of them in files that are included.
func drawConfig(t *rapid.T, dir string, depth int, write func(text string) string) string {
	var names []string
	for name := range samples {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for range rapid.IntRange(1, 4).Draw(t, "blocks") {
		if rapid.Bool().Draw(t, "headed") {
			fmt.Fprintln(&b, rapid.SampledFrom(criteria).Draw(t, "criteria"))
		}
		for range rapid.IntRange(0, 5).Draw(t, "lines") {
			if depth < 2 && rapid.IntRange(0, 6).Draw(t, "include") == 0 {
				fmt.Fprintf(&b, " Include %s\n", write(drawConfig(t, dir, depth+1, write)))
				continue
			}
			name := rapid.SampledFrom(names).Draw(t, "keyword")
			value := rapid.SampledFrom(strings.Split(samples[name], "|")).Draw(t, "value")
			form := rapid.SampledFrom([]string{" %s %s\n", "\t%s=%s\n", "%s  %s # no\n"}).Draw(t, "form")
			if strings.HasSuffix(name, "Command") || name == "ProxyJump" {
				form = " %s %s\n" // to the end of the line, comment and all
			}
			fmt.Fprintf(&b, form, name, strings.ReplaceAll(value, "DIR", dir))
		}
	}
	return b.String()
}

// golaunch reads a configuration as ssh does, or refuses it and says why; for all
// keywords in any block.
func TestSameAsSSH(t *testing.T) {
	dir := t.TempDir()
	files := make(map[string][]byte)
	for _, name := range []string{"k1", "k2", "k3", "k4", "r1", "r2"} {
		key := newSigner(t, "ed25519").PublicKey()
		text := keyText(key) + "\n"
		if name[0] == 'k' {
			text = "* " + text
		}
		files[writeFile(t, dir, name, text)] = key.Marshal()
	}
	for name, k := range byName() {
		if k.rule != harmless && strings.EqualFold(name, k.name) && !slices.Contains(unsampled, k.name) && k.name != "RefuseConnection" {
			require.NotEmpty(t, samples[k.name], "%s has no samples", k.name)
		}
	}
	number := 0
	rapid.Check(t, func(rt *rapid.T) {
		write := func(text string) string {
			number++
			return writeFile(t, dir, fmt.Sprintf("config%d", number), text)
		}
		path := write(drawConfig(rt, dir, 0, write))
		host := job.Host{
			Name: rapid.SampledFrom([]string{"n1", "n2", "n002"}).Draw(rt, "host"),
			User: rapid.SampledFrom([]string{"", "root"}).Draw(rt, "user"),
			Port: rapid.SampledFrom([]int{0, 2022}).Draw(rt, "port"),
		}
		want := askSSH(rt, path, host)
		c, err := LoadConfig(Options{File: path, Home: dir})
		require.NoError(rt, err)
		got, err := c.Target(host)
		if refused := want.refused(); len(refused) > 0 {
			require.Error(rt, err, "should be refused for one of %q", refused)
			for _, name := range refused {
				if strings.Contains(err.Error(), ": "+name+" ") && strings.Contains(err.Error(), dir+"/config") {
					return
				}
			}
			require.Fail(rt, "refused for another reason", "%v, not one of %q", err, refused)
		}
		if err != nil && strings.Contains(err.Error(), "jump host ") && want.first("proxyjump") != "" {
			return // keywords of the jump host are refused
		}
		require.NoError(rt, err)
		want.compare(rt, &got, files)
	})
}

// printed is output of ssh -G: values by keyword.
type printed map[string][]string

func askSSH(t *rapid.T, path string, host job.Host) printed {
	args := []string{"-G", "-F", path}
	if host.User != "" {
		args = append(args, "-l", host.User)
	}
	if host.Port != 0 {
		args = append(args, "-p", strconv.Itoa(host.Port))
	}
	out, err := exec.Command("ssh", append(args, host.Name)...).Output()
	require.NoError(t, err, "ssh -G refuses what was drawn")
	p := make(printed)
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		p[key] = append(p[key], value)
	}
	return p
}

func (p printed) first(key string) string {
	if v := p[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// refused returns the keywords for which golaunch cannot go on.
func (p printed) refused() []string {
	var out []string
	for _, k := range keywords {
		v := p.first(strings.ToLower(k.name))
		if k.rule == refused && v != "" && !slices.Contains(k.fine, v) && p.first("proxyjump") == "" {
			out = append(out, k.name)
		}
	}
	// ssh makes a ProxyCommand of a ProxyJump, so the two are apart only here.
	if p.first("proxyjump") != "" {
		delete(p, "proxycommand")
		jump := p["proxyjump"]
		delete(p, "proxyjump")
		out = p.refused()
		p["proxyjump"] = jump
		return out
	}
	if v := p.first("preferredauthentications"); v != "" && !slices.Contains(strings.Split(v, ","), "publickey") {
		out = append(out, "PreferredAuthentications")
	}
	return out
}

func (p printed) compare(t *rapid.T, got *Target, files map[string][]byte) {
	number := func(key string) int {
		first, _, _ := strings.Cut(p.first(key), " ")
		n, err := strconv.Atoi(first)
		require.NoError(t, err, key)
		return n
	}
	require.Equal(t, p.first("user"), got.User)
	require.Equal(t, p.first("hostname"), strings.ToLower(got.HostName))
	require.Equal(t, number("port"), got.Port)
	require.Equal(t, p.first("identitiesonly") == "yes", got.IdentitiesOnly)
	require.Equal(t, p.first("hashknownhosts") == "yes", got.HashKnownHosts)
	require.Equal(t, map[string]string{"any": "", "inet": "tcp4", "inet6": "tcp6"}[p.first("addressfamily")], got.Network)
	require.Equal(t, map[string]Policy{"true": Strict, "ask": Strict, "accept-new": AcceptNew, "false": AcceptAny}[p.first("stricthostkeychecking")], got.Policy)
	require.Equal(t, number("requiredrsasize"), max(got.MinRSA, minRSA))
	require.Equal(t, number("rekeylimit"), int(got.RekeyBytes))
	timeout := 0
	if p.first("connecttimeout") != "none" {
		timeout = number("connecttimeout")
	}
	require.Equal(t, timeout, int(got.ConnectTimeout.Seconds()))
	alias := p.first("hostkeyalias")
	require.Equal(t, max(alias, map[bool]string{true: p.first("hostname")}[alias == ""]), strings.ToLower(got.KeyName))

	var identities []string
	for _, id := range got.Identities {
		if id.Given {
			identities = append(identities, id.Path)
		}
	}
	given := slices.DeleteFunc(slices.Clone(p["identityfile"]), func(f string) bool { return strings.HasPrefix(f, "~") })
	require.Equal(t, len(given), len(identities))
	require.Equal(t, strings.Join(given, " "), strings.Join(identities, " "))
	require.Equal(t, strings.Join(p["certificatefile"], " "), strings.Join(got.Certificates, " "))
	agent := map[string]string{"SSH_AUTH_SOCK": "", "$NO_SUCH_VARIABLE": "none"}
	if want, ok := agent[p.first("identityagent")]; ok {
		require.Equal(t, want, got.Agent)
	} else {
		require.Equal(t, p.first("identityagent"), got.Agent)
	}
	var jumps []string
	for _, j := range got.Jump {
		jumps = append(jumps, j.Name)
	}
	require.Equal(t, map[string]string{"": "", "gate": "gate", "ann@gate:2200,second": "gate second"}[p.first("proxyjump")], strings.Join(jumps, " "))

	var known int
	for _, path := range strings.Fields(p.first("userknownhostsfile") + " " + p.first("globalknownhostsfile")) {
		if key, ok := files[path]; ok {
			known++
			require.True(t, slices.ContainsFunc(got.HostKeys, func(b []byte) bool { return bytes.Equal(b, key) }), path)
		}
	}
	require.LessOrEqual(t, len(got.HostKeys), max(known, 0))
	revoked, ok := files[p.first("revokedhostkeys")]
	require.Equal(t, ok, len(got.Revoked) == 1 && bytes.Equal(got.Revoked[0], revoked))

	conf := got.cryptography()
	sameList(t, p, "kexalgorithms", conf.KeyExchanges, defaultKex)
	sameList(t, p, "ciphers", conf.Ciphers, defaultCiphers)
	sameList(t, p, "macs", conf.MACs, defaultMACs)
	sameList(t, p, "hostkeyalgorithms", got.HostKeyAlgorithms.or(defaultHostKeys), defaultHostKeys)
	sameList(t, p, "casignaturealgorithms", got.CASignatures.or(defaultCASignatures), defaultCASignatures)
	sameList(t, p, "pubkeyacceptedalgorithms", got.KeyAlgorithms.or(defaultUserKeys()), defaultUserKeys())
}

// sameList compares a list with ssh's, as far as this program has it. The order
// of the usual list is our own. A method that this ssh does not have counts
// only where ssh could have it.
func sameList(t *rapid.T, p printed, key string, got, usual []string) {
	set := func(list []string) []string {
		var out []string
		for _, a := range list {
			if a == oldCurve25519 {
				a = "curve25519-sha256"
			}
			if slices.Contains(usual, a) && a != "mlkem768x25519-sha256" && !slices.Contains(out, a) {
				out = append(out, a)
			}
		}
		slices.Sort(out)
		return out
	}
	require.Equal(t, set(strings.Split(p.first(key), ",")), set(got), key)
}

// Whether a server is logged in to is as with ssh, for what keeps ssh from it.
func TestSameVerdictAsSSH(t *testing.T) {
	s := bootstraptest.StartSSHD(t, "Ciphers aes256-ctr", "MACs hmac-sha2-512", "KexAlgorithms ecdh-sha2-nistp384")
	weak := bootstraptest.StartSSHD(t, "KexAlgorithms diffie-hellman-group14-sha1")
	revoked := writeFile(t, s.Dir, "revoked", keyText(s.HostKey)+"\n")
	other := writeFile(t, s.Dir, "other", keyText(newSigner(t, "ed25519").PublicKey())+"\n")
	unknown := "UserKnownHostsFile /dev/null\n"
	for _, tc := range []struct {
		lines string
		on    *bootstraptest.SSHD
		in    bool
	}{
		{"", s, true},
		{"RevokedHostKeys " + revoked, s, false},
		{"RevokedHostKeys " + other, s, true},
		{"RevokedHostKeys " + s.Dir + "/absent", s, false},
		{"RevokedHostKeys " + revoked + "\nStrictHostKeyChecking no", s, false},
		{"HostKeyAlgorithms rsa-sha2-512", s, false},
		{"HostKeyAlgorithms ^rsa-sha2-512", s, true},
		{"Ciphers aes128-ctr", s, false},
		{"Ciphers -aes256-ctr", s, false},
		{"Ciphers ^aes256-ctr", s, true},
		{"MACs -hmac-sha2-512", s, false},
		{"MACs hmac-sha2-512\nMatch all\nMACs hmac-sha2-256", s, true},
		{"KexAlgorithms ecdh-sha2-nistp521", s, false},
		{"KexAlgorithms -ecdh*", s, false},
		{"PubkeyAuthentication no", s, false},
		{"PubkeyAcceptedAlgorithms ecdsa-*", s, false},
		{"PreferredAuthentications password", s, false},
		{unknown + "StrictHostKeyChecking yes", s, false},
		{unknown + "StrictHostKeyChecking no", s, true},
		{unknown + "Match host 127.0.0.1 user " + s.User + "\nStrictHostKeyChecking yes\nMatch all\nStrictHostKeyChecking no", s, false},
		{unknown + "Match originalhost n0 user !" + s.User + "\nStrictHostKeyChecking yes\nMatch all\nStrictHostKeyChecking no", s, true},
		{unknown + "Match final host 127.0.0.1\nStrictHostKeyChecking yes\nMatch final\nStrictHostKeyChecking no", s, false},
		{"", weak, false},
		{"KexAlgorithms ^ecdh*", weak, false},
	} {
		t.Run(strings.ReplaceAll(tc.lines, "\n", "; "), func(t *testing.T) {
			// The first value counts, but HostName and User must be known.
			config := writeFile(t, s.Dir, "verdict", fmt.Sprintf("HostName 127.0.0.1\nUser %s\n%s\nHost *\n%s", s.User, tc.lines, mustRead(t, tc.on.Config)))
			c := exec.CommandContext(t.Context(), "ssh", "-F", config, "-o", "BatchMode=yes", "n0", "true")
			c.Env = []string{"PATH=/usr/bin:/bin"}
			out, err := c.CombinedOutput()
			require.Equal(t, tc.in, err == nil, "ssh: %s", out)

			verdict := func() error {
				conf, err := LoadConfig(Options{File: config, Home: t.TempDir()})
				require.NoError(t, err)
				target, err := conf.Target(job.Host{Name: "n0"})
				if err != nil {
					return err
				}
				p, err := dialer(t, []Target{target}, nil).Start(t.Context(), n0, []string{"true"})
				if err == nil {
					err = p.Close()
				}
				return err
			}
			err = verdict()
			require.Equal(t, tc.in, err == nil, "golaunch: %v", err)
		})
	}
}
