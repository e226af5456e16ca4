package e2e

import (
	"bufio"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// saysAndWaits is a program whose library holds its line back as long as standard output
// is no terminal: it ends when somebody has written a line to the pipe "go".
const saysAndWaits = `import os, sys
print("said")
open("go").readline()
`

// waiting starts golaunch with saysAndWaits as the program, and returns where its output
// comes, and what has it end.
func waiting(t *testing.T, words ...string) (output *bufio.Reader, end func()) {
	t.Helper()
	dir := t.TempDir()
	gate := filepath.Join(dir, "go")
	require.NoError(t, unix.Mkfifo(gate, 0o600))
	words = append(words, "python3", "-c", saysAndWaits)
	cmd := exec.Command(bin("golaunch"), words...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONUNBUFFERED=")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd)
	return bufio.NewReader(stdout), func() {
		f, err := os.OpenFile(gate, os.O_RDWR, 0) // waits for no reader
		require.NoError(t, err)
		defer f.Close()
		_, err = f.WriteString("\n")
		require.NoError(t, err)
		require.NoError(t, cmd.Wait())
	}
}

// A program's output is seen while it runs on, also in lines of srun and Open MPI's,
// and though golaunch's own output is a pipe.
//
//report:io cp2k/dbcsr#323, LLNL/ATS#30, open-mpi/ompi#7868 output that is seen at once
func TestUnbuffered(t *testing.T) {
	for name, words := range map[string][]string{
		"golaunch": {"--unbuffered", "-n", "1"},
		"srun":     {"srun", "-u", "-n", "1"},
		"open mpi": {"mpirun.openmpi", "-np", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			output, end := waiting(t, words...)
			line, err := output.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "said\n", line)
			end()
		})
	}
}

// Binary output comes as it was written, standard error beside it, and what a process
// that a rank left behind writes.
func TestUnbufferedIsByteForByte(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 1<<20)
	_, err := rand.Read(data)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "data"), data, 0o600))
	r := local(t, "", "--unbuffered", "-n", "2", "-o", filepath.Join(dir, "out.%r"), "--wdir", dir,
		"sh", "-c", "test -t 1 && ! test -t 2 || exit 3; echo err >&2; head -c 1046576 data; "+
			"(: >begun.$RANK; exec tail -c +1046577 data) & until test -e begun.$RANK; do sleep 0.01; done")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "err\nerr\n", r.stderr)
	for _, name := range []string{"out.0", "out.1"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.True(t, string(data) == string(got), "%s: %d bytes of %d, or others", name, len(got), len(data))
	}
}

// Where pseudo-terminals run out, ranks have pipes, and the host is named once.
func TestUnbufferedWithoutTerminals(t *testing.T) {
	const few = `mount -t devpts -o newinstance,ptmxmode=0666,max=2 devpts /dev/pts && mount --bind /dev/pts/ptmx /dev/ptmx || exit 99
		exec "$@"`
	cmd := exec.Command("unshare", "--mount", "sh", "-c", few, "sh", bin("golaunch"), "--unbuffered", "-n", "5",
		"sh", "-c", "test -t 1 && echo terminal || echo pipe; cat", "sh")
	r := finish(t, cmd, cmd, "")
	if r.code == 99 {
		t.Skipf("skipped: no devpts can be mounted here: %s", r.stderr)
	}
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "pipe\n")
	require.Contains(t, r.stdout, "terminal\n")
	require.Regexp(t, `^golaunch: host \S+: --unbuffered: standard output of some ranks is a pipe, .*no space left on device; kernel.pty.max says how many there may be\n$`, r.stderr)
}

// Programs of Open MPI run as ever in lines of its own, in which they have a terminal.
func TestUnbufferedOpenMPI(t *testing.T) {
	needOpenMPI(t)
	twoRanksAddUp(t, "mpirun.openmpi", "-np", "2", bin("mpisum.openmpi"), "-a")
}
