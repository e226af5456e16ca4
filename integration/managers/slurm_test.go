package managers

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// where has each rank say on which host it is, and in which cgroup of the job.
const printStep = `sh -c 'echo $(hostname) $(sed -n "s|.*freezer:.*/\(job_[0-9]*/step_[a-z0-9]*\).*|\1|p" /proc/self/cgroup)'`

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
		"sbatch":            {[]string{"-N4", "--ntasks-per-node=4"}, "golaunch -v -l " + printStep, "0", []int{4, 4, 4, 4}},
		"tasks alone":       {[]string{"-N3", "-n17"}, "golaunch -v -l " + printStep, "0", nil},
		"nothing exported":  {[]string{"-N4", "--ntasks-per-node=4", "--export=NONE"}, "export SLURM_EXPORT_ENV=NONE SLURM_STDOUTMODE=none; golaunch -v -l " + printStep, "0", []int{4, 4, 4, 4}},
		"inside a step":     {[]string{"-N4", "--ntasks-per-node=4"}, "srun -N1 -n1 golaunch -v -l " + printStep, "1", []int{4, 4, 4, 4}},
		"more than a task":  {[]string{"-N2", "--ntasks-per-node=2", "--cpus-per-task=4"}, "golaunch -v -l " + printStep, "0", []int{2, 2}},
		"some of its hosts": {[]string{"-N4", "--ntasks-per-node=4"}, "golaunch -v --nodes 2 -l " + printStep, "0", []int{4, 4}},
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

// A mistake that is easily made: several golaunch by one srun, which is told.
func TestSeveralBySrun(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit("srun -n2 golaunch -n 1 -l hostname; echo status $?", "-N2", "--ntasks-per-node=1").wait()
	require.Contains(t, out, "status 0\n")
	require.Equal(t, 1, strings.Count(out, "golaunch: srun runs 2 golaunch beside each other, "), out)
}

// awaitLines has a script wait until a file, NAME.out, has so many lines with some words: says
// NAME WORDS LINES.
const awaitLines = `
says() { while [ ! -e $1.out ] || [ $(grep -cF "$2" $1.out) -lt $3 ]; do sleep 0.05; done; }`

// Several golaunch in one allocation of two nodes with two slots each: each rank has a slot
// and a core of its own; a golaunch for which there is none waits, as srun does, and says
// so, unless it is to overlap; one that is killed leaves its slots to others. A golaunch
// that srun starts in a step counts as well.
func TestSlotsOfAnAllocation(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	if runtime.NumCPU() < 2 {
		t.Skipf("skipped: this machine has one CPU, to which two ranks of a node cannot be bound")
	}
	require.NoError(t, os.WriteFile(s.dir+"/rank", []byte(`#!/bin/sh
echo $1 $(hostname) $(sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status)
while [ ! -e $1.go ]; do sleep 0.05; done
`), 0o755))
	out := s.submit(awaitLines+`
one() { name=$1; shift; exec golaunch -l "$@" ./rank $name >$name.out 2>&1; }
one a -n 2 --bind-to hwthread & a=$!
one b -n 2 --bind-to hwthread & b=$!
says a ']' 2; says b ']' 2
one c -n 1 & c=$!
says c "golaunch: waiting for 1 of 4 slots that other golaunch of allocation $SLURM_JOB_ID use (--overlap shares them)" 1
touch step.go
srun -N1 -n1 --overlap golaunch -l -n 1 ./rank step >step.out 2>&1 & step=$!
touch o.go; (one o -n 4 --overlap); echo overlap $?
[ $(grep -c ']' c.out) = 0 ] && echo c waits
kill -9 $b; wait $b; echo b $?
says c ']' 1
touch a.go; wait $a; echo a $?
wait $step; echo step $?
touch c.go; wait $c; echo c $?
touch all.go; (one all -n 4); echo all $?
cat a.out b.out c.out o.out step.out all.out`, "-N2", "--ntasks-per-node=2").wait()
	require.Contains(t, out, "overlap 0\nc waits\n")
	require.Contains(t, out, "b 137\na 0\nstep 0\nc 0\nall 0\n")
	var places []string
	for _, line := range lines(out) {
		if f := strings.Fields(line); f[1] == "a" || f[1] == "b" {
			places = append(places, f[2]+" "+f[3])
		}
	}
	slices.Sort(places)
	require.Len(t, slices.Compact(places), 4, out)
}

// Two golaunch that each want all slots run one after the other.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	out := s.submit(awaitLines+`
golaunch -l sh -c 'echo first; while [ ! -e first.go ]; do sleep 0.05; done' >first.out 2>&1 & one=$!
says first ']' 6
golaunch -l echo second >second.out 2>&1 & two=$!
says second "golaunch: waiting for 6 of 6 slots that other golaunch of allocation $SLURM_JOB_ID use (--overlap shares them)" 1
[ $(grep -c ']' second.out) = 0 ] && echo second waits
touch first.go; wait $one; echo first $?
wait $two; echo second $?
cat first.out second.out`, "-N3", "--ntasks-per-node=2").wait()
	require.Contains(t, out, "second waits\nfirst 0\nsecond 0\n")
	require.Equal(t, 1, strings.Count(out, "golaunch: waiting for 6 of 6 slots that other golaunch of allocation "), out)
	require.Equal(t, 6, strings.Count(out, "] first\n"), out)
	require.Equal(t, 6, strings.Count(out, "] second\n"), out)
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
			if err != nil { // a sleep of a rank that has ended
				continue
			}
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

// asSrun has a script compare a line of srun with golaunch's: line FLAGS PROGRAM. It is tried
// again where they differ: srun passes over a node on which the step before is not cleared
// away yet. Both read the file that $in names.
func asSrun(flags string) string {
	return `line() {
	for try in 1 2 3 4 5 6 7 8; do
		srun ` + flags + ` "$@" <${in-/dev/null} 2>&1 | grep -v "^srun: Warning" | sort >real
		` + bin("golaunch") + ` srun ` + flags + ` "$@" <${in-/dev/null} 2>&1 | sort >ours
		cmp -s real ours && { echo same; return; }
		sleep $try
	done
	echo "srun $*:"; cat real; echo "ours:"; cat ours
}
`
}

// Lines of srun do in an allocation what srun does with them: the same ranks on the same
// nodes, who know so, with the same input and output.
func TestLinesOfSrun(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	const printPlace = `'echo $SLURM_PROCID $SLURM_LOCALID $SLURM_NODEID $SLURMD_NODENAME $SLURM_NTASKS $SLURM_NNODES $SLURM_TASKS_PER_NODE $SLURM_STEP_NODELIST'`
	both := "who=" + printPlace + "\n" + asSrun("") + `
mkdir lines.$SLURM_JOB_ID; cd lines.$SLURM_JOB_ID; echo input >in
`
	const six = "-N3 -n6"
	for allocation, list := range map[string][]string{
		"-N3": {"", "-N2", "-n2", "-w n002", "--ntasks-per-node=1", "-N2 -x n002", "-n2 -x n001", "-N1 -r2", "-n1 -r2", "-n1 --jobid=$SLURM_JOB_ID"},
		six: {
			"", "-n1", "-n2", "-n5", "-N2 -n4", "-n2 -w n003", "-N1 -n1 -w n003", "-m cyclic -n5", "-m block -n5", "-N2 -m cyclic -n4",
			"-n3 --ntasks-per-node=2", "--ntasks-per-node=1", "--exclusive -n2 -c1", "-l -n3",
			"-m plane=2 -n5", "-m plane=3", "-N2 -n4 -m plane=2", "-m block:cyclic -n5", "-m cyclic:block -n5", "-m cyclic:fcyclic:block",
			"-m arbitrary -w n002,n001,n002 -n3", "-m arbitrary -w ./hosts -n5",
		},
	} {
		script := both + `printf 'n002\nn001\nn002\nn003\nn001\n' >hosts` + "\n"
		var places []string // by variables
		if allocation == six {
			places = []string{
				"SLURM_DISTRIBUTION=cyclic line -n5", "SLURM_DISTRIBUTION=cyclic line -n5 -m block", "SLURM_DISTRIBUTION=plane=2 line -n6",
				"SLURM_DISTRIBUTION=block:cyclic line -n5", "SLURM_HOSTFILE=hosts line -n5 -m arbitrary", "SLURM_HOSTFILE=hosts line -n3 -m arbitrary",
				"SLURM_HOSTFILE=hosts line -n5", "SLURM_HOSTFILE=hosts line -n5 -m cyclic",
			}
		}
		for _, flags := range list {
			script += "line " + flags + " sh -c " + printPlace + "\n"
		}
		for _, x := range places {
			script += x + ` sh -c "$who"` + "\n"
		}
		script += "in=in line -n2 cat\nin=in line -n2 -i none cat\nline -n1 -o both.%j sh -c 'echo out; echo err >&2'; sort both.$SLURM_JOB_ID\n"
		out, err := s.head(slices.Concat([]string{"salloc", "--quiet", "-w", "n[001-003]"}, strings.Fields(allocation), []string{"bash", "-c", script})...)
		require.NoError(t, err, out)
		require.Equal(t, strings.Repeat("same\n", len(list)+len(places)+3)+"err\nout\n", out, allocation)
	}
}

// Lines of srun start their apps on the components of a heterogeneous job that srun would;
// golaunch's own lines distribute ranks as the job was asked to.
func TestDistributions(t *testing.T) {
	t.Parallel()
	s := theSite(t)
	list := []string{
		"--het-group=0 -n2 hostname : --het-group=1 -n1 hostname", "-n2 hostname : -n3 hostname", "--het-group=0,1 -n1 hostname",
		"--het-group=1 hostname", "hostname", "-n2 hostname", "--het-group=1 -n2 hostname", "--het-group=1 -N1 -n2 hostname",
	}
	script := asSrun("-l") + `
mkdir het.$SLURM_JOB_ID; cd het.$SLURM_JOB_ID
`
	for _, flags := range list {
		script += "line " + flags + "\n"
	}
	out, err := s.head("salloc", "--quiet", "-N1", "-n2", ":", "-N2", "--ntasks-per-node=2", "bash", "-c", script)
	require.NoError(t, err, out)
	require.Equal(t, strings.Repeat("same\n", len(list)), out)

	const own = `srun -l hostname 2>/dev/null | sort >real; golaunch -l='%r: ' hostname | sort >ours; cmp real ours && echo same`
	for _, distribution := range []string{"-m cyclic", "-m plane=2", "-m block", "-m arbitrary"} {
		t.Run(distribution, func(t *testing.T) {
			t.Parallel()
			session := at(t, s.Cluster)
			hosts := session.dir + "/hosts"
			require.NoError(t, os.WriteFile(hosts, []byte("n002\nn001\nn002\nn003\nn001\n"), 0o644))
			script := own
			flags := append([]string{"-N3", "--ntasks-per-node=2", "-w", "n[001-003]"}, strings.Fields(distribution)...)
			if distribution == "-m arbitrary" {
				flags, script = []string{"-n5", "-m", "arbitrary", "-w", hosts}, "export SLURM_HOSTFILE="+hosts+"; "+own
			}
			require.Equal(t, "same\n", session.submit(script, flags...).wait())
		})
	}
}
