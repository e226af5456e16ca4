package sshboot

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/job"
)

// start logs in to a server in this process and returns what it comes to;
// "refused to run a command" is all that such a server grants.
func start(t *testing.T, target Target) error {
	t.Helper()
	_, err := dialer(t, []Target{target}, nil).Start(t.Context(), n0, []string{"true"})
	return err
}

// A server that has SHA-1 alone, for key exchange or as a MAC that ssh does not
// take, is not logged in to.
func TestServersWithSHA1Only(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	for name, change := range map[string]func(*ssh.ServerConfig){
		"key exchange": func(c *ssh.ServerConfig) { c.KeyExchanges = []string{"diffie-hellman-group14-sha1"} },
		"mac": func(c *ssh.ServerConfig) {
			c.Ciphers, c.MACs = []string{"aes128-ctr"}, []string{"hmac-sha1-96"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, change, nil)
			wantError(t, start(t, s.target(t, dir)), bootstrap.Connect, true, "no common algorithm")
		})
	}
}

// A certificate signed with SHA-1 proves no host, nor one signed otherwise than
// CASignatureAlgorithms says.
func TestCertificateSignatures(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	rsaSigner, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	host := newSigner(t, "ed25519")
	for _, tc := range []struct {
		algorithm string
		allowed   []string
		want      string
	}{
		{ssh.KeyAlgoRSA, nil, "it is signed with ssh-rsa"},
		{ssh.KeyAlgoRSASHA512, nil, "refused to run a command"},
		{ssh.KeyAlgoRSASHA512, []string{ssh.KeyAlgoED25519}, "it is signed with rsa-sha2-512, which is none of ssh-ed25519"},
	} {
		t.Run(tc.algorithm, func(t *testing.T) {
			ca, err := ssh.NewSignerWithAlgorithms(rsaSigner.(ssh.AlgorithmSigner), []string{tc.algorithm})
			require.NoError(t, err)
			cert := &ssh.Certificate{
				Key: host.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{"127.0.0.1"}, ValidBefore: ssh.CertTimeInfinity,
			}
			require.NoError(t, cert.SignCert(rand.Reader, ca))
			signer, err := ssh.NewCertSigner(cert, host)
			require.NoError(t, err)
			s := startServer(t, func(c *ssh.ServerConfig) { c.AddHostKey(signer) }, nil)
			target := s.target(t, dir)
			target.HostKeys, target.CAs, target.CASignatures = nil, [][]byte{ca.PublicKey().Marshal()}, listOf(tc.allowed...)
			require.ErrorContains(t, start(t, target), tc.want)
		})
	}
}

// The lists of the configuration are proposed.
func TestAlgorithmsAreThoseOfTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	s := startServer(t, func(c *ssh.ServerConfig) {
		c.Ciphers, c.MACs, c.KeyExchanges = []string{"aes128-ctr"}, []string{"hmac-sha2-512"}, []string{"ecdh-sha2-nistp384"}
	}, nil)
	for line, want := range map[string]string{
		"":                             "refused to run a command",
		"Ciphers aes256*":              "no common algorithm for client to server cipher",
		"MACs -hmac-sha2-512":          "no common algorithm for client to server MAC",
		"KexAlgorithms -*nistp384":     "no common algorithm for key exchange",
		"HostKeyAlgorithms rsa-sha2-*": "host has keys of other types (ssh-ed25519) than known_hosts",
		"Ciphers aes*\nMACs hmac-sha2-512\nKexAlgorithms ^ecdh*\nHostKeyAlgorithms ssh-*": "refused to run a command",
		"PubkeyAcceptedAlgorithms ecdsa-*":                                                "no private key to offer; not offered: " + dir + "/id: PubkeyAcceptedAlgorithms leaves out keys of type ssh-ed25519",
	} {
		t.Run(line, func(t *testing.T) {
			target := s.target(t, dir)
			from, err := load(t, t.TempDir(), line).Target(job.Host{Name: "n0"})
			require.NoError(t, err)
			target.Kex, target.Ciphers, target.MACs = from.Kex, from.Ciphers, from.MACs
			target.HostKeyAlgorithms, target.KeyAlgorithms = from.HostKeyAlgorithms, from.KeyAlgorithms
			require.ErrorContains(t, start(t, target), want)
		})
	}
}

// RSA keys that are too small prove no host and are not offered.
func TestRequiredRSASize(t *testing.T) {
	dir := t.TempDir()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	target := Target{Name: "n0", HostKeys: [][]byte{signer.PublicKey().Marshal()}, MinRSA: 3072}
	_, err = target.checkHostKey(signer.PublicKey())
	require.ErrorContains(t, err, "RSA key has 2048 bits, less than 3072")
	target.MinRSA = 2048
	_, err = target.checkHostKey(signer.PublicKey())
	require.NoError(t, err)

	saveKey(t, dir+"/id", key)
	targets := []Target{{Name: "n0", Identities: []Identity{{dir + "/id", true}}, MinRSA: 3072}}
	a := open(t, AuthorityConfig{Targets: targets})
	require.Equal(t, []int{noKey}, targets[0].Keys)
	require.Contains(t, a.Notes()[0], "RSA key has 2048 bits")
}

// Each host has the keys of the ssh-agent that its IdentityAgent names.
func TestIdentityAgent(t *testing.T) {
	dir := t.TempDir()
	usual, other := newEd25519(t), newEd25519(t)
	usualSocket, otherSocket := startAgent(t, agent.AddedKey{PrivateKey: usual}), startAgent(t, agent.AddedKey{PrivateKey: other})
	t.Setenv("OTHER_AGENT", otherSocket)
	c := load(t, dir, "Host usual\n IdentityAgent SSH_AUTH_SOCK\nHost other\n IdentityAgent "+otherSocket+"\nHost legacy\n IdentityAgent $OTHER_AGENT\nHost none\n IdentityAgent none\n")
	var targets []Target
	for _, name := range []string{"usual", "other", "legacy", "none", "default"} {
		target, err := c.Target(job.Host{Name: name})
		require.NoError(t, err)
		targets = append(targets, target)
	}
	a := open(t, AuthorityConfig{AgentSocket: usualSocket, Targets: targets})
	require.Len(t, a.Keys(), 2)
	for i, want := range []int{0, 1, 1, noKey, 0} {
		require.Equal(t, []int{want}, targets[i].Keys, targets[i].Name)
	}
}

// CertificateFile brings certificates that do not lie beside their key.
func TestCertificateFile(t *testing.T) {
	dir := t.TempDir()
	key := newEd25519(t)
	saveKey(t, dir+"/id", key)
	pub, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	cert := &ssh.Certificate{Key: pub.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"ann"}, ValidBefore: ssh.CertTimeInfinity}
	require.NoError(t, cert.SignCert(rand.Reader, newSigner(t, "ed25519")))
	writeFile(t, dir, "mine.pub", keyText(cert))
	target, err := load(t, dir, "IdentityFile %d/id\nCertificateFile %d/mine.pub\nCertificateFile %d/absent\n").Target(job.Host{Name: "n0"})
	require.NoError(t, err)
	targets := []Target{target}
	a := open(t, AuthorityConfig{Targets: targets})
	require.Len(t, targets[0].Keys, 2)
	require.Equal(t, cert.Marshal(), a.Keys()[targets[0].Keys[0]].Blob)
	require.Contains(t, a.Notes()[0], dir+"/absent")
}

// A new key is recorded under a hashed name if the user wants that, a changed
// one that `no` lets pass not at all.
func TestWhatIsRecorded(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	for name, tc := range map[string]struct {
		config string
		want   int
	}{
		"new":     {"StrictHostKeyChecking no\nHashKnownHosts yes\nUserKnownHostsFile none\n", 1},
		"changed": {"StrictHostKeyChecking no\nUserKnownHostsFile " + writeFile(t, s.Dir, "stale", "* "+keyText(newSigner(t, "ed25519").PublicKey())+"\n") + "\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			d, targets := reach(t, writeFile(t, s.Dir, name, tc.config+mustRead(t, s.Config)), func(cfg *DialerConfig) {
				cfg.Accepted = func(_ *Target, l string) { lines = append(lines, l) }
			}, "n0")
			p, err := d.Start(t.Context(), n0, []string{"true"})
			require.NoError(t, err)
			require.NoError(t, p.Close())
			require.Len(t, lines, tc.want)
			for _, l := range lines {
				require.Regexp(t, `^\|1\|[^|]+\|[^ ]+ ssh-`, l)
				known := parseKnownHosts("f", l)
				var found knownKeys
				known.find(fmt.Sprintf("[%s]:%d", targets[0].KeyName, targets[0].Port), &found)
				require.Len(t, found.keys, 1)
			}
		})
	}
}
