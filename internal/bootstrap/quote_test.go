package bootstrap_test

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
)

// show prints its words, each ended by a zero byte.
var show = []string{"/bin/sh", "-c", `for w in "$@"; do printf "%s" "$w"; printf "%b" "\\0000"; done`, "show"}

// runIn passes a command to a login shell as sshd does.
func runIn(command string, shell ...string) (string, error) {
	var out bytes.Buffer
	cmd := exec.Command(shell[0], append(shell[1:len(shell):len(shell)], "-c", command)...)
	cmd.Stdout = &out
	err := cmd.Run()
	return out.String(), err
}

func TestWordsPassThroughLoginShells(t *testing.T) {
	words := bootstraptest.NastyWords()
	for _, shell := range []string{"sh", "dash", "bash", "busybox sh", "ksh", "mksh", "zsh", "csh", "tcsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			login := strings.Fields(shell)
			if _, err := exec.LookPath(login[0]); err != nil {
				t.Skipf("shell not installed: %v", err)
			}
			// All at once takes the encoded form, one by one mostly not.
			for _, list := range append([][]string{words}, one(words)...) {
				command, err := bootstrap.CommandLine(append(append([]string(nil), show...), list...))
				require.NoError(t, err)
				got, err := runIn(command, login...)
				require.NoError(t, err, "command %s", command)
				require.Equal(t, strings.Join(list, "\x00")+"\x00", got)
			}
		})
	}
}

func one(words []string) (out [][]string) {
	for _, w := range words {
		out = append(out, []string{w})
	}
	return out
}

func TestAnyWordPassesThroughTheShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOf(rapid.RuneFrom([]rune("ab '\"\\$`!*?~#;&|<>(){}[]^%=\n\r\té"))), 1, 6).Draw(t, "words")
		command, err := bootstrap.CommandLine(append(append([]string(nil), show...), words...))
		require.NoError(t, err)
		got, err := runIn(command, "/bin/sh")
		require.NoError(t, err)
		require.Equal(t, strings.Join(words, "\x00")+"\x00", got)
	})
}

// Characters that csh or fish would change must not stand inside single quotes.
func TestQuotingIsSafeForAllShells(t *testing.T) {
	command, err := bootstrap.CommandLine([]string{"/bin/sh", "-c", "a'b!c\\d e"})
	require.NoError(t, err)
	require.Equal(t, `/bin/sh -c 'a'\''b'\!'c'\\'d e'`, command)
	command, err = bootstrap.CommandLine([]string{"/bin/sh", "-c", "a b\nc"})
	require.NoError(t, err)
	require.NotContains(t, command, "\n")
}

func TestImpossibleCommands(t *testing.T) {
	for want, argv := range map[string][]string{
		"no command":     {},
		"with a dash":    {"-x"},
		"zero byte":      {"a", "b\x00"},
		"at most 131066": {"a", strings.Repeat("x", 131072)},
	} {
		_, err := bootstrap.CommandLine(argv)
		require.ErrorContains(t, err, want)
	}
}
