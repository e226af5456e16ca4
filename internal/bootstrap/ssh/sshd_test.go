package sshboot

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/job"
)

var n0 = bootstrap.Host{Index: 0, Name: "n0"}

// reach makes a Dialer of the launcher for hosts under an ssh_config file.
func reach(t testing.TB, config string, change func(*DialerConfig), hosts ...string) (*Dialer, []Target) {
	t.Helper()
	c, err := LoadConfig(Options{File: config, Home: t.TempDir()})
	require.NoError(t, err)
	var targets []Target
	for _, h := range hosts {
		target, err := c.Target(job.Host{Name: h})
		require.NoError(t, err)
		targets = append(targets, target)
	}
	return dialer(t, targets, change), targets
}

// dialer makes a Dialer of the launcher for targets.
func dialer(t testing.TB, targets []Target, change func(*DialerConfig)) *Dialer {
	t.Helper()
	a := open(t, AuthorityConfig{Targets: targets})
	cfg := DialerConfig{
		Targets: func(i job.HostIndex) (Target, bool) {
			if i < 0 || int(i) >= len(targets) {
				return Target{}, false
			}
			return targets[i], true
		},
		Keys: a.Keys(), KeyNotes: a.Notes(), Sign: a.Sign, PreferKey: -1, UseJump: true,
	}
	if change != nil {
		change(&cfg)
	}
	d, err := New(cfg)
	require.NoError(t, err)
	return d
}

// details collects the details of a start.
type details struct {
	mu   sync.Mutex
	list []string
}

func (d *details) of(t *testing.T) context.Context {
	return bootstrap.WithDetails(t.Context(), func(text string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.list = append(d.list, text)
	})
}

func (d *details) text() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.list, "; ")
}

func TestConformanceOverOpenSSH(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	d, _ := reach(t, s.Config, nil, "n0")
	require.Equal(t, bootstrap.Anywhere, d.Reach())
	require.True(t, d.NeedsStaging())
	bootstraptest.Run(t, d, n0)
	i, ok := d.WorkedKey()
	require.True(t, ok)
	require.Zero(t, i)
}

func TestPeerAddrAndTheSessionItself(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	d, _ := reach(t, s.Config, nil, "n0")
	p, err := d.Start(t.Context(), n0, []string{"/bin/sh", "-c", `tty; echo "${SSH_AUTH_SOCK-no agent}"`})
	require.NoError(t, err)
	defer p.Close()
	require.Equal(t, "127.0.0.1", p.PeerAddr())
	out, err := io.ReadAll(p)
	require.NoError(t, err)
	require.Equal(t, "not a tty\nno agent\n", string(out))
}

// Two real hops, the second by a name that only the jump host knows.
func TestProxyJump(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	gate := startServer(t, func(conf *ssh.ServerConfig) {}, func(host string) string {
		if host == "inside.invalid" {
			return net.JoinHostPort(s.Addr, fmt.Sprint(s.Port))
		}
		return ""
	})
	text := fmt.Sprintf(`
Host n0
  HostName inside.invalid
  ProxyJump first,gate
Host lost
  HostName outside.invalid
  ProxyJump gate
Host gate
  HostName 127.0.0.1
  Port %d
  HostKeyAlias gate
Match all
  Include %s
`, gate.port, s.Config)
	known, err := os.ReadFile(s.KnownHosts)
	require.NoError(t, err)
	writeFile(t, s.Dir, "known_hosts", string(known)+"gate "+keyText(gate.hostKey.PublicKey())+
		fmt.Sprintf("\n[inside.invalid]:%d %s", s.Port, keyText(s.HostKey)))
	d, targets := reach(t, writeFile(t, s.Dir, "jump_config", text), nil, "n0", "lost")
	require.Len(t, targets[0].Jump, 2)
	p, err := d.Start(t.Context(), n0, []string{"cat"})
	require.NoError(t, err)
	_, err = io.WriteString(p, "through\n")
	require.NoError(t, err)
	b := make([]byte, 8)
	_, err = io.ReadFull(p, b)
	require.NoError(t, err)
	require.Equal(t, "through\n", string(b))
	require.Empty(t, p.PeerAddr())
	require.NoError(t, p.Close())

	_, err = d.Start(t.Context(), bootstrap.Host{Index: 1, Name: "lost"}, []string{"cat"})
	e := wantError(t, err, bootstrap.Resolve, false, "jump host gate cannot connect to outside.invalid")
	require.Equal(t, bootstrap.NoName, e.Absent)
	require.Contains(t, e.Hint, "resolve on gate")
}

func TestRefusedKeyIsExplained(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	bootstraptest.WriteKey(t, s.Dir+"/other")
	saveLocked(t, s.Dir+"/locked", newEd25519(t))
	config := writeFile(t, s.Dir, "refused", fmt.Sprintf("IdentityFile %s/other\nIdentityFile %s/locked\nHost *\n", s.Dir, s.Dir)+
		strings.ReplaceAll(mustRead(t, s.Config), "IdentityFile", "#"))
	d, _ := reach(t, config, nil, "n0")
	said := &details{}
	_, err := d.Start(said.of(t), n0, []string{"true"})
	require.Regexp(t, "^reached 127.0.0.1:[0-9]+; user "+s.User+" at n0: not logged in; keys in order: "+s.Dir+`/other \(ssh-ed25519\)$`, said.text())
	e := wantError(t, err, bootstrap.Authenticate, true, "accepts none of the keys "+s.Dir+"/other (ssh-ed25519)")
	require.ErrorContains(t, e, "user "+s.User)
	require.ErrorContains(t, e, "ssh-add "+s.Dir+"/locked")
	_, ok := d.WorkedKey()
	require.False(t, ok)
}

// The key that worked is offered first from then on.
func TestPreferredKey(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	bootstraptest.WriteKey(t, s.Dir+"/other")
	config := writeFile(t, s.Dir, "two", fmt.Sprintf("IdentityFile %s/other\n", s.Dir)+mustRead(t, s.Config))
	d, _ := reach(t, config, nil, "n0")
	first := (&attempt{d: d, t: &Target{}}).signers()
	require.Equal(t, d.keys[0], first[0].PublicKey())
	said := &details{}
	p, err := d.Start(said.of(t), n0, []string{"true"})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Regexp(t, "; user "+s.User+` at n0: key \S+ \(ssh-ed25519\) was taken, not `+s.Dir+`/other \(ssh-ed25519\)$`, said.text())
	i, ok := d.WorkedKey()
	require.True(t, ok)
	require.Equal(t, 1, i)
	next := (&attempt{d: d, t: &Target{}}).signers()
	require.Equal(t, d.keys[1], next[0].PublicKey())
	require.Len(t, next, 2)
	only := (&attempt{d: d, t: &Target{Keys: []int{0, noKey}}}).signers()
	require.Len(t, only, 1, "a key that may not be offered is not, even if preferred")
}

// The target as an agent has it: decoded, without the launcher's fields, with
// signatures from afar.
func TestSignaturesFromAfar(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	var asked sync.Map
	d, _ := reach(t, s.Config, func(cfg *DialerConfig) {
		sign := cfg.Sign
		cfg.Sign = func(ctx context.Context, r SignRequest) ([]byte, error) {
			asked.Store(r.Host, true)
			return sign(ctx, r)
		}
	}, "n0")
	p, err := d.Start(t.Context(), n0, []string{"true"})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	_, ok := asked.Load(job.HostIndex(0))
	require.True(t, ok)

	d, _ = reach(t, s.Config, func(cfg *DialerConfig) {
		cfg.Sign = func(context.Context, SignRequest) ([]byte, error) { return nil, ErrSealed }
	}, "n0")
	_, err = d.Start(t.Context(), n0, []string{"true"})
	wantError(t, err, bootstrap.Authenticate, true, "signature refused: the job is launched")

	ctx, cancel := context.WithCancel(t.Context())
	d, _ = reach(t, s.Config, func(cfg *DialerConfig) {
		cfg.Sign = func(ctx context.Context, _ SignRequest) ([]byte, error) {
			cancel() // the launcher is silent until the user gives up
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}, "n0")
	_, err = d.Start(ctx, n0, []string{"true"})
	e := wantError(t, err, bootstrap.Authenticate, false, "context canceled")
	require.ErrorIs(t, e, context.Canceled)
}

func TestAcceptNewTellsTheKey(t *testing.T) {
	s := bootstraptest.StartSSHD(t)
	config := writeFile(t, s.Dir, "accept", "StrictHostKeyChecking accept-new\nUserKnownHostsFile none\n"+mustRead(t, s.Config))
	var line string
	d, _ := reach(t, config, func(cfg *DialerConfig) {
		cfg.Accepted = func(_ *Target, l string) { line = l }
	}, "n0")
	p, err := d.Start(t.Context(), n0, []string{"true"})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Equal(t, strings.TrimSpace(mustRead(t, s.KnownHosts)), line)
}

func mustRead(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// wantError checks what a failed Start says.
func wantError(t testing.TB, err error, phase bootstrap.Phase, permanent bool, text string) *bootstrap.Error {
	t.Helper()
	var e *bootstrap.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, phase, e.Phase, "%v", err)
	assert.Equal(t, permanent, e.Permanent, "%v", err)
	require.ErrorContains(t, err, text)
	return e
}

// BenchmarkStart is the cost of one connection with one command: wall time,
// and processor time of this process, which is the client.
func BenchmarkStart(b *testing.B) {
	s := bootstraptest.StartSSHD(b)
	for _, kex := range []string{"", "curve25519-sha256", "ecdh-sha2-nistp256"} {
		b.Run("kex="+kex, func(b *testing.B) {
			d, targets := reach(b, s.Config, nil, "n0")
			if kex != "" {
				targets[0].Kex = listOf(kex)
			}
			before := cpuTime(b)
			for b.Loop() {
				p, err := d.Start(b.Context(), n0, []string{"true"})
				require.NoError(b, err)
				_, err = io.ReadAll(p)
				require.NoError(b, err)
				require.NoError(b, p.Close())
			}
			b.ReportMetric(float64((cpuTime(b)-before).Nanoseconds())/float64(b.N), "client-cpu-ns/op")
		})
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
