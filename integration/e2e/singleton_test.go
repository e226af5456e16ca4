package e2e

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// asMpiexec installs golaunch as mpiexec and returns a PATH that begins with it.
func asMpiexec(t *testing.T) string {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(bin("golaunch"), filepath.Join(dir, "mpiexec")))
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

// An MPICH program that nobody launched finds its process manager.
func TestSingletonOfMPICH(t *testing.T) {
	needBuilt(t, "mpisingleton", "libmpich-dev mpich")
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin("mpisingleton"))
	cmd.Env = append(os.Environ(), asMpiexec(t))
	r := finish(t, cmd, cmd, "its input, which golaunch leaves alone")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rank 0 of 1 found a-port\n", r.stdout)
	require.Empty(t, r.stderr)
}

// single is a program that calls mpiexec itself, as MPICH's library does.
type single struct {
	t *testing.T
	net.Conn
	in      *bufio.Reader
	mpiexec *exec.Cmd
	stdout  strings.Builder
	stderr  strings.Builder
}

func newSingle(t *testing.T) *single {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	s := &single{t: t, mpiexec: exec.Command(bin("golaunch"), "-pmi_args", port, "default_interface", "default_key", fmt.Sprint(os.Getpid()))}
	// Variables about other jobs do not move this one.
	s.mpiexec.Env = append(os.Environ(), "GOLAUNCH_HOSTS=elsewhere", "GOLAUNCH_NP=7", "GOLAUNCH_PMI_PORT=true", "GOLAUNCH_STDIN=all")
	s.mpiexec.Stdout, s.mpiexec.Stderr = &s.stdout, &s.stderr
	begin(t, s.mpiexec, s.mpiexec)
	require.NoError(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(limit)))
	s.Conn, err = l.Accept()
	require.NoError(t, err, s.stderr.String())
	s.in = bufio.NewReader(s)
	require.Equal(t, "cmd=singinit authtype=none", s.line())
	info := s.ask("cmd=singinit pmi_version=1 pmi_subversion=1 stdio=yes authtype=none")
	require.Regexp(t, "^cmd=singinit_info versionok=yes stdio=no kvsname=kvs_[0-9a-f]+_0$", info)
	require.Equal(t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", s.ask("cmd=init pmi_version=1 pmi_subversion=1"))
	return s
}

func (s *single) line() string {
	s.t.Helper()
	line, err := s.in.ReadString('\n')
	require.NoError(s.t, err, s.stderr.String())
	return strings.TrimSuffix(line, "\n")
}

func (s *single) ask(line string) string {
	s.t.Helper()
	_, err := io.WriteString(s, line+"\n")
	require.NoError(s.t, err)
	return s.line()
}

// ends closes the connection, unless golaunch has, and checks how it ends.
func (s *single) ends(code int, message string) {
	s.t.Helper()
	require.NoError(s.t, s.Close())
	err := s.mpiexec.Wait()
	require.Equal(s.t, code, s.mpiexec.ProcessState.ExitCode(), "%v %s", err, &s.stderr)
	require.Regexp(s.t, message, s.stderr.String())
}

func TestSingletonByHand(t *testing.T) {
	t.Run("in order", func(t *testing.T) {
		s := newSingle(t)
		require.Equal(t, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", s.ask("cmd=get_maxes"))
		require.Equal(t, "cmd=put_result rc=0", s.ask("cmd=put kvsname=k key=a value=b c"))
		require.Equal(t, "cmd=barrier_out", s.ask("cmd=barrier_in"))
		require.Equal(t, "cmd=get_result rc=0 value=b c", s.ask("cmd=get kvsname=k key=a"))
		require.Equal(t, "cmd=get_result rc=0 value=(vector,(0,1,1))", s.ask("cmd=get kvsname=k key=PMI_process_mapping"))
		require.Equal(t, "cmd=finalize_ack", s.ask("cmd=finalize"))
		s.ends(0, "^$")
	})
	t.Run("spawn", func(t *testing.T) { // the purpose of it all
		s := newSingle(t)
		require.Equal(t, "cmd=barrier_out", s.ask("cmd=barrier_in"))
		require.Equal(t, "cmd=spawn_result rc=0", s.ask("mcmd=spawn\nnprocs=3\nexecname="+bin("pmiclient")+"\ntotspawns=1\nspawnssofar=1\npreput_num=0\ninfo_num=0\nendcmd"))
		require.Equal(t, "cmd=finalize_ack", s.ask("cmd=finalize"))
		s.ends(0, "^$")
		require.Equal(t, 3, strings.Count(s.stdout.String(), " of 3 ok\n"), s.stdout.String())
	})
	t.Run("without finalize", func(t *testing.T) {
		newSingle(t).ends(1, "golaunch: the program ended without MPI_Finalize")
	})
	t.Run("abort", func(t *testing.T) {
		s := newSingle(t)
		_, err := io.WriteString(s, "cmd=abort exitcode=7\n")
		require.NoError(t, err)
		_, err = s.in.ReadByte()
		require.Error(t, err, "golaunch has nothing more to say")
		s.ends(7, "rank 0 on .* called abort with code 7")
	})
	t.Run("garbage", func(t *testing.T) {
		s := newSingle(t)
		_, err := io.WriteString(s, "hello?\n")
		require.NoError(t, err)
		_, err = s.in.ReadByte()
		require.Error(t, err)
		s.ends(125, "rank 0 on .* broke the PMI protocol")
	})
}

// Nobody listens, or the caller has misread who calls.
func TestSingletonRefused(t *testing.T) {
	// A port that is taken, so that nobody else gets it, but not listened at.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer syscall.Close(fd)
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	own, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	port := fmt.Sprint(own.(*syscall.SockaddrInet4).Port)
	r := local(t, "", "-pmi_args", port, "default_interface", "default_key", "1")
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stderr, "connection refused")
	r = local(t, "", "-pmi_args", port)
	require.Equal(t, 2, r.code)
	require.Equal(t, "golaunch: -pmi_args: 1 words follow, not PORT INTERFACE KEY PID; only MPI libraries call it; try 'golaunch --help'\n", r.stderr)
	r = local(t, "", "-n", "1", bin("golaunch"), "nla-singleton")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "it runs only as part of a job")
}
