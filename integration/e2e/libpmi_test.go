package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeServer is the table of a server's replies, by request up to its first field.
// Others are as usual.
type fakeServer map[string]string

var usualReplies = fakeServer{
	"cmd=init":              "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
	"cmd=get_maxes":         "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n",
	"cmd=get_my_kvsname":    "cmd=my_kvsname kvsname=kvs\n",
	"cmd=get_universe_size": "cmd=universe_size size=-1\n",
	"cmd=get_appnum":        "cmd=appnum appnum=0\n",
	"cmd=get":               "cmd=get_result rc=0 value=(vector,(0,1,4))\n",
	"cmd=barrier_in":        "cmd=barrier_out\n",
	"cmd=finalize":          "cmd=finalize_ack\n",
	"cmd=initack":           "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=1\ncmd=set debug=0\n",
}

// serve answers until the client hangs up, or at a reply that is cut short.
func (f fakeServer) serve(c io.ReadWriteCloser) {
	defer c.Close()
	for in := bufio.NewScanner(c); in.Scan(); {
		request, _, _ := strings.Cut(in.Text(), " ")
		reply, given := f[request]
		if !given {
			reply = usualReplies[request]
		}
		if _, err := io.WriteString(c, reply); err != nil || !strings.HasSuffix(reply, "\n") {
			return
		}
	}
}

// A program that a rank starts without PMI's descriptor says what to do; with a port
// it does without.
func TestAClosedDescriptorIsNamed(t *testing.T) {
	needOpenMPI(t)
	const closes = `eval "exec ${PMI_FD:-9}>&-"; "$0"; exit $?`
	r := local(t, "", "-n", "1", "--open-mpi", "bash", "-c", closes, bin("mpisum.openmpi"))
	require.NotZero(t, r.code)
	require.Regexp(t, `(?m)^libpmi: PMI_FD=\d+ is closed here: .*golaunch --pmi-port`, r.stderr)
	r = local(t, "", "-n", "2", "--open-mpi", "--pmi-port", "bash", "-c", closes, bin("mpisum.openmpi"))
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rank 0 of 2 on", r.stdout[:14])
	require.Empty(t, r.stderr)
}

// info runs pmiinfo, rank 1 of 4, against a server, over a descriptor or a port.
func (f fakeServer) info(t *testing.T, port bool, args ...string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin("pmiinfo"), args...)
	cmd.Env = append(os.Environ(), "PMI_RANK=1", "PMI_SIZE=4", "PMI_ID=1")
	if port {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer l.Close()
		cmd.Env = append(cmd.Env, "PMI_PORT="+l.Addr().String())
		go func() { // ends with the client, or the listener
			if c, err := l.Accept(); err == nil {
				f.serve(c)
			}
		}()
	} else {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		theirs := os.NewFile(uintptr(pair[1]), "client")
		defer theirs.Close()
		cmd.ExtraFiles = []*os.File{theirs}
		cmd.Env = append(cmd.Env, "PMI_FD=3")
		go f.serve(os.NewFile(uintptr(pair[0]), "server")) // ends with the client
	}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "the client hangs: %s", &both)
	require.NotContains(t, both.String(), "ERROR: ", "of a sanitizer")
	require.NotContains(t, both.String(), "runtime error")
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		require.True(t, exit.Exited(), "%v: %s", err, &both)
		return exit.ExitCode(), both.String()
	}
	require.NoError(t, err, both.String())
	return 0, both.String()
}

func mapped(mapping string) fakeServer {
	return fakeServer{"cmd=get": "cmd=get_result rc=0 value=" + mapping + "\n"}
}

// Ranks that share a node, by the mapping; repeated where it is short, and alone where
// it cannot be read.
func TestLibPMICliques(t *testing.T) {
	needBuilt(t, "pmiinfo", "gcc")
	for mapping, want := range map[string]string{
		"(vector,(0,1,4))":             "0 1 2 3",
		"(vector,(0,2,2))":             "0 1",
		"(vector,(0,2,1))":             "1 3", // a pattern that repeats
		"(vector,(0,1,1))":             "0 1 2 3",
		"(vector,(5,1,1),(3,1,3))":     "1 2 3",
		"(vector,(0,1,1),(1,1,2))":     "1 2",
		"(vector,(0,4,1))":             "1",
		"(vector,(0,16777216,1))":      "1",
		"(vector,(0,1,2147483647))":    "0 1 2 3",
		"(vector,(0,1,0))":             "1", // no mapping
		"(vector,(0,0,4))":             "1",
		"(vector,(-1,1,4))":            "1",
		"(vector,(0,2000000000,1))":    "1",
		"(vector,(2147483647,4,4))":    "1",
		"(vector,(0,1)":                "1",
		"(vector,)":                    "1",
		"(vector":                      "1",
		"(matrix,(0,1,4))":             "1",
		"":                             "1",
		strings.Repeat("(vector,", 99): "1",
	} {
		code, out := mapped(mapping).info(t, false)
		require.Zero(t, code, out)
		require.Contains(t, out, fmt.Sprintf("clique %d\nranks 0: %s\n", len(strings.Fields(want)), want), mapping)
		require.Contains(t, out, "too few ranks failed: 8\n")
	}
	code, out := fakeServer{"cmd=get": "cmd=get_result rc=4 msg=key_not_found\n"}.info(t, false)
	require.Zero(t, code)
	require.Contains(t, out, "clique 1\nranks 0: 1\n")
}

func TestLibPMIValues(t *testing.T) {
	needBuilt(t, "pmiinfo", "gcc")
	for reply, want := range map[string]string{
		"cmd=get_result rc=0 value=a=b  -":                        `value 0 "a=b  -"`,
		"cmd=get_result rc=0 value=":                              `value 0 ""`,
		"cmd=get_result rc=0 value= rc=1 value=x":                 `value 0 " rc=1 value=x"`,
		"cmd=get_result value=x":                                  `value 0 "x"`,
		"cmd=get_result rc=0 value=" + strings.Repeat("v", 63):    `value 0 "vvv`,
		"cmd=get_result rc=0 value=" + strings.Repeat("v", 64):    `value 8 ""`, // no room
		"cmd=get_result rc=0 value=" + strings.Repeat("v", 60000): `value 8 ""`,
		"cmd=get_result rc=-1 msg=not_found value=unknown":        `value 4 ""`,
		"cmd=get_result rc=0":                                     `value 4 ""`,
		"cmd=get_result rc=many value=x":                          `value -1 ""`,
		"cmd=get_result rc=99999999999999999999 value=x":          `value -1 ""`,
		"cmd=got rc=0 value=x":                                    `value -1 ""`,
		"":                                                        `value -1 ""`,
		"cmd=get_result rc=0 value=" + strings.Repeat("v", 70000): `value -1 ""`, // more than a line
		"\x00\xff cmd=get_result rc=0 value=x":                    `value -1 ""`,
	} {
		code, out := fakeServer{"cmd=get": reply + "\n"}.info(t, false, "k", "64")
		require.Zero(t, code, out)
		require.Contains(t, out, want, "%.100q", reply)
	}
}

// A server that says what it should not, or nothing more, is an error and no
// crash, whichever way it is reached.
func TestLibPMIFailures(t *testing.T) {
	needBuilt(t, "pmiinfo", "gcc")
	_, fine := fakeServer{}.info(t, true)
	require.Contains(t, fine, "rank 1\nsize 4\nuniverse 4\nappnum 0\nname 0 kvs\n")
	for request, replies := range map[string][]string{
		"cmd=init":           {"", "cmd=response", "cmd=response_to_init rc=-1\n", "hello\n", strings.Repeat("x", 70000) + "\n"},
		"cmd=get_maxes":      {"", "cmd=maxes\n", "cmd=maxes kvsname_max=0 keylen_max=64 vallen_max=1024\n", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=2000000000\n", "cmd=maxes kvsname_max=1000 keylen_max=64 vallen_max=1024\n", "cmd=maxes kvsname_max=256 keylen_max=-1 vallen_max=1024\n"},
		"cmd=get_my_kvsname": {"", "cmd=my_kvsname\n", "cmd=my_kvsname kvsname=" + strings.Repeat("k", 256) + "\n"},
	} {
		for _, reply := range replies {
			for _, port := range []bool{false, true} {
				code, out := fakeServer{request: reply}.info(t, port)
				require.Equal(t, 1, code, "%s %q: %s", request, reply, out)
				require.Contains(t, out, "spawned failed: -1\n")
			}
		}
	}
	for _, reply := range []string{"", "cmd=initack rc=-1\n", "cmd=initack rc=0\ncmd=set size=0\n", "cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=4\n",
		"cmd=initack rc=0\ncmd=set size=4\ncmd=set rank=1\ncmd=go\n", "cmd=initack rc=0\ncmd=set size=99999999999\n"} {
		code, out := fakeServer{"cmd=initack": reply}.info(t, true)
		require.Equal(t, 1, code, "%q: %s", reply, out)
	}
	for request, failed := range map[string]string{
		"cmd=get_universe_size": "universe failed: -1\n", "cmd=get_appnum": "appnum failed: -1\n",
		"cmd=barrier_in": "barrier failed: -1\n", "cmd=finalize": "finalize failed: -1\n",
	} {
		for _, reply := range []string{"", "nonsense\n", "cmd=other rc=0\n"} {
			code, out := fakeServer{request: reply}.info(t, false)
			require.Zero(t, code)
			require.Contains(t, out, failed, "%s %q", request, reply)
		}
	}
	code, out := fakeServer{"cmd=barrier_in": "cmd=barrier_out rc=-1\n"}.info(t, false)
	require.Zero(t, code)
	require.Contains(t, out, "barrier failed: -1\n")
}
