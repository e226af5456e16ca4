package sshboot

import (
	"os"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// Advice has the configuration, the known_hosts file and the port in use, also at
// agents, which get the target in a message.
func TestAdviceNamesWhatIsInUse(t *testing.T) {
	home := t.TempDir()
	key := keyText(newSigner(t, "ed25519").PublicKey())
	known := writeFile(t, home, "known", "[n1]:2022 "+key)
	usual := writeFile(t, home, ".ssh/known_hosts", "n2 "+key)
	c := load(t, home, "Host n1\n Port 2022\nHost n1\n UserKnownHostsFile "+usual+" "+known)
	for host, want := range map[string]struct{ try, remove, add string }{
		"n1": {
			"ssh -v -F " + home + "/config -p 2022 ann@n1 true",
			"ssh-keygen -f " + known + " -R '[n1]:2022'",
			"ssh-keyscan -p 2022 n1 >> " + known + ";",
		},
		"n2": {"ssh -v -F " + home + "/config ann@n2 true", "ssh-keygen -R n2", "ssh-keyscan n2 >> ~/.ssh/known_hosts;"},
	} {
		target, err := c.Target(job.Host{Name: host})
		require.NoError(t, err)
		message, err := cbor.Marshal(target)
		require.NoError(t, err)
		var there Target
		require.NoError(t, cbor.Unmarshal(message, &there))
		require.Equal(t, want.try, there.trySSH())
		require.Equal(t, want.remove, there.removeKey())
		require.Contains(t, there.addKeyHint(), want.add)
	}
	require.Contains(t, (&Target{HostName: "n1", Port: 22, KeyFile: os.DevNull}).addKeyHint(), "name a file there, compare the fingerprint, then: ssh-keyscan n1 >> FILE")
	require.Equal(t, "--bootstrap exec --exec-command 'ssh {host} {command}'", systemSSH(""))
	require.Equal(t, `--bootstrap exec --exec-command 'ssh -F '\''a b'\'' {host} {command}'`, systemSSH("a b"))
}
