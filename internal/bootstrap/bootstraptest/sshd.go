package bootstraptest

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// SSHD is a real OpenSSH server on the loopback interface and a client's means to log
// in to it as the current user.
type SSHD struct {
	Dir        string // holds everything below
	Addr       string // 127.0.0.1
	Port       int
	User       string
	Identity   string // private key file
	KnownHosts string // known_hosts file with the server's key
	// Config is an ssh_config file under which every host name is this
	// server.
	Config  string
	HostKey ssh.PublicKey

	mu    sync.Mutex
	log   []string
	lines chan struct{} // holds a token when there are new ones
}

// WaitLog returns the first line of the server's log that has one of texts,
// and waits for it.
func (s *SSHD) WaitLog(t testing.TB, texts ...string) string {
	t.Helper()
	timeout := time.After(patience)
	for {
		s.mu.Lock()
		log := s.log
		s.mu.Unlock()
		for _, line := range log {
			for _, text := range texts {
				if strings.Contains(line, text) {
					return line
				}
			}
		}
		select {
		case <-s.lines:
		case <-timeout:
			require.FailNow(t, "sshd's log has not the line", "%q in:\n%s", texts, strings.Join(log, "\n"))
		}
	}
}

// logged keeps a line of the log.
func (s *SSHD) logged(line string) {
	s.mu.Lock()
	s.log = append(s.log, line)
	s.mu.Unlock()
	select {
	case s.lines <- struct{}{}:
	default:
	}
}

// StartSSHD starts an OpenSSH server for the rest of the test, on a free port, with
// extra lines in its configuration. Without one it skips the test and says why.
func StartSSHD(t testing.TB, extra ...string) *SSHD {
	t.Helper()
	path, err := findSSHD()
	if err != nil {
		t.Skipf("no OpenSSH server to test with: %v", err)
	}
	if os.Getuid() == 0 {
		// Its privilege separation directory, which a boot would have made.
		require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	}
	me, err := user.Current()
	require.NoError(t, err)
	s := &SSHD{Dir: t.TempDir(), Addr: "127.0.0.1", User: me.Username, lines: make(chan struct{}, 1)}
	s.Identity = filepath.Join(s.Dir, "id_ed25519")
	s.KnownHosts = filepath.Join(s.Dir, "known_hosts")
	s.Config = filepath.Join(s.Dir, "ssh_config")
	s.HostKey = WriteKey(t, filepath.Join(s.Dir, "host_key"))
	client := WriteKey(t, s.Identity)
	write(t, filepath.Join(s.Dir, "authorized_keys"), string(ssh.MarshalAuthorizedKey(client)))
	write(t, filepath.Join(s.Dir, "sshd_config"), strings.Join(append(extra,
		"HostKey "+filepath.Join(s.Dir, "host_key"),
		"AuthorizedKeysFile "+filepath.Join(s.Dir, "authorized_keys"),
		"PidFile none", "UsePAM no", "StrictModes no", "PermitRootLogin yes", "PasswordAuthentication no",
		"KbdInteractiveAuthentication no", "MaxStartups 200", "LogLevel INFO", ""), "\n"))

	// Another program may take the free port before sshd does: try again.
	for try := 0; ; try++ {
		s.Port = freePort(t)
		if err = s.run(t, path); err == nil {
			break
		}
		require.Less(t, try, 5, "sshd does not start: %v", err)
	}
	write(t, s.KnownHosts, fmt.Sprintf("[127.0.0.1]:%d %s", s.Port, ssh.MarshalAuthorizedKey(s.HostKey)))
	write(t, s.Config, fmt.Sprintf("Host *\n  HostName 127.0.0.1\n  Port %d\n  User %s\n  IdentityFile %s\n  IdentitiesOnly yes\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n",
		s.Port, s.User, s.Identity, s.KnownHosts))
	return s
}

// run starts sshd and waits until it says that it listens.
func (s *SSHD) run(t testing.TB, path string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"),
		"-o", fmt.Sprintf("ListenAddress=127.0.0.1:%d", s.Port))
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	listening := make(chan error, 1)
	done := make(chan struct{})
	go func() { // ends when sshd closes its log: killed below, or unable to start
		defer close(done)
		lines := bufio.NewScanner(stderr)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "Server listening on") {
				listening <- nil
			}
			s.logged(lines.Text())
		}
		select {
		case listening <- errors.New(strings.Join(s.log, "; ")): // nobody else writes
		default: // it did listen; its end is the end of the test
		}
	}()
	stop := func() {
		cancel() // kills the listener; sessions end when their clients go
		<-done
		_ = cmd.Wait()
	}
	select {
	case err = <-listening:
	case <-time.After(patience):
		err = errors.New("not listening in time")
	}
	if err != nil {
		stop()
		return err
	}
	t.Cleanup(stop)
	return nil
}

func findSSHD() (string, error) {
	if path, err := exec.LookPath("sshd"); err == nil && filepath.IsAbs(path) {
		return path, nil
	}
	const usual = "/usr/sbin/sshd"
	if _, err := os.Stat(usual); err != nil {
		return "", err
	}
	return usual, nil
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// WriteKey makes an ed25519 key, writes the private half to path with mode
// 0600 and returns the public half.
func WriteKey(t testing.TB, path string) ssh.PublicKey {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(private, "test")
	require.NoError(t, err)
	write(t, path, string(pem.EncodeToMemory(block)))
	key, err := ssh.NewPublicKey(public)
	require.NoError(t, err)
	return key
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
