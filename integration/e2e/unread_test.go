package e2e

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// `golaunch ... | head -1` ends the job, without a word, and its report and trace are
// whole.
func TestOutputThatNobodyReadsAnyMore(t *testing.T) {
	for name, x := range map[string]struct {
		flags   []string
		program string
		message string
	}{
		"stdout": {nil, "exec yes", ""},
		"stderr": {nil, "exec yes >&2", ""},
		"told":   {[]string{"-v"}, "exec yes", "golaunch: nobody reads the output any more: the job is ended\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			report, trace, output := filepath.Join(dir, "report"), filepath.Join(dir, "trace"), filepath.Join(dir, "said")
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			defer write.Close()
			others, err := os.Create(output)
			require.NoError(t, err)
			defer others.Close()
			args := append([]string{"-n", "4", "--report", report, "--trace", trace}, x.flags...)
			cmd := exec.Command(bin("golaunch"), append(args, "sh", "-c", x.program)...)
			cmd.Stdout, cmd.Stderr = write, others
			if name == "stderr" {
				cmd.Stdout, cmd.Stderr = others, write
			}
			begin(t, cmd, cmd)
			line, err := bufio.NewReader(read).ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "y\n", line)
			require.NoError(t, read.Close())
			require.NoError(t, write.Close())
			require.Error(t, cmd.Wait())
			require.Equal(t, 141, cmd.ProcessState.ExitCode())
			nothingRuns(t)
			text, err := os.ReadFile(output)
			require.NoError(t, err)
			if x.message == "" {
				require.Empty(t, string(text))
			}
			require.Contains(t, string(text), x.message)
			doc := readReport(t, report)
			require.Equal(t, 141, doc.Status)
			require.Nil(t, doc.Cause)
			require.Len(t, doc.Ranks, 4)
			info, err := os.Stat(trace)
			require.NoError(t, err)
			require.NotZero(t, info.Size())
		})
	}
}
