package agent

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// A HOME that is nowhere here came from elsewhere: the account here has its own.
func TestLoginEnviron(t *testing.T) {
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	require.NoError(t, err)
	env := []string{"HOME=/elsewhere", "A=1", "USER=ann", "LOGNAME=ann"}
	t.Setenv("HOME", t.TempDir())
	require.Equal(t, env, loginEnviron(env))
	t.Setenv("HOME", filepath.Join(t.TempDir(), "none"))
	require.Equal(t, []string{"A=1", "HOME=" + account.HomeDir, "USER=" + account.Username, "LOGNAME=" + account.Username}, loginEnviron(env))
	require.NoError(t, os.Unsetenv("HOME")) // t.Setenv has it back at the end
	require.Equal(t, env, loginEnviron(env))
}
