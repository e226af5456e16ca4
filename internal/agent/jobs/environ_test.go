package jobs

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A HOME of the launcher's that is nowhere here was brought by a manager: the account here
// has its own. Any other is as it is, as that of an image.
func TestLoginEnviron(t *testing.T) {
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	require.NoError(t, err)
	env := []string{"HOME=/elsewhere", "A=1", "USER=ann", "LOGNAME=ann"}
	here, none := t.TempDir(), filepath.Join(t.TempDir(), "none")
	launcher := []string{"HOME=" + here, "HOME=" + none}
	t.Setenv("HOME", here)
	require.Equal(t, env, loginEnviron(env, launcher))
	t.Setenv("HOME", none)
	require.Equal(t, env, loginEnviron(env, launcher[:1]))
	require.Equal(t, []string{"A=1", "HOME=" + account.HomeDir, "USER=" + account.Username, "LOGNAME=" + account.Username}, loginEnviron(env, launcher))
	require.NoError(t, os.Unsetenv("HOME")) // t.Setenv has it back at the end
	require.Equal(t, env, loginEnviron(env, launcher))
}
