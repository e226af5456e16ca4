package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
)

func TestLocalPlainProgram(t *testing.T) {
	r := local(t, "", "-n", "4", "-l", "sh", "-c", "echo $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE on node $GOLAUNCH_NODEID")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	var want []string
	for i := range 4 {
		want = append(want, fmt.Sprintf("[%d] %d of 4, %d of 4 on node 0", i, i, i))
	}
	require.ElementsMatch(t, want, r.lines())
}

// Ranks of a line that begins with srun also know who they are by Slurm's names.
func TestSlurmNames(t *testing.T) {
	const printVariables = "echo $RANK: $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURM_NTASKS $SLURM_NPROCS $SLURM_NNODES $SLURM_STEP_TASKS_PER_NODE"
	r := local(t, "", "srun", "--bootstrap", "fork", "-N2", "-n4", "sh", "-c", printVariables)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"0: 0 0 0 4 4 2 2(x2)", "1: 1 1 0 4 4 2 2(x2)", "2: 2 0 1 4 4 2 2(x2)", "3: 3 1 1 4 4 2 2(x2)"}, r.lines())
	r = local(t, "", "--nodes", "2", "-n", "2", "sh", "-c", printVariables)
	require.ElementsMatch(t, []string{"0:", "1:"}, r.lines())
}

// So are those of Open MPI's and MVAPICH2's lines, and MPI itself goes by golaunch.
func TestNamesOfMPILaunchers(t *testing.T) {
	for words, name := range map[string]string{"mpirun.openmpi": "OMPI", "mpirun_rsh": "MV2"} {
		r := local(t, "", words, "-np", "2", "sh", "-c", fmt.Sprintf("echo $%s_COMM_WORLD_RANK $%[1]s_COMM_WORLD_SIZE $%[1]s_COMM_WORLD_LOCAL_RANK", name))
		require.ElementsMatch(t, []string{"0 2 0", "1 2 1"}, r.lines(), r.stderr)
	}
	for _, line := range [][]string{{"mpirun.openmpi", "-np", "3", bin("mpihello.openmpi")}, {"mpirun_rsh", "-np", "3", bin("mpihello")}, {"srun", "-n", "3", bin("mpihello.openmpi")}} {
		r := local(t, "", line...)
		require.Len(t, r.lines(), 3, r.stderr)
		require.Contains(t, r.stdout, "rank 2 of 3 on ")
	}
}

// All ranks of such a line read standard input, and one file takes both streams.
func TestHabitsOfSrun(t *testing.T) {
	r := local(t, "a\nb\n", "srun", "-n2", "-l", "cat")
	require.ElementsMatch(t, []string{"0: a", "0: b", "1: a", "1: b"}, r.lines(), r.stderr)
	file := filepath.Join(t.TempDir(), "out")
	r = local(t, "", "srun", "-n2", "-o", file, "sh", "-c", "echo out; echo err >&2")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout+r.stderr)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"out", "out", "err", "err"}, strings.Fields(string(text)))
}

func TestLocalTree(t *testing.T) {
	// Sixteen agents on this machine, three levels deep.
	r := local(t, "", "-n", "32", "--nodes", "16", "--degree", "2", bin("pmiclient"), "-m", "all", "-n", "3")
	require.Zero(t, r.code, r.stderr)
	require.Len(t, r.lines(), 32)
	require.Contains(t, r.stdout, "rank 31 of 32 ok\n")
}

func TestManyRanks(t *testing.T) {
	r := local(t, "", "-n", "8192", "/bin/true")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout+r.stderr)
}

// The rank that failed is named, with its host, its code or signal, and the status of
// golaunch is that of its end.
//
//report:ends flux-framework/flux-core#1998, flux-framework/flux-core#6054 which rank failed, and how
func TestExitCodes(t *testing.T) {
	for _, x := range []struct {
		name    string
		args    []string
		code    int
		message string
	}{
		{"all fine", []string{"-n", "3", "true"}, 0, ""},
		{"one exits nonzero", []string{"-n", "3", bin("rankprobe"), "-r", "1", "exit", "7"}, 7, "rank 1 on "},
		{"codes are cut to a byte, never to 0", []string{"-n", "2", bin("pmiclient"), "-x", "abort:256", "-r", "1"}, 1, "called abort with code 256"},
		{"signal", []string{"-n", "3", bin("rankprobe"), "-r", "2", "signal", "9"}, 137, "rank 2 on "},
		{"not found", []string{"-n", "2", "no-such-program"}, 127, "program not found"},
		{"not executable", []string{"-n", "2", "/etc/passwd"}, 126, "/etc/passwd"},
		{"abort", []string{"-n", "4", bin("pmiclient"), "-x", "abort:7", "-r", "2"}, 7, "rank 2 on "},
		{"exit 0 after init without finalize", []string{"-n", "4", bin("pmiclient"), "-x", "nofinalize", "-r", "1"}, 1, "without MPI_Finalize"},
		{"PMI that is none", []string{"-n", "2", bin("pmiclient"), "-x", "garbage", "-r", "1"}, 125, `rank 1 on `},
		{"timeout", []string{"-n", "2", "--timeout", "300ms", bin("rankprobe"), "sleep"}, 124, "within 300ms"},
		{"timeout of ranks that ignore SIGTERM", []string{"-n", "2", "--timeout", "300ms", "--grace", "100ms", bin("rankprobe"), "stubborn"}, 124, "within 300ms"},
		{"a file to bring that is not there", []string{"-n", "1", "--stage", "/no/such/file", "true"}, 2, "--stage: /no/such/file: no such file or directory"},
		{"more ranks than a host has processes", []string{"-n", "16000000", "--nodes", "2", "true"}, 125, "8000000 ranks are more than the "},
		{"working directory that is not there", []string{"-n", "1", "--wdir", "/no/such/place", "true"}, 127, "/no/such/place"},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := local(t, "", x.args...)
			require.Equal(t, x.code, r.code, r.stderr)
			require.Contains(t, r.stderr, x.message)
			for _, line := range strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n") {
				if line != "" && !strings.HasPrefix(line, "pmiclient:") {
					require.Regexp(t, "^golaunch: ", line)
				}
			}
			require.NotContains(t, r.stderr, "lost")
		})
	}
	nothingRuns(t)
}

func TestPathIsToldOnDemand(t *testing.T) {
	t.Setenv("PATH", "/usr/bin:/bin:/first/place:/second/place")
	r := local(t, "", "-n", "2", "no-such-program")
	require.Contains(t, r.stderr, "program not found: no-such-program is in none of the 4 directories of PATH (-v names them)")
	require.NotContains(t, r.stderr, "/second/place")
	r = local(t, "", "-v", "-n", "2", "no-such-program")
	require.Equal(t, 1, strings.Count(r.stderr, "no-such-program was sought in /usr/bin:/bin:/first/place:/second/place\n"), r.stderr)
}

func TestKeepGoing(t *testing.T) {
	r := local(t, "", "-n", "4", "--keep-going", "sh", "-c", "[ $RANK = 1 ] && exit 3; echo $RANK")
	require.Equal(t, 3, r.code)
	got := r.lines()
	slices.Sort(got)
	require.Equal(t, []string{"0", "2", "3"}, got, "the others ran to their end")
}

// The last output of a rank before it fails is there, also without an end of the line.
//
//report:io flux-framework/flux-core#7328 the last line of the rank that fails
func TestLastWordsOfAFailedRank(t *testing.T) {
	for range 5 {
		r := local(t, "", "-n", "4", "--nodes", "2", "sh", "-c", "[ $RANK = 3 ] || exec sleep 1000; seq 20000; printf last; exit 3")
		require.Equal(t, 3, r.code, r.stderr)
		lines := r.lines()
		require.Len(t, lines, 20001)
		require.Equal(t, "last", lines[20000])
	}
}

// A rank that ends with 0 ends no other, however early.
//
//report:ends flux-framework/flux-core#5820 a rank that ends before the others
func TestARankThatEndsEarly(t *testing.T) {
	const rank = `cd "$0"; [ $RANK != 0 ] || { echo $$ >new; mv new pid; exit 0; }
until [ -e pid ] && [ ! -e /proc/$(cat pid) ]; do sleep 0.01; done; echo $RANK`
	r := local(t, "", "-n", "3", "--nodes", "3", "sh", "-c", rank, t.TempDir())
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"1", "2"}, r.lines())
}

// A rank that never started would be waited for in MPI_Init for ever.
func TestKeepGoingWithoutARankThatNeverStarted(t *testing.T) {
	r := local(t, "", "--keep-going", "-n", "1", "/no/such/program", ":", "-n", "1", "sleep", "1000")
	require.Equal(t, 127, r.code, r.stderr)
	require.Regexp(t, `rank 0 on \S+ was not started: program not found`, r.stderr)
}

func TestCorner17RankThatNeverSpeaksPMI(t *testing.T) {
	require.Zero(t, local(t, "", "-n", "2", "sh", "-c", "exit 0").code)
	require.Equal(t, 5, local(t, "", "-n", "2", "sh", "-c", "exit 5").code)
}

func TestCorner18PMIDescriptorOutlivesExec(t *testing.T) {
	r := local(t, "", "-n", "2", "sh", "-c", "sh -c 'exec "+bin("pmiclient")+"'")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "rank 1 of 2 ok")
}

func TestSeveralApps(t *testing.T) {
	dir := t.TempDir()
	r := local(t, "", "-n", "2", "sh", "-c", "echo a$RANK", ":", "-n", "1", "-x", "WHO=b", "--wdir", dir, "sh", "-c", "echo $WHO$RANK $PWD")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"a0", "a1", "b2 " + dir}, r.lines())
}

func TestStdin(t *testing.T) {
	text := strings.Repeat("line of input\n", 100_000) // 1.4 MB: more than any window
	r := local(t, text, "-n", "3", bin("rankprobe"), "stdin")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, fmt.Sprintf("rank 0 stdin %d bytes", len(text)))
	require.Contains(t, r.stdout, "rank 1 stdin 0 bytes")

	r = local(t, text, "-n", "5", "--nodes", "3", "--degree", "1", "-i", "all", bin("rankprobe"), "stdin")
	require.Zero(t, r.code, r.stderr)
	for i := range 5 {
		require.Contains(t, r.stdout, fmt.Sprintf("rank %d stdin %d bytes", i, len(text)))
	}

	r = local(t, text, "-n", "3", "--nodes", "3", "-i", "2", bin("rankprobe"), "stdin")
	require.Contains(t, r.stdout, fmt.Sprintf("rank 2 stdin %d bytes", len(text)))
	require.Contains(t, r.stdout, "rank 0 stdin 0 bytes")

	r = local(t, text, "-n", "1", "cat")
	require.Equal(t, text, r.stdout, "byte for byte")

	r = local(t, text, "-n", "2", "-i", "all", "true")
	require.Zero(t, r.code, "ranks that don't read hold nobody up")
}

// Arguments and environments are bytes, in any encoding; those that come back in
// messages do not steer the terminal.
func TestAnyBytesButNUL(t *testing.T) {
	t.Setenv("LATIN", "a\xffb")
	r := local(t, "", "-n", "2", "--nodes", "2", "-x", "ONE=c\xfe", "sh", "-c", `echo "$LATIN$ONE$1"`, "sh", "\x80d\x1b")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"a\xffbc\xfe\x80d\x1b", "a\xffbc\xfe\x80d\x1b"}, r.lines())

	r = local(t, "", "-n", "1", "no\x1b[31m-such\xff")
	require.Equal(t, 127, r.code, r.stderr)
	require.Contains(t, r.stderr, "program not found: no?[31m-such")
}

func TestOutputFiles(t *testing.T) {
	dir := t.TempDir()
	r := local(t, "", "-n", "3", "-o", filepath.Join(dir, "out.%r"), "-e", filepath.Join(dir, "err"), "sh", "-c", "echo o$RANK; echo e$RANK >&2")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout+r.stderr)
	for i := range 3 {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.%d", i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("o%d\n", i), string(b))
	}
	b, err := os.ReadFile(filepath.Join(dir, "err"))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"e0", "e1", "e2"}, strings.Fields(string(b)))

	r = local(t, "", "-n", "1", "-o", filepath.Join(dir, "no/such/dir/x"), "true")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "no/such/dir/x")
	r = local(t, "", "-n", "1", "-o", dir, "true")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, "--out "+dir+": "+dir+" is a directory")
	r = local(t, "", "-n", "2", "-e", "/proc/nosuch.%r", "echo", "hi") // a directory that takes no files
	require.Equal(t, 2, r.code)
	require.Empty(t, r.stdout, "nothing was run")
	require.Contains(t, r.stderr, "golaunch: --err /proc/nosuch.%r: open /proc/nosuch.0: ")
}

func TestOutputLinesAreWhole(t *testing.T) {
	r := local(t, "", "-n", "16", "--nodes", "4", "--degree", "2", bin("rankprobe"), "lines", "2000")
	require.Zero(t, r.code, r.stderr)
	checkLines(t, r, 16)
}

func TestContextOfRanks(t *testing.T) {
	t.Setenv("PMIX_RANK", "9")
	t.Setenv("OMPI_COMM_WORLD_RANK", "9")
	t.Setenv("HYDI_CONTROL_FD", "9")
	t.Setenv("PMI_FD", "99")
	t.Setenv("KEPT", "as it is")
	r := local(t, "", "-n", "2", "-x", "ADDED=x y", bin("rankprobe"), "context")
	require.Zero(t, r.code, r.stderr)
	wd, err := os.Getwd()
	require.NoError(t, err)
	for _, want := range []string{
		"rank 1 cwd " + wd, "rank 1 descriptors 0 1 2 4 1008", "rank 1 leader yes",
		"rank 1 env PMI_FD=1008", "rank 1 env PMI_RANK=1", "rank 1 env PMI_SIZE=2",
		"rank 1 env MPI_LOCALRANKID=1", "rank 1 env MPI_LOCALNRANKS=2",
		"rank 1 env PMI_HOSTNAME=127.0.0.1", "rank 1 env MPIR_CVAR_CH3_INTERFACE_HOSTNAME=127.0.0.1",
		"rank 1 env KEPT=as it is", "rank 1 env ADDED=x y",
	} {
		require.Contains(t, r.stdout, want+"\n")
	}
	for _, foreign := range []string{"PMIX_", "OMPI_", "HYDI_", "PMI_FD=99"} {
		require.NotContains(t, r.stdout, "env "+foreign)
	}
}

func TestUmaskAndLimitsAreTheLaunchers(t *testing.T) {
	cmd := exec.Command("sh", "-c", "umask 027; ulimit -S -n 777; ulimit -c 0; exec "+bin("golaunch")+" -n 1 sh -c 'umask; ulimit -n; ulimit -c'")
	r := finish(t, cmd, cmd, "")
	require.Equal(t, "0027\n777\n0\n", r.stdout, r.stderr)
}

func TestLocalMPI(t *testing.T) {
	needMPI(t)
	r := local(t, "", "-n", "4", bin("mpisum"))
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "sum 10 ok")
	r = local(t, "", "-n", "3", bin("mpiabort"))
	require.Equal(t, 7, r.code, r.stderr)
}

// Ranks that end while others start free descriptors that the others get.
func TestNoLineOfShortRanksIsLost(t *testing.T) {
	for range 8 {
		r := local(t, "", "-n", "512", "--nodes", "4", "-N", "128", "echo", "hello")
		require.Zero(t, r.code, r.stderr)
		require.Len(t, r.lines(), 512)
	}
}

// Every policy gives every rank the same answers, with plenty of memory to
// forget from and with none.
func TestCachePolicies(t *testing.T) {
	for _, policy := range cache.Policies() {
		for _, bytes := range [][]string{nil, {"--cache-bytes", "0"}} {
			t.Run(string(policy)+strings.Join(bytes, ""), func(t *testing.T) {
				args := append([]string{"-n", "36", "--nodes", "9", "--degree", "2", "--cache", string(policy)}, bytes...)
				r, doc := reported(t, append(args, bin("pmiclient"), "-m", "all", "-n", "3", "-p", "2")...)
				require.Zero(t, r.code, r.stderr)
				require.Len(t, r.lines(), 36)
				board := doc.board()
				require.EqualValues(t, 36*3*2, board.Puts)
				require.EqualValues(t, 36*36*3*2, board.Gets, "of 36 ranks' 2 keys by each, 3 times")
				require.Zero(t, board.NotFound)
				require.Equal(t, board.Gets, board.Hits+board.Misses)
				all := board.Gets - 36*4*3*2 // all but those of what was put on the same node
				switch {
				case policy == cache.HCMAB, policy == cache.HCMABLRU && bytes == nil:
					require.Zero(t, board.Misses, "every node has all that was put")
				case policy == cache.Distributed && bytes != nil, policy == cache.HCMABLRU:
					require.Greater(t, board.Misses, all/2, "nothing but homes' own is held")
				default:
					require.Positive(t, board.Misses)
					require.Less(t, board.Misses, all, "what was asked for once is held")
				}
				if bytes == nil {
					require.Zero(t, board.Evictions, "one round has room")
				}
			})
		}
	}
	r := local(t, "", "-n", "2", "--cache", "none", "true")
	require.Equal(t, 2, r.code)
	require.Contains(t, r.stderr, `--cache: "none" is not a policy; hcs, hcma, hcmab, hcmab-lru and distributed are`)
}

// Output goes to a named pipe until it ends, whole.
func TestOutputToANamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	for command, want := range map[string]string{"echo one; sleep 0.1; echo two": "one\ntwo\n", "true": ""} {
		read := exec.Command("cat", pipe)
		var got bytes.Buffer
		read.Stdout = &got
		begin(t, read, read)
		ended := make(chan error, 1)
		go func() { ended <- read.Wait() }() // ends with the reader
		for running := true; running; {
			r := local(t, "", "-n", "1", "-o", pipe, "sh", "-c", command)
			require.Zero(t, r.code, r.stderr)
			select {
			case err := <-ended:
				require.NoError(t, err)
				running = false
			default: // it had not opened the pipe yet, or not ended
				if command != "true" {
					require.NoError(t, <-ended)
					running = false
				}
			}
		}
		require.Equal(t, want, got.String())
	}
}

// A named pipe that nobody reads is told, and Ctrl-C ends the wait for its reader; one
// that is read gets all, and once.
func TestNamedPipesThatNobodyReads(t *testing.T) {
	for flag, x := range map[string]struct {
		name, interrupted string
		code              int
	}{
		"--out":    {"output file", "interrupted after the ranks have ended", 130},
		"--report": {"--report", "--report: PIPE: interrupt while its reader was waited for", 125},
		"--trace":  {"--trace", "--trace: PIPE: interrupt while its reader was waited for", 125},
	} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			pipe := filepath.Join(t.TempDir(), "pipe")
			require.NoError(t, syscall.Mkfifo(pipe, 0o600))
			cmd := exec.Command(bin("golaunch"), "-n", "1", flag, pipe, "echo", "hello")
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			begin(t, cmd, cmd)
			lines := bufio.NewReader(stderr)
			line, err := lines.ReadString('\n')
			require.NoError(t, err)
			require.Equal(t, "golaunch: "+x.name+": "+pipe+" is a named pipe that nobody reads: waiting for its reader\n", line)
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			require.Error(t, cmd.Wait())
			require.Equal(t, x.code, cmd.ProcessState.ExitCode(), string(rest))
			require.Contains(t, string(rest), strings.ReplaceAll(x.interrupted, "PIPE", pipe))
		})
	}
	report := filepath.Join(t.TempDir(), "report")
	require.NoError(t, syscall.Mkfifo(report, 0o600))
	read := exec.Command("cat", report)
	var got bytes.Buffer
	read.Stdout = &got
	begin(t, read, read)
	r := local(t, "", "-n", "1", "--report", report, "true")
	require.Zero(t, r.code, r.stderr)
	require.NoError(t, read.Wait())
	require.True(t, json.Valid(got.Bytes()), got.String())
}
