package managers

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// where has each rank say on which host it is, and in which cgroup of the job.
const where = `sh -c 'echo $(hostname) $(sed -n "s|.*freezer:.*/\(job_[0-9]*/step_[a-z0-9]*\).*|\1|p" /proc/self/cgroup)'`

// Sixteen ranks on four nodes: on the hosts of the allocation, as many as their slots, in
// the containment of the job, by each way into an allocation.
func TestAllocations(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	for name, x := range map[string]struct {
		flags  []string
		script string
		step   string
		slots  []int
	}{
		"sbatch":            {[]string{"-N4", "--ntasks-per-node=4"}, "golaunch -v -l " + where, "0", []int{4, 4, 4, 4}},
		"tasks alone":       {[]string{"-N3", "-n17"}, "golaunch -v -l " + where, "0", nil},
		"nothing exported":  {[]string{"-N4", "--ntasks-per-node=4", "--export=NONE"}, "export SLURM_EXPORT_ENV=NONE SLURM_STDOUTMODE=none; golaunch -v -l " + where, "0", []int{4, 4, 4, 4}},
		"inside a step":     {[]string{"-N4", "--ntasks-per-node=4"}, "srun -N1 -n1 golaunch -v -l " + where, "1", []int{4, 4, 4, 4}},
		"more than a task":  {[]string{"-N2", "--ntasks-per-node=2", "--cpus-per-task=4"}, "golaunch -v -l " + where, "0", []int{2, 2}},
		"some of its hosts": {[]string{"-N4", "--ntasks-per-node=4"}, "golaunch -v --nodes 2 -l " + where, "0", []int{4, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := at(t, s.Cluster).submit(x.script+"; echo status $?", x.flags...)
			out := j.wait()
			require.Contains(t, out, "status 0\n")
			require.Contains(t, out, "golaunch: agents are started by slurm\n")
			if x.slots == nil {
				require.Len(t, lines(out), 17, out)
				return
			}
			cgroup := ""
			if s.SlurmTracksByCgroup() {
				cgroup = fmt.Sprintf(" job_%s/step_%s", j.id, x.step)
			}
			j.onSlots(out, cgroup, x.slots)
		})
	}
}

// onSlots asserts that ranks are on as many hosts as there are slots, so many on each,
// and in a cgroup.
func (j *job) onSlots(out, cgroup string, slots []int) {
	j.t.Helper()
	hosts, rank := map[string]bool{}, 0
	for _, n := range slots {
		host := ""
		for range n {
			found := ""
			for _, line := range lines(out) {
				if rest, ok := strings.CutPrefix(line, fmt.Sprintf("[%d] ", rank)); ok {
					found = rest
				}
			}
			require.True(j.t, strings.HasSuffix(found, cgroup), "rank %d: %q, want%s", rank, found, cgroup)
			name := strings.TrimSuffix(found, cgroup)
			if host == "" {
				host = name
				require.False(j.t, hosts[host], "rank %d is on %s, too", rank, host)
				hosts[host] = true
			}
			require.Equal(j.t, host, name, "rank %d", rank)
			rank++
		}
	}
	require.Len(j.t, lines(out), rank, out)
}

// An interactive allocation, which golaunch uses from a machine that is not of it.
func TestSalloc(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out, err := s.head("salloc", "--quiet", "-N4", "--ntasks-per-node=4", bin("golaunch"), "-v", "-l", "hostname")
	require.NoError(t, err, out)
	require.Len(t, lines(out), 16, out)
	require.Contains(t, out, "golaunch: agents are started by slurm\n")
}

// A heterogeneous job: an srun for each of its components.
func TestHeterogeneous(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	j := s.submit("golaunch -v -l hostname; echo status $?", "-N1", "-n4", ":", "-N3", "--ntasks-per-node=4")
	out := j.wait()
	require.Contains(t, out, "status 0\n")
	require.Contains(t, out, "golaunch: agents are started by slurm\n")
	j.onSlots(out, "", []int{4, 4, 4, 4})
}

// Nodes that let nobody in by ssh are no hindrance; whoever asks for ssh, or for an srun
// of each host, gets that.
func TestTheUserChooses(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit(`
golaunch -v --bootstrap ssh hostname; echo ssh $?
HYDRA_LAUNCHER=ssh golaunch -v hostname; echo hydra $?
golaunch -v --bootstrap srun -l hostname; echo srun $?
golaunch --bootstrap slurm -H n999 hostname; echo other $?
golaunch -H n999 hostname; echo foreign $?`, "-N2", "--ntasks-per-node=2").wait()
	require.Contains(t, out, "ssh 125\n")
	require.Contains(t, out, "hydra 125\n")
	require.Contains(t, out, "srun 0\n")
	require.Len(t, lines(out), 4, out)
	require.Contains(t, out, "--bootstrap slurm: -H: host n999 is not of this job's allocation\nother 2\n")
	require.Equal(t, 2, strings.Count(out, "agents are started by ssh\n"))
	require.Contains(t, out, "golaunch: agents are started by ssh, and so outside of what the manager of this job contains: -H: host n999 is not of this job's allocation\n")
	require.Contains(t, out, "foreign 125\n")
}

func TestMPI(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	for program, packages := range map[string]string{"mpisum": "libmpich-dev mpich", "mpisum.openmpi": "openmpi-bin libopenmpi-dev"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			needBuilt(t, program, packages)
			out := at(t, s.Cluster).submit("golaunch -l "+bin(program)+" -a; echo status $?", "-N4", "--ntasks-per-node=4").wait()
			require.Contains(t, out, "status 0\n", out)
			require.Equal(t, 16, strings.Count(out, ": sum 136 ok\n"), out)
		})
	}
}

// Ranks on nodes that lack the home of the submit host have their own.
func TestHomes(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out, err := s.head("salloc", "--quiet", "-N2", "-n2", bin("golaunch"), "--label=host", "sh", "-c", `cd && pwd && echo $HOME`)
	require.NoError(t, err, out)
	for _, line := range lines(out) {
		require.Regexp(t, `^\[\d@(n\d+)\] \S+/nodes/n\d+/home$`, line)
	}
	require.Len(t, lines(out), 4, out)
}

// What is easily taken for something else: several golaunch by one srun, which is told.
func TestSeveralBySrun(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit("srun -n2 golaunch -n 1 -l hostname; echo status $?", "-N2", "--ntasks-per-node=1").wait()
	require.Contains(t, out, "status 0\n")
	require.Equal(t, 1, strings.Count(out, "golaunch: srun runs 2 golaunch beside each other, "), out)
}

// Two jobs of golaunch beside each other in one allocation.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit(`
golaunch -l sh -c 'echo first; sleep 1' & one=$!
golaunch -l sh -c 'echo second; sleep 1'; echo second $?
wait $one; echo first $?`, "-N3", "--ntasks-per-node=2").wait()
	require.Contains(t, out, "second 0\n")
	require.Contains(t, out, "first 0\n")
	require.Len(t, lines(out), 12, out)
}

// Nodes that lack golaunch are brought it, and nothing of it is left.
func TestTheExecutableIsBrought(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit(`
cp `+bin("golaunch")+` /tmp/own; rm -f /tmp/golaunch-*
/tmp/own -l hostname; echo status $?
rm /tmp/own
srun -N3 -n3 --ntasks-per-node=1 sh -c 'ls /tmp' | grep golaunch-; echo end`, "-N3", "--ntasks-per-node=2").wait()
	require.Contains(t, out, "golaunch: 2 hosts lack /tmp/own: srun brings it to them\n")
	require.Contains(t, out, "status 0\nend\n")
	require.Len(t, lines(out), 6, out)
}

// Nothing of the job's secret is in a command line or an environment.
func TestNothingSecretIsShown(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	j := s.submit("golaunch -l sh -c 'echo up; while [ ! -e "+s.dir+"/go ]; do sleep 0.1; done'", "-N2", "-n2")
	j.says("] up", 2)
	agents := 0
	for _, n := range s.Nodes() {
		for _, p := range j.processes(n.Name) {
			line := strings.Join(p.Cmdline, " ")
			env, err := p.Environ()
			require.NoError(t, err)
			require.NotRegexp(t, "[0-9a-f]{64}", line)
			require.NotRegexp(t, "[0-9a-f]{64}", strings.Join(env, "\n"))
			if strings.Contains(line, "nla-agent --") && !strings.Contains(line, "srun") {
				agents++
			}
		}
	}
	require.Equal(t, 2, agents)
	require.NoError(t, os.WriteFile(s.dir+"/go", nil, 0o644))
	j.wait()
}

// Lines of srun do in an allocation what srun does with them: the same ranks on the same
// nodes, who know so, with the same input and output.
func TestLinesOfSrun(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	const who = `'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_NNODES $SLURM_TASKS_PER_NODE $SLURM_STEP_NODELIST'`
	both := `line() {
	srun "$@" <${in-/dev/null} 2>&1 | grep -v "^srun: Warning" | sort >real
	` + bin("golaunch") + ` srun "$@" <${in-/dev/null} 2>&1 | sort >ours
	cmp -s real ours && echo same || { echo "srun $*:"; cat real; echo "ours:"; cat ours; }
}
mkdir lines.$SLURM_JOB_ID; cd lines.$SLURM_JOB_ID; echo input >in
`
	for allocation, list := range map[string][]string{
		"-N3": {"", "-N2", "-n2", "-w n002", "--ntasks-per-node=1", "-N2 -x n002", "-n2 -x n001", "-N1 -r2", "-n1 -r2", "-n1 --jobid=$SLURM_JOB_ID"},
		"-N3 -n6": {
			"", "-n1", "-n2", "-n5", "-N2 -n4", "-n2 -w n003", "-N1 -n1 -w n003", "-m cyclic -n5", "-m block -n5", "-N2 -m cyclic -n4",
			"-n3 --ntasks-per-node=2", "--ntasks-per-node=1", "--exclusive -n2 -c1", "-l -n3",
		},
	} {
		script := both
		for _, flags := range list {
			script += "line " + flags + " sh -c " + who + "\n"
		}
		script += "in=in line -n2 cat\nin=in line -n2 -i none cat\nline -n1 -o both.%j sh -c 'echo out; echo err >&2'; sort both.$SLURM_JOB_ID\n"
		out, err := s.head(slices.Concat([]string{"salloc", "--quiet", "-w", "n[001-003]"}, strings.Fields(allocation), []string{"bash", "-c", script})...)
		require.NoError(t, err, out)
		require.Equal(t, strings.Repeat("same\n", len(list)+3)+"err\nout\n", out, allocation)
	}
}
