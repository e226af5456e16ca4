package e2e

import (
	"bufio"
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

	"github.com/golaunch/golaunch/internal/profile"
)

// pair is a source and a destination.
type pair [2]int32

// readProfile reads the file that a job left.
func readProfile(t *testing.T, file string) *profile.Profile {
	t.Helper()
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	p, err := profile.Read(in, file)
	require.NoError(t, err)
	info, err := in.Stat()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	return p
}

// sentOf returns the counts of messages of a world's ranks, as the profile has them.
func sentOf(w *profile.World) map[pair]profile.Counts {
	sent := map[pair]profile.Counts{}
	for _, s := range w.Sent {
		sent[pair{s.Source, s.Destination}] = s.Counts
	}
	return sent
}

// printedSent returns the counts of messages that mpisends prints.
func printedSent(t *testing.T, r result) map[pair]profile.Counts {
	t.Helper()
	sent := map[pair]profile.Counts{}
	for _, line := range r.lines() {
		var p pair
		var c profile.Counts
		if n, _ := fmt.Sscanf(line, "%d sent %d %d %d", &p[0], &p[1], &c.Messages, &c.Bytes); n == 4 {
			c.Add(sent[p])
			sent[p] = c
		}
	}
	require.NotEmpty(t, sent, r.stdout+r.stderr)
	return sent
}

// Every message and byte that a program sends is in its profile, and nothing else is.
func TestProfileIsExact(t *testing.T) {
	for program, x := range map[string]struct{ mpi, packages string }{
		"mpisends":         {"MPICH", "libmpich-dev mpich"},
		"mpisends.openmpi": {"Open MPI", "openmpi-bin libopenmpi-dev"},
	} {
		for _, mode := range []string{"once", "switched", "threads", "killed"} {
			t.Run(x.mpi+" "+mode, func(t *testing.T) {
				needBuilt(t, program, x.packages)
				file := filepath.Join(t.TempDir(), "profile.json")
				// Debian's configuration of Open MPI has no windows over TCP.
				r := local(t, "", "-n", "6", "--nodes", "3", "-x", "OMPI_MCA_osc=pt2pt", "--profile", file, bin(program), mode)
				p := readProfile(t, file)
				require.Len(t, p.Worlds, 1)
				w := &p.Worlds[0]
				require.Equal(t, printedSent(t, r), sentOf(w))
				require.Empty(t, w.Missing)
				require.Equal(t, 6, w.Size)
				require.Len(t, w.Nodes, 3)
				require.True(t, strings.HasPrefix(w.MPI, x.mpi+" "), w.MPI)
				require.Equal(t, r.code, p.Status)
				if mode == "killed" {
					require.Equal(t, 137, r.code, r.stderr)
					require.Contains(t, w.Unfinished, 1)
					return
				}
				require.Zero(t, r.code, r.stderr)
				require.Empty(t, r.stderr)
				require.Empty(t, w.Unfinished)
				if mode == "once" {
					checkCollectives(t, w)
				}
			})
		}
	}
}

// checkCollectives looks for those that mpisends calls once.
func checkCollectives(t *testing.T, w *profile.World) {
	t.Helper()
	found := map[string]profile.Collective{}
	for _, c := range w.Collectives {
		if w.Communicators[c.Communicator].Size == 6 {
			found[c.Call] = c
		}
	}
	require.Equal(t, int64(5), found["MPI_Allreduce"].Calls)
	require.Equal(t, int64(5*6*16*8), found["MPI_Allreduce"].Bytes)
	require.Equal(t, 5, found["MPI_Bcast"].Root)
	require.Equal(t, int64(16*8), found["MPI_Bcast"].Bytes)
	require.True(t, found["MPI_Alltoallv"].InSent)
	require.Equal(t, []profile.Run{{First: 0, Count: 6, Step: 1}}, w.Communicators[found["MPI_Bcast"].Communicator].Ranks)
}

// Programs whose file does not show their MPI are taken for MPICH's. Those of Open MPI that
// lack --mpi openmpi end, and say so.
func TestProfileBehindAScript(t *testing.T) {
	needBuilt(t, "mpisends", "libmpich-dev mpich")
	needBuilt(t, "mpisends.openmpi", "openmpi-bin libopenmpi-dev")
	for name, x := range map[string]struct {
		args []string
		says string
	}{
		"MPICH":                     {args: []string{"sh", "-c", bin("mpisends") + " once; exit $?"}},
		"Open MPI":                  {args: []string{"--mpi", "openmpi", "sh", "-c", bin("mpisends.openmpi") + " once; exit $?"}},
		"Open MPI without the flag": {[]string{"sh", "-c", bin("mpisends.openmpi") + " once; exit $?"}, "libprofile: this program's MPI has ompi_mpi_comm_world, and is not MPICH; run it without --profile, or, if it is Open MPI, with --mpi openmpi\n"},
		"mpi4py":                    {args: []string{"--mpi", "openmpi", debianPython, "-c", sums}},
		"mpi4py without the flag":   {[]string{debianPython, "-c", sums}, "and is not MPICH; run it without --profile, or, if it is Open MPI, with --mpi openmpi\n"},
		"MPICH with the wrong flag": {[]string{"--mpi", "openmpi", "sh", "-c", bin("mpisends") + " once; exit $?"}, "and is not Open MPI; run it without --profile, or without --mpi openmpi\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if slices.Contains(x.args, debianPython) {
				needMPI4Py(t)
			}
			file := filepath.Join(t.TempDir(), "profile.json")
			r := local(t, "", append([]string{"-n", "6", "--nodes", "3", "-x", "OMPI_MCA_osc=pt2pt", "--profile", file}, x.args...)...)
			if x.says != "" {
				require.NotZero(t, r.code) // another rank's abort may come first
				require.Contains(t, r.stderr, x.says)
				return
			}
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			w := readProfile(t, file).Worlds[0]
			require.Empty(t, w.Missing)
			if !slices.Contains(x.args, debianPython) {
				require.Equal(t, printedSent(t, r), sentOf(&w))
			}
		})
	}
}

// Fortran's calls count once, by whichever of its bindings.
func TestProfileOfFortran(t *testing.T) {
	for _, abi := range []string{"mpich", "openmpi"} {
		t.Run(abi, func(t *testing.T) {
			needBuilt(t, "mpiforsends."+abi, "gfortran lib"+abi+"-dev")
			file := filepath.Join(t.TempDir(), "profile.json")
			r := local(t, "", "-n", "3", "--profile", file, bin("mpiforsends."+abi))
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, printedSent(t, r), sentOf(&readProfile(t, file).Worlds[0]))
		})
	}
}

// A tool of others that stands between the program and MPI sees what it saw before, and
// nothing counts twice.
func TestProfileBesideATool(t *testing.T) {
	needBuilt(t, "mpitool.so", "libmpich-dev mpich")
	file := filepath.Join(t.TempDir(), "profile.json")
	job := []string{"-n", "2", "-x", "LD_PRELOAD=" + bin("mpitool.so"), bin("mpisends")}
	warnings := func(r result) (lines []string) {
		require.Zero(t, r.code, r.stderr)
		for _, line := range r.lines() {
			if strings.Contains(line, " tool ") {
				lines = append(lines, line)
			}
		}
		require.Len(t, lines, 2)
		return lines
	}
	before := warnings(local(t, "", job...))
	r := local(t, "", append([]string{"--profile", file}, job...)...)
	require.ElementsMatch(t, before, warnings(r))
	require.Equal(t, printedSent(t, r), sentOf(&readProfile(t, file).Worlds[0]))
}

// Spawned processes are a world of their own in the file.
func TestProfileOfSpawnedWorlds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.json")
	r := local(t, "", "-n", "1", "--nodes", "2", "--profile", file, bin("spawnclient"), "4", "--", bin("pmiclient"), "-i")
	require.Zero(t, r.code, r.stderr)
	p := readProfile(t, file)
	require.Len(t, p.Worlds, 2)
	require.Equal(t, []int{1, 4}, []int{p.Worlds[0].Size, p.Worlds[1].Size})
	require.Equal(t, []int{0, 1, 2, 3}, p.Worlds[1].Missing, "they have no MPI")
	require.Contains(t, r.stderr, "--profile: there is none of ranks 0-3 of world 1: did it come to MPI_Init")
}

// SIGUSR2 to golaunch begins the counting, where that is asked for, and no rank gets it.
func TestProfileFromASignal(t *testing.T) {
	needBuilt(t, "mpisends", "libmpich-dev mpich")
	file := filepath.Join(t.TempDir(), "profile.json")
	cmd := exec.Command(bin("golaunch"), "-v", "-n", "2", "--profile", file, "--profile-from", "signal", bin("mpisends"), "signalled")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	var out strings.Builder
	cmd.Stdout = &out
	lines, err := hear(t, cmd, cmd, func(line string) {
		switch {
		case line == "ready":
			require.NoError(t, cmd.Process.Signal(syscall.SIGUSR2))
		case strings.Contains(line, "counting has begun"):
			_, err := io.WriteString(in, "go on\n")
			require.NoError(t, err)
		}
	})
	require.NoError(t, err, lines)
	require.Equal(t, printedSent(t, result{stdout: out.String()}), sentOf(&readProfile(t, file).Worlds[0]))
}

// Time is counted where it is asked for; a program that never comes to MPI_Init is
// named.
func TestProfileOfTime(t *testing.T) {
	needBuilt(t, "mpisends", "libmpich-dev mpich")
	file := filepath.Join(t.TempDir(), "profile.json")
	r := local(t, "", "-n", "2", "--profile", file, "--profile-what", "time", bin("mpisends"))
	require.Zero(t, r.code, r.stderr)
	for _, s := range readProfile(t, file).Worlds[0].Sent {
		require.Positive(t, s.Nanoseconds)
	}
	r = local(t, "", "-n", "3", "--profile", file, "/bin/true")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "golaunch: --profile: there is none of ranks 0-2: did it come to MPI_Init, in an MPICH or Open MPI that is a shared library?\n", r.stderr)
	require.Equal(t, []int{0, 1, 2}, readProfile(t, file).Worlds[0].Missing)
}

// An older profile stays until there is another one: of a job that comes to no ranks, and
// of a golaunch that is killed while they run.
func TestAnOlderProfileStays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "profile.json")
	older := func() string {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return string(text)
	}
	require.NoError(t, os.WriteFile(file, []byte("older\n"), 0o600))
	r := local(t, "", "-n", "1", "-H", "no-such-host.invalid", "--profile", file, "true")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "--profile: no rank ran: nothing is written to "+file)
	require.Equal(t, "older\n", older())

	cmd := exec.Command(bin("golaunch"), "-n", "1", "--profile", file, bin("rankprobe"), "sleep")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd)
	_, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.Equal(t, "older\n", older())
}
