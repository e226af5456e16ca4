package e2e

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// stranger is another user of this machine.
const stranger = 65534

// Links that another user has put where golaunch is to write are not followed, whichever
// flag names the file, and nothing runs; the user's own in a directory of their own are.
func TestPlantedLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can make another user's links")
	}
	run := func(path string, words ...string) result { // of which one names path
		for i, w := range words {
			if w == "PATH" {
				words[i] = path
			}
		}
		return local(t, "", append(words, "-n", "1", "echo", "done")...)
	}
	report := filepath.Join(t.TempDir(), "given.json")
	require.Zero(t, local(t, "", "-n", "1", "--report", report, "true").code)
	for _, flag := range []string{"--out", "--err", "--report", "--trace", "--profile", "--log-dir", "report"} {
		for _, mode := range []os.FileMode{0o777, 0o777 | os.ModeSticky} {
			place, victim := t.TempDir(), t.TempDir()
			require.NoError(t, os.Chmod(place, mode))
			link, target := filepath.Join(place, "link"), filepath.Join(victim, "target")
			if flag == "--log-dir" {
				require.NoError(t, os.MkdirAll(filepath.Join(target, "attempt-0"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(target, "attempt-0", "7.out"), []byte("kept"), 0o644))
			} else {
				require.NoError(t, os.WriteFile(target, []byte("kept"), 0o644))
			}
			require.NoError(t, os.Symlink(target, link))
			require.NoError(t, os.Lchown(link, stranger, stranger))
			words := []string{flag, "PATH"}
			call := run
			if flag == "report" {
				call = func(path string, _ ...string) result { return local(t, "", "report", "-o", path, report) }
			}
			r := call(link, words...)
			require.Equal(t, 2, r.code, "%s %v: %s", flag, mode, r.stderr)
			require.Contains(t, r.stderr, "it is a link of nobody, in a directory where others may write: remove it, or name a file in a directory of your own", flag)
			require.NotContains(t, r.stdout, "done")
			kept := target
			if flag == "--log-dir" {
				kept = filepath.Join(target, "attempt-0", "7.out")
				require.NoFileExists(t, filepath.Join(target, "attempt-0", "0.out"))
			}
			b, err := os.ReadFile(kept)
			require.NoError(t, err)
			require.Equal(t, "kept", string(b), flag)
			// In a directory of one's own.
			if flag == "report" {
				continue // it takes the place of a link
			}
			own := filepath.Join(victim, "own")
			require.NoError(t, os.Symlink(target, own))
			r = call(own, words[0], "PATH")
			require.Zero(t, r.code, "%s: %s", flag, r.stderr)
			_, err = os.Lstat(own)
			require.NoError(t, err)
			if flag != "--log-dir" {
				b, err = os.ReadFile(target)
				require.NoError(t, err)
				require.NotEqual(t, "kept", string(b), flag)
			} else {
				require.FileExists(t, filepath.Join(target, "attempt-0", "0.out"))
			}
		}
	}
}

// Output below a directory that others may write does not go where a link of theirs
// leads, though it is there before golaunch comes to it.
func TestPlantedAttempt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("skipped: only root can make another user's links")
	}
	logs, victim := t.TempDir(), t.TempDir()
	require.NoError(t, os.Chmod(logs, 0o777))
	attempt := filepath.Join(logs, "attempt-0")
	require.NoError(t, os.Symlink(victim, attempt))
	require.NoError(t, os.Lchown(attempt, stranger, stranger))
	r := local(t, "", "--log-dir", logs, "-n", "1", "echo", "done")
	require.Equal(t, 2, r.code, r.stderr)
	require.Contains(t, r.stderr, "attempt-0 is a link of nobody, in a directory where others may write")
	require.NoFileExists(t, filepath.Join(victim, "0.out"))
}
