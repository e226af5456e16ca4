package managers

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// gridNodes are those of the cluster with Grid Engine that tests share.
const gridNodes = 4

func needGrid(t *testing.T) {
	t.Helper()
	if err := cluster.GridEngineUnavailable(); err != nil {
		t.Skipf("skipped: no cluster with Grid Engine here: %v", err)
	}
}

// theGrid is the one that tests share. Their jobs may run beside each other.
func theGrid(t *testing.T) *site {
	t.Helper()
	needGrid(t)
	sharedGrid.once.Do(func() {
		sharedGrid.cluster, sharedGrid.err = up(cluster.Config{Nodes: gridNodes, GridEngine: true})
	})
	require.NoError(t, sharedGrid.err)
	return at(t, sharedGrid.cluster)
}

// gridJob is a batch job of Grid Engine.
type gridJob struct{ *job }

// qsub gives Grid Engine a script, with the flags that qsub gets. In the script golaunch
// is in PATH; qrsh is not.
func (s *site) qsub(script string, flags ...string) gridJob {
	s.t.Helper()
	j := gridJob{&job{site: s, file: filepath.Join(s.dir, "output")}}
	path := filepath.Join(s.dir, "script")
	require.NoError(s.t, os.WriteFile(path, []byte("#!/bin/sh\nPATH="+built+":$PATH\n"+script+"\n"), 0o755))
	argv := append([]string{"qsub", "-terse", "-j", "y", "-o", j.file, "-wd", s.dir}, flags...)
	out, err := s.head(append(argv, path)...)
	require.NoError(s.t, err, out)
	j.id = strings.TrimSpace(out)
	s.t.Cleanup(func() { _, _ = s.head("qdel", j.id) }) // it has ended, unless the test failed
	return j
}

// qdel ends the job.
func (j gridJob) qdel() {
	j.t.Helper()
	out, err := j.head("qdel", j.id)
	require.NoError(j.t, err, out)
}

// wait waits until Grid Engine has forgotten the job, and all of it has gone from every
// node.
func (j gridJob) wait() string {
	j.t.Helper()
	j.eventually("the job ends", func() bool {
		out, err := j.head("qstat")
		require.NoError(j.t, err, out)
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) > 0 && f[0] == j.id {
				return false
			}
		}
		return true
	})
	j.nothingLeft()
	return j.output()
}

// within has each rank say on which host it is, and that it has the additional group by
// which Grid Engine knows what belongs to a task of a job.
const within = `sh -c 'g=$(id -G); echo $(hostname) ${g#*65} | sed "s/ 4[0-9][0-9]$/ task/"'`

// Ranks on the hosts of the allocation, as many as their slots, within tasks of the job:
// also where the script has the only slot of its host, where qrsh starts no other.
func TestGridEngine(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	for environment, ranks := range map[string]int{"spread": 16, "mpi": 20, "single": 4} {
		t.Run(environment, func(t *testing.T) {
			t.Parallel()
			j := at(t, s.Cluster).qsub("cut -d' ' -f2 $PE_HOSTFILE; echo allocated; golaunch -v -l "+within+"; echo status $?",
				"-pe", environment, fmt.Sprint(ranks))
			allocated, out, _ := strings.Cut(j.wait(), "allocated\n")
			require.Contains(t, out, "status 0\n")
			require.Contains(t, out, "golaunch: agents are started by sge\n")
			var slots []int
			for _, word := range strings.Fields(allocated) {
				n, err := strconv.Atoi(word)
				require.NoError(t, err)
				slots = append(slots, n)
			}
			require.GreaterOrEqual(t, len(slots), 2)
			require.Len(t, lines(out), ranks, out)
			j.onSlots(out, " task", slots)
		})
	}
}

// Nodes that let nobody in by ssh are no hindrance. Whoever asks for ssh gets that, and
// so does a job of whose tasks Grid Engine knows nothing.
func TestGridEngineOrSSH(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	out := s.qsub(`
golaunch -v --bootstrap ssh hostname; echo ssh $?
HYDRA_LAUNCHER=sge golaunch -v -l hostname; echo sge $?
golaunch --bootstrap sge -H n999 hostname; echo other $?`, "-pe", "spread", "8").wait()
	require.Contains(t, out, "ssh 125\n")
	require.Contains(t, out, "sge 0\n")
	require.Len(t, lines(out), 8, out)
	require.Contains(t, out, "--bootstrap sge: -H: host n999 is not of this job's allocation\nother 2\n")

	out = at(t, s.Cluster).qsub(`
golaunch -v hostname; echo loose $?
golaunch --connect-timeout 10s --bootstrap sge hostname; echo sge $?`, "-pe", "loose", "8").wait()
	require.Contains(t, out, "golaunch: agents are started by ssh\n")
	require.Contains(t, out, "loose 125\n")
	require.Contains(t, out, "qrsh starts tasks where the parallel environment has control_slaves TRUE; --bootstrap ssh does without")
	require.Contains(t, out, "sge 125\n")
}

func TestGridEngineMPI(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	for program, packages := range map[string]string{"mpisum": "libmpich-dev mpich", "mpisum.openmpi": "openmpi-bin libopenmpi-dev"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			needBuilt(t, program, packages)
			out := at(t, s.Cluster).qsub("golaunch -l "+bin(program)+" -a; echo status $?", "-pe", "spread", "16").wait()
			require.Contains(t, out, "status 0\n", out)
			require.Equal(t, 16, strings.Count(out, ": sum 136 ok\n"), out)
		})
	}
}

// Any bytes arrive through qrsh as they were, both ways, and the exit code of a rank.
func TestGridEngineCarriesBytes(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	data := make([]byte, 3<<20)
	for i := range data {
		data[i] = byte(i * i >> 7)
	}
	in, out := filepath.Join(s.dir, "in"), filepath.Join(s.dir, "out")
	require.NoError(t, os.WriteFile(in, data, 0o644))
	j := s.qsub("golaunch -n 1 -H $(sed -n '2s/ .*//p' $PE_HOSTFILE) --bootstrap sge sh -c 'cat; exit 7' < "+in+" > "+out+"; echo status $?", "-pe", "spread", "4")
	require.Contains(t, j.wait(), "status 7\n")
	f, err := os.Open(out)
	require.NoError(t, err)
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	require.NoError(t, err)
	require.Equal(t, sha256.Sum256(data), [sha256.Size]byte(sum.Sum(nil)))
}

// tells is a rank that writes its signals into files of a directory.
const tells = `#!/bin/sh
for s in USR1 USR2 TERM; do trap "echo $s >> %[1]s/$RANK" $s; done
echo "[$RANK] up"
while :; do sleep 0.1; done
`

// qdel kills all of a job at once. With -notify ranks are told before, by SIGUSR2: by
// Grid Engine, golaunch and the agents, so more than once.
func TestQdel(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	for name, x := range map[string]struct {
		command string
		flags   []string
		want    string // in the file of each rank
	}{
		"at once": {"exec golaunch", nil, "^$"},
		"notify":  {"exec golaunch", []string{"-notify"}, "^(USR2\n)+$"},
		"script":  {"trap '' USR2; golaunch", []string{"-notify"}, "^(USR2\n)+$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := at(t, s.Cluster)
			program := filepath.Join(s.dir, "tells")
			require.NoError(t, os.WriteFile(program, fmt.Appendf(nil, tells, s.dir), 0o755))
			j := s.qsub(x.command+" "+program, append([]string{"-pe", "spread", "8"}, x.flags...)...)
			j.says("] up\n", 8)
			j.qdel()
			j.wait()
			for rank := range 8 {
				b, err := os.ReadFile(filepath.Join(s.dir, fmt.Sprint(rank)))
				if !os.IsNotExist(err) {
					require.NoError(t, err)
				}
				require.Regexp(t, x.want, string(b), "rank %d", rank)
			}
		})
	}
}

// A killed golaunch or task takes the job along, and leaves nothing.
func TestGridEngineKills(t *testing.T) {
	t.Parallel()
	s := theGrid(t)
	for words, ends := range map[string]string{"golaunch -l": "status 137\n", "qrsh -inherit": "status 125\n"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			j := at(t, s.Cluster).qsub("golaunch -l sh -c 'echo up; exec sleep 1000'; echo status $?", "-pe", "spread", "4")
			j.says("] up\n", 4)
			j.onFirst(words, syscall.SIGKILL)
			require.Contains(t, j.wait(), ends)
		})
	}
}

// onFirst signals a process of the job on the first of its nodes that has one.
func (j *job) onFirst(words string, sig syscall.Signal) {
	j.t.Helper()
	pattern := regexp.MustCompile(`(^|/|\S/)` + regexp.QuoteMeta(words))
	j.eventually(words+" is signalled", func() bool {
		for _, n := range j.Nodes() {
			for _, p := range j.processes(n.Name) {
				line := strings.Join(p.Cmdline, " ")
				ours := pattern.MatchString(line) && !strings.HasPrefix(line, "/bin/sh") && !strings.HasPrefix(line, "sh ")
				if ours {
					return p.Signal(sig) == nil
				}
			}
		}
		return false
	})
}

// A node that died before golaunch, or while ranks run.
func TestGridEngineLosesANode(t *testing.T) {
	t.Parallel()
	needGrid(t)
	s := own(t, cluster.Config{Nodes: 3, GridEngine: true})
	wait, goOn := held(s)
	j := s.qsub("golaunch -l sh -c 'echo up; exec sleep 1000'; echo later $?\n"+wait+`
golaunch --connect-timeout 15s -l hostname; echo without $?
golaunch --connect-timeout 15s --allow-dead-nodes -n 6 --map-by node -l hostname; echo allowed $?`, "-pe", "spread", "12")
	j.says("] up\n", 12)
	hosts, err := s.head("qstat", "-g", "t")
	require.NoError(t, err)
	dies := "n003"
	if strings.Contains(hosts, "all.q@n003                     MASTER") {
		dies = "n002"
	}
	require.NoError(t, s.Kill(dies))
	j.says("held", 1)
	require.Regexp(t, `(?s)host `+dies+`.*later 125\n`, j.output())
	goOn()
	j.says("allowed ", 1)
	_, rest, _ := strings.Cut(j.output(), "later 125\n")
	require.Regexp(t, `(?s)host `+dies+`.*without 125\n`, rest)
	_, rest, _ = strings.Cut(rest, "without 125\n")
	require.Contains(t, rest, "allowed 0\n")
	require.Len(t, lines(rest), 6, rest)
	j.nothingLeft()
}
