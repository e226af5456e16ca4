package e2e

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree/pacing"
)

// A key that a passphrase protects is unlocked once, at the terminal, for all hosts, which
// start each other; without a terminal golaunch says what to do.
func TestPassphrase(t *testing.T) {
	c := theCluster(t)
	key := sshKey(t, c)
	dir, err := os.MkdirTemp(built, "passphrase-")
	require.NoError(t, err)
	locked := filepath.Join(dir, "locked")
	text, err := os.ReadFile(key)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(locked, text, 0o600))
	output, err := exec.Command("ssh-keygen", "-q", "-p", "-f", locked, "-P", "", "-N", "secret").CombinedOutput()
	require.NoError(t, err, "%s", output)
	config, err := os.ReadFile(c.SSHConfig())
	require.NoError(t, err)
	file := filepath.Join(dir, "ssh_config")
	asking := strings.NewReplacer(key, locked, "BatchMode yes", "BatchMode no").Replace(string(config))
	require.NoError(t, os.WriteFile(file, []byte(asking), 0o600))
	words := []string{bin("golaunch"), "-H", hostsArg(4), "--ssh-config", file, "--degree", "1", "-n", "4", "-l", "hostname"}

	user, tty, err := unix.OpenPTY()
	require.NoError(t, err)
	defer user.Close()
	cmd := c.Command(cluster.Head, append([]string{"setsid", "-w", "-c"}, words...)...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, &out, &out
	begin(t, cmd, cmd.Cmd)
	tty.Close()
	prompt := make([]byte, len("golaunch: passphrase for "+locked+": "))
	if _, err = io.ReadFull(user, prompt); err != nil {
		require.NoError(t, cmd.Wait(), out.String())
	}
	require.NoError(t, err)
	require.Equal(t, "golaunch: passphrase for "+locked+": ", string(prompt))
	_, err = io.WriteString(user, "secret\r")
	require.NoError(t, err)
	require.NoError(t, cmd.Wait(), out.String())
	require.ElementsMatch(t, []string{"[0] n001", "[1] n002", "[2] n003", "[3] n004"}, strings.Split(strings.TrimSpace(out.String()), "\n"))

	cmd = c.Command(cluster.Head, append([]string{"setsid", "-w"}, words...)...)
	without, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(without), "encrypted, and there is no terminal to ask for the passphrase at; unlock it with: ssh-add "+locked)
}

// TestPassphraseStopped has a user stop golaunch while it asks, and go on: the shell has a
// terminal that shows what is typed, and then golaunch asks again.
func TestPassphraseStopped(t *testing.T) {
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	output, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-f", locked, "-N", "secret").CombinedOutput()
	require.NoError(t, err, "%s", output)
	file := filepath.Join(dir, "ssh_config")
	require.NoError(t, os.WriteFile(file, []byte("Host *\n  IdentityFile "+locked+"\n  IdentitiesOnly yes\n  Port 1\n  HostName 127.0.0.1\n"), 0o600))
	user, tty, err := unix.OpenPTY()
	require.NoError(t, err)
	defer user.Close()
	script := bin("golaunch") + ` -H a --ssh-config "$0" --connect-timeout 1 true; echo "stopped: $?"; stty -a | tr ' ' '\n' | grep -x -e -echo -e echo; fg`
	cmd := exec.Command("setsid", "-w", "-c", "bash", "-mc", script, file)
	cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK=")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	begin(t, cmd, cmd)
	tty.Close()
	var shown []byte
	await := func(text string) {
		t.Helper()
		one := make([]byte, 1)
		for !bytes.Contains(shown, []byte(text)) {
			_, err := user.Read(one)
			require.NoError(t, err, "%s", shown)
			shown = append(shown, one...)
		}
		shown = nil
	}
	prompt := "golaunch: passphrase for " + locked + ": "
	await(prompt)
	_, err = io.WriteString(user, "half\x1a")
	require.NoError(t, err)
	await("stopped: 147\r\necho\r\n")
	await(prompt)
	_, err = io.WriteString(user, "\x03")
	require.NoError(t, err)
	require.Error(t, cmd.Wait(), "interrupted")
}

// sshKey is the private key file of the cluster's ssh configuration.
func sshKey(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	config, err := os.ReadFile(c.SSHConfig())
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(config), "IdentityFile ")
	require.True(t, found, "%s", config)
	name, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(name, " \"")
}

// Every node of a chain starts the next, with signatures for which that one has
// to prove itself: by a key that is known, or that may be accepted as long as it
// is not another host's.
func TestHostsProveThemselves(t *testing.T) {
	c := theCluster(t)
	config, err := os.ReadFile(c.SSHConfig())
	require.NoError(t, err)
	keys, err := os.ReadFile(filepath.Join(c.Dir(), "known_hosts"))
	require.NoError(t, err)
	all := map[string]string{}
	for line := range strings.Lines(string(keys)) {
		names, key, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(names, ",")
		all[name] = key
	}
	var byName string
	var addresses []string
	for _, name := range firstNodes(c, 4) {
		n, err := c.Node(name)
		require.NoError(t, err)
		byName += name + " " + all[name]
		addresses = append(addresses, n.Addr.String())
	}
	for _, x := range []struct {
		name, policy string
		known        string   // known_hosts
		byAddress    bool     // hosts are named so
		ends         int      // exit status
		messages     []string // on standard error
		recorded     int      // lines of known_hosts afterwards
	}{
		{name: "known", policy: "yes", known: string(keys), recorded: strings.Count(string(keys), "\n")},
		{name: "none is known", policy: "accept-new", messages: []string{"host key of n001 was added"}, recorded: 1},
		{name: "any will do", policy: "no", known: "n003 " + all["n005"], messages: []string{"host key of n001 was added"}, recorded: 2},
		{name: "known for another", policy: "accept-new", known: "# mine\nother " + all["n003"], ends: 125, recorded: 3,
			messages: []string{"host n003: authenticate: signature refused: host n003 has not proved itself: host key ssh-ed25519 SHA256:",
				"is known, but only for other hosts (", "known_hosts:2); if they share it, add n003 there"}},
		{name: "known by name", policy: "accept-new", known: byName, byAddress: true, messages: []string{"host key of " + addresses[0] + " was added"}, recorded: 5},
		{name: "known by name, any will do", policy: "no", known: byName, byAddress: true, messages: []string{"host key of " + addresses[0] + " was added"}, recorded: 5},
		{name: "known for another, by address", policy: "no", known: "n004 " + all["n003"], byAddress: true, ends: 125, recorded: 2,
			messages: []string{"host " + addresses[2] + ": authenticate: signature refused", "is known, but only for other hosts ("}},
		{name: "shared", policy: "yes", known: string(keys) + "n002,n004 " + all["n001"], recorded: 1 + strings.Count(string(keys), "\n"),
			messages: []string{"hosts n[001-002,004] share a host key: each of them can pass for the others\n"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(built, "hostkeys-") // nodes have a /tmp of their own
			require.NoError(t, err)
			known := filepath.Join(dir, "known_hosts")
			require.NoError(t, os.WriteFile(known, []byte(x.known), 0o600))
			own := "UserKnownHostsFile " + known + "\nStrictHostKeyChecking " + x.policy + "\n" + string(config)
			file := filepath.Join(dir, "ssh_config")
			require.NoError(t, os.WriteFile(file, []byte(own), 0o600))
			hosts := hostsArg(4)
			if x.byAddress {
				hosts = strings.Join(addresses, ",")
			}
			r := onNode(t, c, cluster.Head, "-H", hosts, "--ssh-config", file, "--degree", "1", "-v", "-n", "4", "hostname")
			require.Equal(t, x.ends, r.code, r.stderr)
			for _, phrase := range x.messages {
				require.Contains(t, r.stderr, phrase)
			}
			require.Equal(t, x.name == "shared", strings.Contains(r.stderr, "share a host key"), r.stderr)
			after, err := os.ReadFile(known)
			require.NoError(t, err)
			require.Equal(t, x.recorded, strings.Count(string(after), "\n"), "%s", after)
			nothingLeft(t, c, firstNodes(c, 4)...)
		})
	}
}

// A host that answers late is logged in to again: by the one that has become the
// root in its place, or as one of the range that another has been given.
func TestLateHostsProveThemselves(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 5)
	for _, late := range []string{"n001", "n003"} {
		require.NoError(t, c.Slow(late, 2*pacing.HedgeAfter))
		for _, degree := range []string{"1", "2"} {
			r := over(t, c, 5, "--degree", degree, "-n", "5", "hostname")
			require.Zero(t, r.code, "%s is late, degree %s: %s", late, degree, r.stderr)
			require.ElementsMatch(t, firstNodes(c, 5), r.lines())
		}
		require.NoError(t, c.Slow(late, 0))
	}
	nothingLeft(t, c, firstNodes(c, 5)...)
}
