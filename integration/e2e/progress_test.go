package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// onScreen returns the last text that a terminal shows.
func onScreen(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		shown := ""
		for part := range strings.SplitSeq(line, "\r") {
			if rest, erases := strings.CutPrefix(part, "\x1b[K"); erases {
				shown = rest
			} else {
				shown = part + shown[min(len(part), len(shown)):]
			}
		}
		lines = append(lines, shown)
	}
	return strings.Join(lines, "\n")
}

// Whoever sits at a terminal while a start takes long sees how far it is and who
// is waited for, through relays or agents, and nothing of it stays.
func TestProgressAtATerminal(t *testing.T) {
	dir := t.TempDir()
	hold := filepath.Join(dir, "hold")
	require.NoError(t, os.WriteFile(hold, []byte("#!/bin/sh\nhost=$1; shift\nif [ $host = x3 ]; then read go <"+dir+"/go; fi\nexec \"$@\"\n"), 0o755))
	require.NoError(t, syscall.Mkfifo(dir+"/go", 0o600))
	for _, from := range []string{"launcher", "nodes"} {
		t.Run(from, func(t *testing.T) {
			command := fmt.Sprintf("%s -H x[1-4] --bootstrap exec --exec-command '%s {host} {command}' --exec-from=%s --degree 2 -n 4 sh -c 'echo said; echo too >&2'",
				bin("golaunch"), hold, from)
			terminal := exec.Command("script", "-q", "-e", "-c", command, "/dev/null")
			terminal.Env = append(os.Environ(), "TERM=xterm")
			out, err := terminal.StdoutPipe()
			require.NoError(t, err)
			begin(t, terminal, terminal)
			var text bytes.Buffer
			released := false
			for buf := make([]byte, 4096); ; {
				n, err := out.Read(buf)
				text.Write(buf[:n])
				if err != nil {
					break
				}
				if !released && strings.Contains(text.String(), "3 of 4 nodes up, 0 of 4 ranks; waiting for x3 (") {
					released = true
					require.NoError(t, os.WriteFile(dir+"/go", []byte("go\n"), 0o600))
				}
			}
			require.NoError(t, terminal.Wait(), text.String())
			require.True(t, released, "%q", text.String())
			// A command that is silent for a second is told, by a line that stays: on a busy machine others, too.
			silent := regexp.MustCompile(`golaunch: hosts? \S+: hold has said nothing yet: .*\n?`)
			screen := strings.Fields(silent.ReplaceAllString(onScreen(text.String()), ""))
			require.ElementsMatch(t, []string{"said", "too", "said", "too", "said", "too", "said", "too"}, screen, "%q", text.String())
			_, spoken, _ := strings.Cut(silent.ReplaceAllString(text.String(), ""), "said")
			require.NotContains(t, spoken, "\x1b", "it is over when ranks speak")
		})
	}
}
