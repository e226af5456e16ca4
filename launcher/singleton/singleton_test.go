package singleton

import (
	"bufio"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestArgs(t *testing.T) {
	job := []string{"--np", "1", "--bootstrap", "fork", "--stdin", "none", "--pmi-port=false"}
	for line, want := range map[string][]string{
		"-pmi_args 4711 default_interface default_key 99":    append(job[:len(job):len(job)], "/bin/golaunch", Word, "4711"),
		"-v -pmi_args 4711 default_interface default_key 99": append(job[:len(job):len(job)], "-v", "/bin/golaunch", Word, "4711"),
		"-n 4 ./app -pmi_args 1 2 3 4":                       nil,
		"./app -pmi_args 1 2 3 4":                            nil,
		"-n pmi_args":                                        nil,
		"pmi_args 1 2 3 4":                                   nil,
		"":                                                   nil,
	} {
		args := strings.Fields(line)
		got, err := Args(args, "/bin/golaunch")
		require.NoError(t, err)
		if want == nil {
			want = args
		}
		require.Equal(t, want, got, line)
	}
	for line, says := range map[string]string{
		"-pmi_args":                   "0 words follow",
		"-pmi_args 4711 a b":          "3 words follow",
		"-pmi_args 4711 a b 99 ./app": "5 words follow",
		"-pmi_args 0 a b 99":          `"0" is not a port`,
		"-pmi_args 70000 a b 99":      `"70000" is not a port`,
		"--pmi_args host:4711 a b 99": `"host:4711" is not a port`,
	} {
		_, err := Args(strings.Fields(line), "/bin/golaunch")
		require.ErrorContains(t, err, says, line)
	}
}

// peer is the other end of a connection, which answers what it is told to.
type peer struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func newPeer(t *testing.T) (p *peer, other net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return &peer{t, a, bufio.NewReader(a)}, b
}

// answer checks one line and answers it.
func (p *peer) answer(want, with string) {
	line, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	require.Equal(p.t, want+"\n", line)
	if with != "" {
		_, err = io.WriteString(p, with+"\n")
		require.NoError(p.t, err)
	}
}

// The conversation that MPICH 4.0.2 and golaunch's agent have.
func TestGreetAndBridge(t *testing.T) {
	program, ours := newPeer(t)
	agent, pmi := newPeer(t)
	done := make(chan error)
	go func() {
		in, err := greet(ours, pmi)
		if err == nil {
			err = bridge(ours, in, pmi)
		}
		done <- err
	}()
	agent.answer("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
	agent.answer("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_7_0")
	program.answer("cmd=singinit authtype=none", "cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none")
	program.answer("cmd=singinit_info versionok=yes stdio=no kvsname=kvs_7_0", "cmd=init pmi_version=1 pmi_subversion=1")
	agent.answer("cmd=init pmi_version=1 pmi_subversion=1", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0")
	program.answer("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", "cmd=finalize")
	agent.answer("cmd=finalize", "cmd=finalize_ack")
	program.answer("cmd=finalize_ack", "")
	require.NoError(t, program.Close())
	require.NoError(t, <-done)
	require.NoError(t, pmi.Close())
}

func TestGreetFailures(t *testing.T) {
	const initOK, name = "cmd=response_to_init rc=0", "cmd=my_kvsname kvsname=k"
	for says, x := range map[string]struct{ init, name, hello string }{
		`answered "cmd=response_to_init rc=-1 msg=no\n"`: {init: "cmd=response_to_init rc=-1 msg=no"},
		"not my_kvsname":                       {initOK, "cmd=maxes", ""},
		"not singinit":                         {initOK, name, "cmd=hello"},
		"the program speaks PMI 2.0, not 1.1":  {initOK, name, "cmd=singinit pmi_version=2 pmi_subversion=0"},
		"the program speaks PMI ., not 1.1":    {initOK, name, "cmd=singinit"},
		"no answer to \"cmd=singinit authtype": {initOK, name, strings.Repeat("x", 2000)},
	} {
		t.Run(says, func(t *testing.T) {
			program, ours := newPeer(t)
			agent, pmi := newPeer(t)
			done := make(chan error, 1)
			go func() {
				_, err := greet(ours, pmi)
				ours.Close()
				pmi.Close()
				done <- err
			}()
			agent.answer("cmd=init pmi_version=1 pmi_subversion=1", x.init)
			if x.name != "" {
				agent.answer("cmd=get_my_kvsname", x.name)
			}
			if x.hello != "" {
				line, err := program.in.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "cmd=singinit authtype=none\n", line)
				go io.WriteString(program, x.hello+"\n")
				_, _ = io.ReadAll(program.in)
			}
			require.ErrorContains(t, <-done, says)
		})
	}
}
