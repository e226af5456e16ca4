package pmixhelper

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

// A connection of another user ends before a word is said: libpmix would have the ranks
// wait for what he says.
func TestOtherUsersAreSentAway(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can be another user")
	}
	each(t, func(t *testing.T, k kit) {
		messages := make(chan told, 100)
		h := startHelper(t, k, 0, messages)
		require.IsType(t, pmix.Ready{}, (<-messages).frame.Body)
		h.ask(pmix.World{
			Namespace: "w", Hosts: []string{hostName(0)}, Apps: []pmix.App{{Size: 1, Argv: []string{"x"}}}, Self: 0,
			Blocks: []pmix.Block{{Count: 1}}, Locals: []pmix.Local{{}}, Dir: t.TempDir(),
		})
		registered := (<-messages).frame.Body.(pmix.Registered)
		require.Equal(t, pmix.Success, registered.Status, registered.Text)
		port := regexp.MustCompile(`tcp4://127\.0\.0\.1:(\d+)`).FindStringSubmatch(fmt.Sprint(registered.Envs))
		require.NotNil(t, port, "%v", registered.Envs)

		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for range 3 { // the listener goes on
			stranger := exec.CommandContext(ctx, "bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/"+port[1]+" && echo connected && cat <&3")
			stranger.Dir = "/"
			stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Pdeathsig: syscall.SIGKILL}
			out, _ := stranger.Output() // at end of file, or reset
			require.Equal(t, "connected\n", string(out))
			require.NoError(t, ctx.Err(), "the stranger was kept")
		}
		h.send(0, pmix.End{})
		require.NoError(t, ends(t, h, messages))
	})
}
