package sshboot

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
)

// proxyWord has the test program be a ProxyCommand: it connects its standard input
// and output with an address.
const proxyWord = "be-a-proxy"

func proxyMain(address string) int {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "proxy: no way to", address)
		return 3
	}
	go io.Copy(conn, os.Stdin)
	io.Copy(os.Stdout, conn)
	return 0
}

// The conformance suite through a command, and what is said of one that fails.
func TestProxyCommand(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	s := bootstraptest.StartSSHD(t)
	config := writeFile(t, s.Dir, "proxy_config", fmt.Sprintf(`
Host n0
  ProxyCommand %[1]s %[2]s %%h:%%p
Host lost
  ProxyCommand %[1]s %[2]s 127.0.0.1:1
Host mute
  ProxyCommand true
Match all
  Include %[3]s
`, self, proxyWord, s.Config))
	d, targets := reach(t, config, nil, "n0", "lost", "mute")
	require.Equal(t, fmt.Sprintf("%s %s %s:%d", self, proxyWord, s.Addr, s.Port), targets[0].Proxy)
	bootstraptest.Run(t, d, n0)
	p, err := d.Start(t.Context(), n0, []string{"true"})
	require.NoError(t, err)
	require.Empty(t, p.PeerAddr(), "only the command knows")
	require.NoError(t, p.Close())

	_, err = d.Start(t.Context(), bootstrap.Host{Index: 1, Name: "lost"}, []string{"true"})
	wantError(t, err, bootstrap.Connect, false, "ProxyCommand "+self+" "+proxyWord+" 127.0.0.1:1: proxy: no way to 127.0.0.1:1")
	_, err = d.Start(t.Context(), bootstrap.Host{Index: 2, Name: "mute"}, []string{"true"})
	wantError(t, err, bootstrap.Connect, false, "ProxyCommand true: it ended the connection")
}
