package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestStartFailuresAreNamed makes one node of three fail in every way there is;
// golaunch runs nothing, exits 125, and says which host, in which phase, why,
// and what to do.
func TestStartFailuresAreNamed(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 3)
	dir, err := os.MkdirTemp(built, "startup-") // nodes have a /tmp of their own
	require.NoError(t, err)
	stranger := filepath.Join(dir, "stranger")
	keygen(t, stranger)
	ours, err := os.ReadFile(stranger + ".pub")
	require.NoError(t, err)
	wrong := filepath.Join(dir, "known_hosts")
	require.NoError(t, os.WriteFile(wrong, append([]byte("n002 "), ours...), 0o600))

	for _, x := range []struct {
		name    string
		config  string                                 // for n002, before the cluster's own
		hosts   string                                 // other than n[001-003]
		damage  func(t *testing.T, c *cluster.Cluster) // n002
		args    []string
		phrases []string
	}{
		{name: "a name that does not resolve", hosts: "n001,no-such-host,n003",
			phrases: []string{"host no-such-host: resolve: "}},
		{name: "a port that nobody listens on", config: "Port 9", args: []string{"--connect-timeout", "5s"},
			phrases: []string{"host n002: connect: ", "refused", "sshd"}},
		{name: "a host that drops packets", damage: partition, args: []string{"--connect-timeout", "5s"},
			phrases: []string{"host n002: connect: ", "5s"}},
		{name: "an unknown host key", config: "UserKnownHostsFile /dev/null",
			phrases: []string{"host n002: host key: ", "is not known", "ssh-keyscan"}},
		{name: "another host key", config: "UserKnownHostsFile " + wrong,
			phrases: []string{"host n002: host key: ", "is not the one in known_hosts", "ssh-keygen -f " + wrong + " -R n002"}},
		{name: "a key that is not accepted", config: "User nobody-we-know",
			phrases: []string{"host n002: authenticate: ", "ssh -v -F " + filepath.Join(dir, "ssh_config") + " nobody-we-know@n002 true"}},
		{name: "an expired account", damage: node("sh", "-c", edit("shadow", "s/^\\(root:[^:]*:[^:]*:[^:]*:[^:]*:[^:]*:[^:]*\\):[^:]*/\\1:1/")), // that all nodes share
			phrases: []string{"hosts n[001-003]: authenticate: ", "root@n00"}},
		{name: "a login shell that is not there", damage: node("sh", "-c", edit("passwd", "s|^\\(root:.*\\):[^:]*$|\\1:/no/such/shell|")),
			phrases: []string{"host n002: "}},
		{name: "a login shell that is none", damage: node("sh", "-c", edit("passwd", "s|^\\(root:.*\\):[^:]*$|\\1:/usr/sbin/nologin|")),
			phrases: []string{"host n002: stage agent: ", "login shell ended", "nologin"}},
		{name: "a login shell that speaks and then stalls", args: []string{"--connect-timeout", "4s"},
			damage:  node("sh", "-c", edit("passwd", "s|^\\(root:.*\\):[^:]*$|\\1:/tmp/shell|")+`; printf '#!/bin/sh\necho hello; exec cat >/dev/null\n' >/tmp/shell; chmod +x /tmp/shell`),
			phrases: []string{"host n002: stage agent: not done within 16s, 4 times --connect-timeout: the host has stopped answering"}},
		{name: "no directory that takes the agent", args: []string{"--copy-agent"},
			damage:  node("sh", "-c", "for d in /dev/shm /tmp; do mount -o remount,noexec $d; done; mkdir -p ~/.cache; mount -t tmpfs -o ro none ~/.cache"),
			phrases: []string{"host n002: stage agent: no directory takes the agent", "/dev/shm", "/tmp", ".cache"}},
		{name: "no directory with room for the agent", args: []string{"--copy-agent"},
			damage:  node("sh", "-c", "for d in /dev/shm /tmp; do mount -o remount,size=64k $d; done; mkdir -p ~/.cache; mount -t tmpfs -o size=64k none ~/.cache"),
			phrases: []string{"host n002: stage agent: no directory takes the agent", "/dev/shm: ", "/tmp: ", ".cache: ", "no space left on device", "make room"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			own := c
			if x.damage != nil {
				own = ownCluster(t, 3)
				x.damage(t, own)
			}
			config, err := os.ReadFile(own.SSHConfig())
			require.NoError(t, err)
			file := filepath.Join(dir, "ssh_config")
			text := string(config)
			if x.config != "" {
				text = "Host n002\n\t" + x.config + "\n" + text
			}
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			hosts := x.hosts
			if hosts == "" {
				hosts = hostsArg(3)
			}
			begin := time.Now()
			r := onNode(t, own, cluster.Head, append(append([]string{"-H", hosts, "--ssh-config", file, "-n", "3"}, x.args...), "hostname")...)
			t.Logf("after %v:\n%s", time.Since(begin).Round(time.Millisecond), r.stderr)
			require.Equal(t, 125, r.code)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, " of 3 hosts could not be started:\n")
			for _, phrase := range x.phrases {
				require.Contains(t, r.stderr, phrase)
			}
			nothingLeft(t, own, firstNodes(own, 3)...)
		})
	}
}

// A host whose PAM bars the account is told with PAM's own words, and is not
// logged in to again.
func TestPAMRefusal(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name, account string // PAM's account phase
		message       string
		logins        int
	}{
		{"with a reason", "account required pam_echo.so Access denied by pam_slurm_adopt: you have no active jobs on this node\n",
			"the host hung up: Access denied by pam_slurm_adopt: you have no active jobs on this node", 1},
		{"in silence", "", "the host hung up without a word", 2},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := ownCluster(t, 3)
			require.NoError(t, c.Kill("n002"))
			file := filepath.Join(filepath.Dir(c.SSHLog("n002")), "sshd_config")
			config, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Contains(t, string(config), "UsePAM no\n")
			require.NoError(t, os.WriteFile(file, []byte(strings.Replace(string(config), "UsePAM no", "UsePAM yes", 1)), 0o600))
			rules := "auth required pam_permit.so\nsession required pam_permit.so\n" + x.account + "account required pam_deny.so\n"
			node("sh", "-c", "mount -t tmpfs pam /etc/pam.d && cat >/etc/pam.d/other <<'EOF'\n"+rules+"EOF\n")(t, c)
			require.NoError(t, c.Revive(t.Context(), "n002"))

			r := onNode(t, c, cluster.Head, "-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "-n", "3", "hostname")
			t.Log(r.stderr)
			require.Equal(t, 125, r.code)
			require.Contains(t, r.stderr, "host n002: authenticate: user root: the key ")
			require.Contains(t, r.stderr, x.message)
			require.Contains(t, r.stderr, "pam_slurm_adopt, pam_access")
			log, err := os.ReadFile(c.SSHLog("n002"))
			require.NoError(t, err)
			require.Equal(t, x.logins, strings.Count(string(log), "Access denied for user root by PAM account configuration"), "%s", log)
			nothingLeft(t, c, firstNodes(c, 3)...)
		})
	}
}

// A host that drops packets and may be missing is not waited for as long as one
// that must be there.
func TestAMissingHostIsGivenUpEarly(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 3)
	partition(t, c)
	args := []string{"-H", hostsArg(3), "--ssh-config", c.SSHConfig(), "--allow-dead-nodes", "-n", "3"}
	r := onNode(t, c, cluster.Head, append(args, "hostname")...)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"n001", "n001", "n003"}, r.lines())
	require.Contains(t, r.stderr, "1 of 3 hosts could not be started:\n")
	require.Contains(t, r.stderr, "host n002: connect: no answer within 3s (")

	r = onNode(t, c, cluster.Head, append(args, "--connect-timeout", "5s", "hostname")...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "host n002: connect: no answer within 5s (")

	require.NoError(t, c.Heal("n002"))
	r = onNode(t, c, cluster.Head, append(args, "hostname")...)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
}

func partition(t *testing.T, c *cluster.Cluster) { require.NoError(t, c.Partition("n002")) }

// node returns what runs a command on n002.
func node(argv ...string) func(*testing.T, *cluster.Cluster) {
	return func(t *testing.T, c *cluster.Cluster) {
		t.Helper()
		out, err := c.CommandContext(context.Background(), "n002", argv...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// edit is a shell command that edits an account file in place: it is a mount,
// and cannot be exchanged.
func edit(file, sed string) string {
	return "sed '" + sed + "' /etc/" + file + " > /tmp/edited && cat /tmp/edited > /etc/" + file
}

func keygen(t *testing.T, file string) {
	t.Helper()
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
