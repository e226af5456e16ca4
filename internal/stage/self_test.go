package stage_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stage"
)

func hashOf(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestSelfIsTheRunningExecutable(t *testing.T) {
	s, err := stage.Self()
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	require.Equal(t, exe, s.Path())
	img, err := s.Native()
	require.NoError(t, err)
	require.Equal(t, runtime.GOOS, img.OS)
	require.Equal(t, runtime.GOARCH, img.Arch)
	require.Equal(t, hashOf(t, exe), img.Hash)
	r, err := img.Open()
	require.NoError(t, err)
	defer r.Close()
	n, err := io.Copy(io.Discard, r)
	require.NoError(t, err)
	require.Equal(t, img.Size, n)
	same, err := s.Image(runtime.GOOS, runtime.GOARCH)
	require.NoError(t, err)
	require.Equal(t, img.Hash, same.Hash)
}

// showSelf is the test binary as a program of its own: it sets up a Source,
// removes its file, and tells what it still has.
func showSelf() {
	s, err := stage.Self()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Path())
	if _, err := s.Image("linux", "mips"); err != nil {
		fmt.Println(err)
	}
	if img, err := s.Image("plan9", "386"); err == nil {
		fmt.Println(img.Hash, img.Size)
	}
	exe, err := os.Executable()
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = os.Remove(exe)
	if img, err := s.Native(); err == nil {
		fmt.Println(img.Hash)
	}
	s, err = stage.Self()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.HasPrefix(s.Path(), "/proc/"))
	if _, err := s.Image("linux", "mips"); err != nil {
		fmt.Println(err)
	}
}

func TestSelfElsewhere(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(dir+"/bin", 0o755))
	require.NoError(t, os.MkdirAll(dir+"/libexec/golaunch", 0o755))
	require.NoError(t, os.WriteFile(dir+"/libexec/golaunch/nla-plan9-386", []byte("abc"), 0o755))
	text, err := os.ReadFile(exe)
	require.NoError(t, err)
	copied := filepath.Join(dir, "bin", "golaunch")
	require.NoError(t, os.WriteFile(copied, text, 0o755))
	want := hashOf(t, copied)

	cmd := exec.Command(copied)
	cmd.Env = append(os.Environ(), selfTest+"=1")
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, []string{
		copied,
		"no agent for linux/mips: build it (GOOS=linux GOARCH=mips go build ./cmd/nla) and put it at " + dir + "/libexec/golaunch/nla-linux-mips",
		"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 3",
		want,
		"true",
		"no agent for linux/mips: this agent's own file is removed, and it has no others",
	}, strings.Split(strings.TrimSpace(string(out)), "\n"))
}

// All of it over a real login: sshd, login shell, quoting, staging.
func TestOverOpenSSH(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	c, err := sshboot.LoadConfig(sshboot.Options{File: s.Config, Home: t.TempDir()})
	require.NoError(t, err)
	target, err := c.Target(job.Host{Name: "n0"})
	require.NoError(t, err)
	targets := []sshboot.Target{target}
	a, err := sshboot.OpenAuthority(t.Context(), sshboot.AuthorityConfig{Targets: targets})
	require.NoError(t, err)
	defer a.Close()
	d, err := sshboot.New(sshboot.DialerConfig{
		Targets: func(job.HostIndex) (sshboot.Target, bool) { return targets[0], true },
		Keys:    a.Keys(), Sign: a.Sign, PreferKey: -1,
	})
	require.NoError(t, err)
	pipe, err := stage.Start(t.Context(), d, bootstrap.Host{Name: "n0"}, newSource(), []string{"it's", "a!b\\", ""}, stage.Options{})
	require.NoError(t, err)
	defer pipe.Close()
	line := readLine(t, pipe)
	require.True(t, strings.HasSuffix(line, "<it's> <a!b\\> <>"), "got %q", line)
	roundTrip(t, pipe)
	require.Equal(t, "127.0.0.1", pipe.PeerAddr())
}
