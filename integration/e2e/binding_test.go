package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/placement/binding"
	processors "github.com/golaunch/golaunch/network/topology/node"
)

// printCPUs is a rank that prints the CPUs that the kernel lets it run on.
const printCPUs = "sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status"

// ours are the CPUs of this process, of which there may be one.
func ours(t *testing.T) []int {
	t.Helper()
	cpus, err := unix.Affinity(0)
	require.NoError(t, err)
	return cpus
}

// coresOf are the cores that CPUs belong to, as the kernel tells of each CPU: those of
// its core that are among them.
func coresOf(t *testing.T, cpus []int) (cores []string) {
	t.Helper()
	for _, c := range cpus {
		siblings := []int{c}
		text, err := os.ReadFile(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", c))
		if err == nil {
			siblings, err = processors.ParseUnits(strings.TrimSpace(string(text)))
			require.NoError(t, err)
		}
		siblings = slices.DeleteFunc(siblings, func(s int) bool { return !slices.Contains(cpus, s) })
		if core := binding.Format(siblings); !slices.Contains(cores, core) {
			cores = append(cores, core)
		}
	}
	return cores
}

// onCPUs runs golaunch where it may use these CPUs alone.
func onCPUs(t *testing.T, cpus []int, args ...string) result {
	t.Helper()
	runtime.LockOSThread() // processes inherit the CPUs of the thread that starts them
	defer runtime.UnlockOSThread()
	all := ours(t)
	require.NoError(t, unix.SetAffinity(0, cpus))
	defer func() { require.NoError(t, unix.SetAffinity(0, all)) }()
	return local(t, "", args...)
}

// Each rank has a core of its own, in order, as /proc says; those of several nodes on
// one machine, too.
func TestBindToCore(t *testing.T) {
	cores := coresOf(t, ours(t))
	n := len(cores)
	r := local(t, "", "-n", fmt.Sprint(n), "-l", "--bind-to", "core", "sh", "-c", printCPUs)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	var want []string
	for i, core := range cores {
		want = append(want, fmt.Sprintf("[%d] %s", i, core))
	}
	require.ElementsMatch(t, want, r.lines())

	r = local(t, "", "-n", fmt.Sprint(n), "--nodes", fmt.Sprint(min(2, n)), "-l", "-bind-to", "core", "sh", "-c", printCPUs)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, want, r.lines())

	r = local(t, "", "-n", fmt.Sprint(n+1), "--oversubscribe", "-l", "--bind-to", "core", "sh", "-c", printCPUs)
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, append(want, fmt.Sprintf("[%d] %s", n, cores[0])), r.lines())
}

// Ranks that are not bound, or bound to all there is, run where golaunch does.
func TestBindToAll(t *testing.T) {
	all := binding.Format(ours(t))
	for _, to := range []string{"none", "numa", "socket"} {
		r := local(t, "", "-n", "1", "--bind-to", to, "sh", "-c", printCPUs)
		require.Zero(t, r.code, r.stderr)
		if to == "none" {
			require.Equal(t, []string{all}, r.lines())
		}
		cpus, err := processors.ParseUnits(r.lines()[0])
		require.NoError(t, err)
		require.Subset(t, ours(t), cpus)
	}
}

// A rank file's CPUs are the rank's, whatever others are bound to; one that is not
// there is named.
func TestRankFileBinds(t *testing.T) {
	all := ours(t)
	last, cores := binding.Format(all[len(all)-1:]), coresOf(t, all)
	file := filepath.Join(t.TempDir(), "ranks")
	ranks := func(slot string) []string {
		require.NoError(t, os.WriteFile(file, []byte("rank 0=+n0 slot="+slot+"\nrank 1=+n0 slot="+slot+"\nrank 2=+n0\n"), 0o600))
		return []string{"-n", "3", "-l", "--map-by", "file:" + file, "--bind-to", "core", "--oversubscribe", "sh", "-c", printCPUs}
	}
	r := local(t, "", ranks(last)...)
	require.Zero(t, r.code, r.stderr)
	require.Subset(t, r.lines(), []string{"[0] " + last, "[1] " + last})
	require.Len(t, r.lines(), 3)
	require.Contains(t, cores, strings.TrimPrefix(r.lines()[slices.IndexFunc(r.lines(), func(l string) bool { return strings.HasPrefix(l, "[2] ") })], "[2] "))
	r = local(t, "", ranks("9999")...)
	require.NotZero(t, r.code)
	require.Contains(t, r.stderr, "rank 0")
	require.Contains(t, r.stderr, "slot=9999: CPU 9999 is not the job's to use there")
}

// A CPU that golaunch may not use is never a rank's, whatever is asked for.
func TestBindWithinAffinity(t *testing.T) {
	all := ours(t)
	last := all[len(all)-1:]
	text := binding.Format(last)
	for _, to := range []string{"none", "core", "hwthread", "socket", "numa", "cpu-list:" + text} {
		r := onCPUs(t, last, "-n", "2", "--oversubscribe", "--bind-to", to, "--report-bindings", "sh", "-c", printCPUs)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, []string{text, text}, r.lines(), to)
		require.Regexp(t, `(?m)^golaunch: rank 1 on \S+: CPU `+text+` \(.*\)$`, r.stderr)
	}
	r := onCPUs(t, last, "-n", "2", "--bind-to", "core", "sh", "-c", printCPUs)
	require.Equal(t, 125, r.code)
	require.Empty(t, r.stdout)
	require.Regexp(t, `^golaunch: --bind-to core cannot be done:\ngolaunch:   host \S+: 1 core .*for 2 ranks\n`+
		`golaunch: nothing was run; use fewer ranks per host, --oversubscribe to let ranks share, or --bind-to none\n$`, r.stderr)
	other := 1 << 14
	if len(all) > 1 {
		other = all[0]
	}
	r = onCPUs(t, last, "-n", "1", "--oversubscribe", "--bind-to", fmt.Sprint("cpu-list:", other), "sh", "-c", printCPUs)
	require.Equal(t, 125, r.code)
	require.Regexp(t, fmt.Sprintf(`--bind-to cpu-list:%d cannot be done:\ngolaunch:   host \S+: CPU %[1]d is not the job's to use there: CPU %s is`, other, text), r.stderr)
}

// cpusetCgroup makes a cgroup that may use these CPUs, of the version that this machine
// has cpusets in, and skips where it allows none.
func cpusetCgroup(t *testing.T, cpus string) string {
	t.Helper()
	above := "/sys/fs/cgroup"
	_, err := os.Stat(above + "/cpuset")
	v1 := err == nil
	if v1 {
		above += "/cpuset"
	} else {
		err = os.WriteFile(above+"/cgroup.subtree_control", []byte("+cpuset"), 0o644)
	}
	dir := filepath.Join(above, fmt.Sprint("golaunch-e2e-cpus-", os.Getpid()))
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err != nil {
		t.Skipf("skipped: no cgroup with CPUs of its own can be made here (TestBindWithinAffinity has the rest): %v", err)
	}
	t.Cleanup(func() { require.NoError(t, os.Remove(dir)) })
	if v1 {
		require.NoError(t, os.WriteFile(dir+"/cpuset.mems", []byte("0"), 0o644))
	}
	require.NoError(t, os.WriteFile(dir+"/cpuset.cpus", []byte(cpus), 0o644))
	return dir
}

// Nor is one that golaunch's cgroup does not have.
func TestBindWithinCgroup(t *testing.T) {
	all := ours(t)
	last := binding.Format(all[len(all)-1:])
	dir := cpusetCgroup(t, last)
	run := func(args ...string) result {
		cmd := exec.Command("sh", append([]string{"-c", `echo $$ >"$0"; exec "$@"`, dir + "/cgroup.procs", bin("golaunch")}, args...)...)
		return finish(t, cmd, cmd, "")
	}
	r := run("-n", "1", "--bind-to", "core", "sh", "-c", printCPUs)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{last}, r.lines())
	r = run("-n", "2", "--bind-to", "core", "sh", "-c", printCPUs)
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, ": 1 core ")
}

// Ranks that are spawned take what those that live have left.
func TestBindSpawned(t *testing.T) {
	cores := coresOf(t, ours(t))
	r := local(t, "", "-l", "-n", "1", "--bind-to", "core", bin("spawnclient"), "1", "--", "sh", "-c", printCPUs)
	require.Zero(t, r.code, r.stderr)
	if len(cores) == 1 {
		require.Contains(t, r.stderr, "1 process was not started")
		require.Contains(t, r.stderr, "for 1 rank beside 1 that live")
		return
	}
	require.Equal(t, []string{cores[1]}, r.labeled("1.0"))
}

// The report has the CPUs of each rank; MVAPICH2 is told not to bind ranks by itself,
// unless the user says otherwise.
func TestReportOfBindings(t *testing.T) {
	cores := coresOf(t, ours(t))
	script := `echo "affinity ${MV2_ENABLE_AFFINITY-}"`
	r, doc := reported(t, "-n", "1", "--bind-to", "core", "sh", "-c", script)
	require.Equal(t, []string{"affinity 0"}, r.lines())
	require.Equal(t, cores[0], doc.Ranks[0].CPUs)
	r = local(t, "", "-n", "1", "-x", "MV2_ENABLE_AFFINITY=1", "--bind-to", "core", "sh", "-c", script)
	require.Equal(t, []string{"affinity 1"}, r.lines())
	r, doc = reported(t, "-n", "1", "sh", "-c", script)
	require.Equal(t, []string{"affinity "}, r.lines())
	require.Empty(t, doc.Ranks[0].CPUs)
}

// MPI libraries leave ranks where golaunch has bound them, or not.
func TestMPIStaysBound(t *testing.T) {
	all := ours(t)
	cores := coresOf(t, all)
	n := len(cores)
	for program, need := range map[string]func(*testing.T){"mpisum": needMPI, "mpisum.openmpi": needOpenMPI} {
		t.Run(program, func(t *testing.T) {
			need(t)
			var bound, free []string
			for i := range n {
				bound = append(bound, fmt.Sprintf("rank %d Cpus_allowed_list:\t%s", i, cores[i]))
				free = append(free, fmt.Sprintf("rank %d Cpus_allowed_list:\t%s", i, binding.Format(all)))
			}
			r := local(t, "", "-n", fmt.Sprint(n), "--bind-to", "core", bin(program), "-c")
			require.Zero(t, r.code, r.stderr)
			require.ElementsMatch(t, bound, r.lines())
			r = local(t, "", "-n", fmt.Sprint(n), bin(program), "-c")
			require.Zero(t, r.code, r.stderr)
			require.ElementsMatch(t, free, r.lines())
		})
	}
}
