package fork_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/bootstrap/fork"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var here = bootstrap.Host{Index: 0, Name: "here"}

func TestConformance(t *testing.T) {
	p := fork.New()
	p.KillAfter = time.Second
	require.Equal(t, bootstrap.Anywhere, p.Reach())
	require.False(t, p.NeedsStaging())
	t.Cleanup(p.Wait)
	bootstraptest.Run(t, p, here)
}

// A terminal's Ctrl-C must not reach the child: it has a session of its own.
func TestChildLeadsItsSession(t *testing.T) {
	p, err := fork.New().Start(t.Context(), here, []string{"/bin/sh", "-c", "cut -d' ' -f1,5,6 /proc/$$/stat"})
	require.NoError(t, err)
	defer p.Close()
	out, err := io.ReadAll(p)
	require.NoError(t, err)
	f := strings.Fields(string(out))
	require.Len(t, f, 3)
	require.Equal(t, f[0], f[1], "process group")
	require.Equal(t, f[0], f[2], "session")
}

// An exited child is reaped even if nobody closes its pipe.
func TestNoZombies(t *testing.T) {
	p, err := fork.New().Start(t.Context(), here, []string{"/bin/sh", "-c", "echo $$"})
	require.NoError(t, err)
	out, err := io.ReadAll(p)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%s", strings.TrimSpace(string(out))))
		return errors.Is(err, os.ErrNotExist)
	}, time.Minute, time.Millisecond)
	require.NoError(t, p.Close())
}

// A command that ignores the end of its input is killed in the end.
func TestStubbornCommandIsKilled(t *testing.T) {
	f := fork.New()
	f.KillAfter = 10 * time.Millisecond
	p, err := f.Start(t.Context(), here, []string{"/bin/sh", "-c", "trap '' HUP TERM PIPE; exec sleep 1000"})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	f.Wait()
}

func TestMissingCommandIsPermanent(t *testing.T) {
	_, err := fork.New().Start(t.Context(), here, []string{"no-such-command-anywhere"})
	var e *bootstrap.Error
	require.ErrorAs(t, err, &e)
	require.True(t, e.Permanent)
	require.Equal(t, bootstrap.Command, e.Phase)
}
