package e2e

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/programs"
)

// debianPython is Debian's Python, with Debian's mpi4py over Open MPI 4.
const debianPython = "/usr/bin/python3"

// needModule skips where Debian's Python lacks a module.
func needModule(t *testing.T, module, packages string) {
	t.Helper()
	if err := exec.Command(debianPython, "-c", "import "+module).Run(); err != nil {
		t.Skipf("skipped: %s has no %s; apt-get install %s", debianPython, module, packages)
	}
}

func needMPI4Py(t *testing.T) {
	t.Helper()
	needModule(t, "mpi4py", "python3-mpi4py")
}

// python5 is a Python with mpi4py over Open MPI 5, with a C library of its own.
func python5(t *testing.T) string {
	t.Helper()
	file := filepath.Join(programs.OpenMPI5(), "python3")
	if _, err := os.Stat(file); err != nil {
		t.Skip("skipped: no Python with Open MPI 5: scripts/openmpi5.sh says why")
	}
	return file
}

// sums has each rank say who it is, and what the ranks add up to.
const sums = `
from mpi4py import MPI
w = MPI.COMM_WORLD
print("rank %d of %d: %d" % (w.rank, w.size, w.allreduce(w.rank + 1)), flush=True)
`

// loads has MPICH looked up at run time, as ctypes, cffi and Julia do.
const loads = `
import ctypes
mpi, rank, size, total = ctypes.CDLL("libmpich.so.12"), ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
world, kind, plus = 0x44000000, 0x4c000405, 0x58000003  # of MPICH's mpi.h
mpi.MPI_Init(None, None)
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
mpi.MPI_Allreduce(ctypes.byref(ctypes.c_int(rank.value + 1)), ctypes.byref(total), 1, kind, plus, world)
print("rank %d of %d: %d" % (rank.value, size.value, total.value), flush=True)
mpi.MPI_Finalize()
`

// looked has Open MPI looked up at run time.
const looked = `
import ctypes
mpi, rank, size = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL), ctypes.c_int(), ctypes.c_int()
mpi.MPI_Init(None, None)
world = ctypes.byref(ctypes.c_char.in_dll(mpi, "ompi_mpi_comm_world"))
mpi.MPI_Comm_rank(world, ctypes.byref(rank))
mpi.MPI_Comm_size(world, ctypes.byref(size))
print("rank %d of %d: 10" % (rank.value, size.value), flush=True)
mpi.MPI_Finalize()
`

// One program is one world, whatever starts it and whichever MPI it has, without a word of
// it on the command line.
func TestInterpretersNeedNoFlag(t *testing.T) {
	t.Parallel()
	r := `suppressMessages(library(Rmpi)); cat(sprintf("rank %d of %d: 10\n", mpi.comm.rank(0), mpi.comm.size(0))); invisible(mpi.quit())`
	for name, x := range map[string]struct {
		need func(*testing.T)
		line func(*testing.T) []string
	}{
		"mpi4py, Open MPI 4":    {needMPI4Py, func(*testing.T) []string { return []string{debianPython, "-c", sums} }},
		"mpi4py in a script":    {needMPI4Py, func(*testing.T) []string { return []string{"sh", "-c", debianPython + ` -c "$1"; true`, "sh", sums} }},
		"mpi4py, Open MPI 5":    {func(*testing.T) {}, func(t *testing.T) []string { return []string{python5(t), "-c", sums} }},
		"Open MPI 4, looked up": {needOpenMPI, func(*testing.T) []string { return []string{debianPython, "-c", looked} }},
		"MPICH, looked up":      {needMPI, func(*testing.T) []string { return []string{debianPython, "-c", loads} }},
		"Python's subprocess": {needMPI4Py, func(*testing.T) []string {
			return []string{debianPython, "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])", sums}
		}},
		"C's system": {needMPI4Py, func(*testing.T) []string {
			return []string{debianPython, "-c", "import os, shlex, sys; os.system(shlex.join([sys.executable, '-c', sys.argv[1]]))", sums}
		}},
		"C's popen": {needMPI4Py, func(*testing.T) []string {
			return []string{"awk", `BEGIN { ARGV[1] | getline line; print line; exit }`, debianPython + ` -c '` + sums + `'`}
		}},
		"R, Open MPI 4": {func(t *testing.T) { needR(t) }, func(*testing.T) []string { return []string{"Rscript", "-e", r} }},
	} {
		t.Run(name, func(t *testing.T) {
			x.need(t)
			r := local(t, "", append([]string{"--timeout", pmixLimit, "-n", "4", "--nodes", "2"}, x.line(t)...)...)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.ElementsMatch(t, []string{"rank 0 of 4: 10", "rank 1 of 4: 10", "rank 2 of 4: 10", "rank 3 of 4: 10"}, r.lines())
		})
	}
}

// needR skips where there is no R with Rmpi.
func needR(t *testing.T) {
	t.Helper()
	needShell(t, "Rscript")
	if err := exec.Command("Rscript", "-e", `quit(status = !nzchar(system.file(package = "Rmpi")))`).Run(); err != nil {
		t.Skip("skipped: R has no Rmpi; apt-get install r-cran-rmpi")
	}
}

// The library that ranks preload is brought to nodes that have nothing of golaunch.
func TestPythonOverTheNetwork(t *testing.T) {
	needMPI4Py(t)
	c := theCluster(t)
	r := over(t, c, 4, "-n", "8", "-N", "2", "--degree", "2", "--copy-agent", "--timeout", pmixLimit, debianPython, "-c", sums)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Len(t, r.lines(), 8)
	for i := range 8 {
		require.Contains(t, r.stdout, fmt.Sprintf("rank %d of 8: 36\n", i))
	}
	nothingOfPMIxLeft(t, c, firstNodes(c, 4)...)
}

// Ranks of h5py write one file, not each its own.
func TestParallelHDF5(t *testing.T) {
	t.Parallel()
	needModule(t, "h5py._debian_h5py_mpi", "python3-h5py-mpi")
	file := filepath.Join(t.TempDir(), "x.h5")
	r := local(t, "", "--timeout", pmixLimit, "-n", "4", debianPython, "-c", `
import sys
from mpi4py import MPI
import h5py
w = MPI.COMM_WORLD
f = h5py.File(sys.argv[1], "w", driver="mpio", comm=w)
f.create_dataset("x", (w.size,), dtype="i")[w.rank] = w.rank
f.close()
if w.rank == 0:
    print([int(i) for i in h5py.File(sys.argv[1])["x"]])
`, file)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "[0, 1, 2, 3]\n", r.stdout)
}

// Open MPI's ranks spawn others as they are: by MPI itself, mpi4py.futures and Rmpi.
func TestOpenMPISpawnsWithoutAFlag(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := func(name, text string) string {
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	spawn := script("spawn.py", `
import sys
from mpi4py import MPI
parent = MPI.Comm.Get_parent()
spawned = parent != MPI.COMM_NULL
other = parent if spawned else MPI.COMM_WORLD.Spawn(sys.executable, args=[__file__], maxprocs=2)
both = other.Merge(spawned)
total = both.allreduce(both.rank)
if both.rank == 0:
    print(both.size, total)
both.Free()
other.Disconnect()
`)
	futures := script("futures.py", `
from mpi4py.futures import MPIPoolExecutor
if __name__ == "__main__":
    with MPIPoolExecutor(max_workers=2) as pool:
        print(sum(pool.map(abs, range(-4, 5))))
`)
	slaves := script("slaves.R", `
suppressMessages(library(Rmpi))
invisible(capture.output(mpi.spawn.Rslaves(nslaves = 2, quiet = TRUE)))
print(sum(unlist(mpi.remote.exec(mpi.comm.rank()))))
invisible(capture.output(mpi.close.Rslaves()))
invisible(mpi.quit())
`)
	for name, x := range map[string]struct {
		need  func(*testing.T)
		line  []string
		ranks string
		want  string
	}{
		"MPI_Comm_spawn":         {needMPI4Py, []string{debianPython, spawn}, "2", "4 6\n"},
		"mpi4py.futures":         {needMPI4Py, []string{debianPython, futures}, "1", "20\n"},
		"mpi4py.futures at once": {needMPI4Py, []string{debianPython, "-m", "mpi4py.futures", futures}, "3", "20\n"},
		"Rmpi":                   {needR, []string{"Rscript", slaves}, "1", "[1] 3\n"},
	} {
		t.Run(name, func(t *testing.T) {
			x.need(t)
			r := local(t, "", append([]string{"--timeout", pmixLimit, "--oversubscribe", "-n", x.ranks}, x.line...)...)
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, x.want, r.stdout)
		})
	}
}

// The environment of programs that ranks start has nothing by which they would take
// themselves for ranks: launchers among them are on their own, before MPI begins and after.
//
//report:nested pmodels/mpich#1539, python/cpython#132377, open-mpi/ompi#9729, QMCPACK/qmcpack#3100 mpirun and golaunch inside a rank of Open MPI 4
func TestNothingForeignInTheEnvironment(t *testing.T) {
	t.Parallel()
	needMPI4Py(t)
	needOpenMPI(t)
	const begun = `
import subprocess, sys
from mpi4py import MPI
if MPI.COMM_WORLD.rank == 0:
    sys.exit(subprocess.run(["sh", "-c", sys.argv[1]], stdin=subprocess.DEVNULL).returncode)
`
	inner := strings.NewReplacer("GOLAUNCH", bin("golaunch"), "SUM", bin("mpisum.openmpi")).Replace(
		`env | grep -E '^(FLUX_|PMIX_|OMPI_|LD_PRELOAD=)' | grep -v orte_precondition_transports; ` +
			`mpirun.openmpi --allow-run-as-root --oversubscribe -n 2 SUM -a && GOLAUNCH -n 2 SUM -a && env -u LD_PRELOAD GOLAUNCH -n 2 sh -c 'SUM -a; true'`)
	for name, line := range map[string][]string{
		"before MPI begins": {"-n", "1", "sh", "-c", inner},
		"after":             {"-n", "2", debianPython, "-c", begun, inner},
	} {
		t.Run(name, func(t *testing.T) {
			r := local(t, "", append([]string{"--timeout", pmixLimit}, line...)...)
			require.Zero(t, r.code, r.stderr)
			require.Len(t, r.lines(), 6, r.stdout)
			for _, l := range r.lines() {
				require.Regexp(t, regexp.MustCompile(`^rank [01] of 2 on \S+: sum 3 ok$`), l)
			}
			require.Empty(t, r.stderr)
		})
	}
}

// needPreloaded asserts that ranks preload the library that asks where MPI begins: without it
// there is nothing to be silent.
func needPreloaded(t *testing.T) {
	t.Helper()
	needBuilt(t, "lib/golaunch/libmpiinit.so", "gcc")
	r := local(t, "", "-n", "1", "sh", "-c", `test -n "$GOLAUNCH_MPI_PIPE" && grep -q libmpiinit.so /proc/$$/maps; exit $?`)
	require.Zero(t, r.code, "libmpiinit.so is not loaded: %s", r.stderr)
}

// A failure to load it stays silent: in a place without its file, and in programs for
// another platform.
func TestPreloadingIsSilent(t *testing.T) {
	t.Parallel()
	needShell(t, "gcc")
	needPreloaded(t)
	t.Run("a program that can start no MPI", func(t *testing.T) {
		r := local(t, "", "-n", "1", "cat", "/proc/self/environ", "/proc/self/maps")
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stdout, "PMI_RANK=0")
		require.NotContains(t, r.stdout, "libmpiinit")
		require.NotContains(t, r.stdout, "GOLAUNCH_MPI_PIPE")
	})
	t.Run("another root", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("skipped: root alone changes the root")
		}
		root := t.TempDir()
		libraries, err := exec.Command("ldd", "/bin/true").Output()
		require.NoError(t, err)
		for _, file := range append(regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1), "/bin/true") {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.NoError(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(root, file), data, 0o755))
		}
		r := local(t, "", "-n", "2", "chroot", root, "/bin/true")
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
	})
	t.Run("32 bits", func(t *testing.T) {
		// It writes its environment, without a C library: that of 32 bits may not be here.
		const source = `
static int call(int number, int a, const void *b, int c)
{
	int result;
	__asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
	return result;
}
void begin(char **stack)
{
	char **env = stack + *(int *)stack + 2;
	for (; *env; env++) {
		int n = 0;
		while ((*env)[n])
			n++;
		call(4, 1, *env, n);
		call(4, 1, "\n", 1);
	}
	call(1, 0, 0, 0);
}
__asm__(".globl _start\n_start: push %esp\ncall begin\n");
`
		program := filepath.Join(t.TempDir(), "program")
		cc := exec.Command("gcc", "-m32", "-O1", "-static", "-nostdlib", "-fno-pie", "-no-pie", "-fno-stack-protector", "-x", "c", "-o", program, "-")
		cc.Stdin = strings.NewReader(source)
		if out, err := cc.CombinedOutput(); err != nil || exec.Command(program).Run() != nil {
			t.Skipf("skipped: no programs of 32 bits here: %s", out)
		}
		r := local(t, "", "-n", "1", "sh", "-c", program+"; "+program+" | grep -c GOLAUNCH_MPI_PIPE")
		require.Zero(t, r.code, r.stderr)
		require.NotContains(t, r.stdout, "LD_PRELOAD")
		require.Contains(t, r.stdout, "\n1\n", "it is asked where MPI begins")
	})
}

// Threads that begin sessions at once all wait for the answer.
func TestThreadsBeginSessions(t *testing.T) {
	t.Parallel()
	const source = `
import ctypes, threading
import mpi4py
mpi4py.rc.initialize = False
from mpi4py import MPI
mpi = ctypes.CDLL("libmpi.so.40", ctypes.RTLD_GLOBAL)
info, errors = (ctypes.byref(ctypes.c_char.in_dll(mpi, n)) for n in ("ompi_mpi_info_null", "ompi_mpi_errors_return"))
gate, sessions = threading.Barrier(4), []
def begin():
    session = ctypes.c_void_p()
    gate.wait()
    if mpi.MPI_Session_init(info, errors, ctypes.byref(session)) == 0:
        sessions.append(session)
threads = [threading.Thread(target=begin) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
MPI.Init_thread()
print("rank %d of %d: %d" % (MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size, len(sessions)), flush=True)
for session in sessions: mpi.MPI_Session_finalize(ctypes.byref(session))
MPI.Finalize()
`
	r := local(t, "", "--timeout", pmixLimit, "-n", "2", python5(t), "-c", source)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.ElementsMatch(t, []string{"rank 0 of 2: 4", "rank 1 of 2: 4"}, r.lines())
}

// Commands of C's system and popen run as they do without golaunch.
func TestShellCommandsAreAsEver(t *testing.T) {
	t.Parallel()
	needPreloaded(t)
	const command = `echo "it's $0 $#"; no_such_program; env | grep -e ^LD_PRELOAD= -e ^ASAN_OPTIONS=; exit 3`
	for _, args := range [][]string{
		{"awk", "BEGIN { exit system(ARGV[1]) }", command},
		{"awk", "BEGIN { while ((ARGV[1] | getline line) > 0) print line; exit close(ARGV[1]) }", command},
	} {
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), "ASAN_OPTIONS=a='b c'")
		var errors strings.Builder
		c.Stderr = &errors
		out, err := c.Output()
		require.Error(t, err)
		r := local(t, "", append([]string{"-n", "1", "-x", "ASAN_OPTIONS=a='b c'"}, args...)...)
		require.Equal(t, c.ProcessState.ExitCode(), r.code)
		require.Equal(t, string(out), r.stdout)
		require.Contains(t, r.stderr, errors.String())
	}
}

// A process that cannot be answered does not wait: one that nobody may look at, as of a
// program that may only be executed. One that has another number where it looks itself is
// answered.
func TestRanksThatCannotBeSeen(t *testing.T) {
	t.Parallel()
	needMPI4Py(t)
	const unseen = `
import ctypes
ctypes.CDLL(None).prctl(4, 0)  # PR_SET_DUMPABLE
`
	r := local(t, "", "-n", "2", debianPython, "-c", unseen+looked)
	require.Equal(t, 125, r.code, r.stderr)
	require.Contains(t, r.stderr, "cannot be told how its MPI finds golaunch: it lets nobody look at it")
	r = local(t, "", "-n", "1", debianPython, "-c", unseen+looked)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rank 0 of 1: 10\n", r.stdout)
	r = local(t, "", "--mpi", "pmix", "-n", "2", debianPython, "-c", unseen+looked)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"rank 0 of 2: 10", "rank 1 of 2: 10"}, strings.Split(strings.TrimSpace(r.stdout), "\n"))
	t.Run("another number", func(t *testing.T) {
		if output, err := exec.Command("unshare", "--pid", "--fork", "true").CombinedOutput(); err != nil {
			t.Skipf("skipped: no namespaces of processes here: %s", output)
		}
		r := local(t, "", "-n", "2", "unshare", "--pid", "--fork", debianPython, "-c", looked)
		require.Zero(t, r.code, r.stderr)
		require.ElementsMatch(t, []string{"rank 0 of 2: 10", "rank 1 of 2: 10"}, r.lines())
	})
}

// The library is loaded by the C libraries of all nodes, not by that of where it was
// built: it names no function that older ones lack, as glibc before 2.33 those here.
func TestLibMPIInitFitsOlderCLibraries(t *testing.T) {
	t.Parallel()
	needBuilt(t, "lib/golaunch/libmpiinit.so", "gcc")
	f, err := elf.Open(bin("lib/golaunch/libmpiinit.so"))
	require.NoError(t, err)
	defer f.Close()
	symbols, err := f.ImportedSymbols()
	require.NoError(t, err)
	require.NotEmpty(t, symbols)
	for _, s := range symbols {
		require.NotContains(t, []string{"stat", "lstat", "fstat", "fstatat", "mknod", "mknodat"}, s.Name)
		require.NotContains(t, s.Name, "__isoc", "what newer headers make of strtoul and sscanf")
		require.Empty(t, s.Version, s.Name)
	}
}

// ASan ends a program before whose runtime something is preloaded.
func TestSanitizedProgramsStart(t *testing.T) {
	t.Parallel()
	needShell(t, "gcc")
	needPreloaded(t)
	program := filepath.Join(t.TempDir(), "program")
	cc := exec.Command("gcc", "-fsanitize=address", "-x", "c", "-o", program, "-")
	cc.Stdin = strings.NewReader("int puts(const char *); int main(void) { return puts(\"it runs\") < 0; }")
	if out, err := cc.CombinedOutput(); err != nil {
		t.Skipf("skipped: no ASan here: %s", out)
	}
	for _, args := range [][]string{
		{program},
		{"sh", "-c", program + `; test -z "$ASAN_OPTIONS"`},
		{"sh", "-c", "ASAN_OPTIONS=verbosity=0 " + program + "; env -i " + program + " > /dev/null"},
		{"-x", "ASAN_OPTIONS=verbosity=0", "sh", "-c", program + `; test "$ASAN_OPTIONS" = verbosity=0`},
		{"--profile=" + filepath.Join(t.TempDir(), "profile"), "sh", "-c", program},
	} {
		r := local(t, "", append([]string{"-n", "2"}, args...)...)
		require.Zero(t, r.code, "%v: %s", args, r.stderr)
		require.Equal(t, "it runs\nit runs\n", r.stdout, "%v", args)
	}
}

// Ranks of Open MPI that share CPUs let each other run.
func TestOpenMPIYields(t *testing.T) {
	t.Parallel()
	needMPI4Py(t)
	const source = `
from mpi4py import MPI
import ctypes
mpi = ctypes.CDLL("libmpi.so.40")
print(ctypes.c_bool.in_dll(mpi, "ompi_mpi_yield_when_idle").value, flush=True)
`
	more := runtime.NumCPU() + 1
	for _, x := range []struct {
		ranks int
		flags []string
		want  string
	}{
		{1, nil, "False"},
		{more, nil, "True"},
		{more, []string{"-x", "OMPI_MCA_mpi_yield_when_idle=0"}, "False"},
	} {
		r := local(t, "", append(append([]string{"--timeout", pmixLimit, "--oversubscribe", "-n", strconv.Itoa(x.ranks)}, x.flags...), debianPython, "-c", source)...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, slices.Repeat([]string{x.want}, x.ranks), r.lines())
	}
}
