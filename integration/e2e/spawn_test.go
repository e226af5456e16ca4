package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
)

// four are flags for a tree of four nodes of this machine, all with agents.
func four(args ...string) []string {
	return append([]string{"-l", "--nodes", "4", "--prelaunch", "--degree", "2"}, args...)
}

// labeled returns the lines of r's output with a label, without it.
func (r result) labeled(label string) []string {
	var found []string
	for _, l := range r.lines() {
		if text, ok := strings.CutPrefix(l, "["+label+"] "); ok {
			found = append(found, text)
		}
	}
	return found
}

func TestSpawn(t *testing.T) {
	client := bin("spawnclient")
	for name, c := range map[string]struct {
		args []string // after golaunch's
		want map[string][]string
	}{
		"arguments and preput": {
			[]string{"-n", "2", client, "-k", "PARENT_ROOT_PORT_NAME=tag#0 port=1", "3", "--", client, "-g", "PARENT_ROOT_PORT_NAME", "-G", "PARENT_ROOT_PORT_NAME", "two words", ""},
			map[string][]string{
				"0":   {"rank 0 of 2 app 0 spawned 0 mapping (vector,(0,2,1))", "rc=0"},
				"1.0": {"rank 0 of 3 app 0 spawned 1 mapping (vector,(0,3,1)) hello two words ", "PARENT_ROOT_PORT_NAME is tag#0 port=1", "PARENT_ROOT_PORT_NAME is own"},
				"1.2": {"rank 2 of 3 app 0 spawned 1 mapping (vector,(0,3,1)) hello two words ", "PARENT_ROOT_PORT_NAME is tag#0 port=1", "PARENT_ROOT_PORT_NAME is own"},
			},
		},
		"several commands": {
			[]string{"-n", "1", client, "1", "--", client, "a", "+", "2", "--", client, "b"},
			map[string][]string{
				"1.0": {"rank 0 of 3 app 0 spawned 1 mapping (vector,(0,3,1)) hello a"},
				"1.1": {"rank 1 of 3 app 1 spawned 1 mapping (vector,(0,3,1)) hello b"},
				"1.2": {"rank 2 of 3 app 1 spawned 1 mapping (vector,(0,3,1)) hello b"},
			},
		},
		"nested, by another rank": {
			[]string{"-n", "2", client, "-r", "1", "2", "--", client, "-r", "1", "1", "--", client, "1", "--", client, "deep"},
			map[string][]string{
				"1":   {"rank 1 of 2 app 0 spawned 0 mapping (vector,(0,2,1))", "rc=0"},
				"1.1": {"rank 1 of 2 app 0 spawned 1 mapping (vector,(0,2,1))", "rc=0"},
				"2.0": {"rank 0 of 1 app 0 spawned 1 mapping (vector,(0,1,1))", "rc=0"},
				"3.0": {"rank 0 of 1 app 0 spawned 1 mapping (vector,(0,1,1)) hello deep"},
			},
		},
		"names of other worlds": {
			[]string{"-n", "1", client, "-P", "one", "1", "--", client, "-L", "one", "-P", "two", "1", "--", client, "-L", "two"},
			map[string][]string{
				"1.0": {"rank 0 of 1 app 0 spawned 1 mapping (vector,(0,1,1))", "one is published at:one", "rc=0"},
				"2.0": {"rank 0 of 1 app 0 spawned 1 mapping (vector,(0,1,1))", "two is published at:two"},
			},
		},
		"programs that know nothing of PMI": {
			[]string{"-n", "1", client, "2", "wdir=/", "path=/usr/bin:/bin", "--", "sh", "-c", "pwd; echo $PMI_RANK of $PMI_SIZE; cat"},
			map[string][]string{"1.0": {"/", "0 of 2"}, "1.1": {"/", "1 of 2"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := local(t, "", four(c.args...)...)
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			for label, want := range c.want {
				require.Equal(t, want, r.labeled(label), "%s in %s", label, r.stdout)
			}
		})
	}
}

// A spawn that cannot be is answered and explained, and the job goes on.
func TestSpawnThatIsRefused(t *testing.T) {
	client := bin("spawnclient")
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		flags   []string
		spawn   []string
		reply   string // to the rank, as far as it is always the same
		message string
	}{
		"no slots": {[]string{"-H", host + ":3"}, []string{"3", "--", client}, "rc=1 msg=not_enough_free_slots",
			"spawn by rank 0 on .*: not enough free slots: 3 processes of .*, 2 free slots on 1 host; .*--oversubscribe"},
		"unknown host":    {nil, []string{"1", "host=elsewhere", "--", client}, "rc=1 msg=host_elsewhere", "host elsewhere is not one of the job's"},
		"no host file":    {nil, []string{"1", "hostfile=/no/such", "--", client}, "rc=1 msg=host_file_/no/such", "spawn by rank 0 on .*: host file /no/such on the rank's host: no such file or directory"},
		"no such program": {nil, []string{"2", "--", "/no/such"}, "rc=1 msg=2_processes_were_not_started", "program not found: /no/such"},
		"one program of two": {[]string{"--nodes", "2", "--prelaunch"}, []string{"2", "--", "sh", "-c", "sleep 1000", "+", "1", "--", "/no/such"},
			"rc=1 msg=1_process_was_not_started", "1 process was not started: on .*: program not found: /no/such"},
		"no such directory": {nil, []string{"1", "wdir=/no/such", "--", client}, "rc=1 msg=1_process_was_not_started", "/no/such"},
		"a preput too long": {nil, []string{"-k", "key=" + strings.Repeat("v", 1024), "1", "--", client}, "rc=1 msg=preput:_value_longer_than_1023_bytes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"-n", "1"}, c.flags...)
			r := local(t, "", append(append(args, client), c.spawn...)...)
			require.Zero(t, r.code, r.stderr)
			require.Len(t, r.lines(), 2, r.stdout)
			require.Regexp(t, "^"+regexp.QuoteMeta(c.reply), r.lines()[1])
			require.Regexp(t, c.message, r.stderr)
		})
	}
	r := local(t, "", "-n", "1", client, "1", "--", "sh", "-c", "exit 0", "+", "2", "--", "/no/such")
	require.Zero(t, r.code, r.stderr)
	require.Regexp(t, " errcodes=0,127,127$", r.lines()[1])
	r = local(t, "", "-n", "2", client, "-x", "9", "1", "--", "/no/such")
	require.Equal(t, 9, r.code, "the program decides")
	require.Contains(t, r.stderr, "called abort with code 9")
}

// In MPICH's ch3 the parents beside the one that asked learn of a refusal by error
// codes or not at all; elsewhere, and where there are none, the request fails.
func TestSpawnThatIsRefusedToSeveralParents(t *testing.T) {
	client := bin("spawnclient")
	host, err := os.Hostname()
	require.NoError(t, err)
	const ch3, ch4 = "PARENT_ROOT_PORT_NAME=tag#0$description#n$port#1$ifname#127.0.0.1$", "PARENT_ROOT_PORT_NAME=tag#0$connentry#00$"
	for name, c := range map[string]struct {
		args  []string
		reply string
		waits bool // the user is told what may be waiting now
	}{
		"no such program":   {[]string{"-n", "2", client, "-k", ch3, "2", "--", "/no/such"}, "rc=0 errcodes=127,127", true},
		"one of two":        {[]string{"-n", "2", client, "-k", ch3, "1", "--", "true", "+", "1", "--", "/no/such"}, "rc=0 errcodes=1,127", true},
		"no slots":          {[]string{"-H", host + ":3", "-n", "2", client, "-r", "1", "-k", ch3, "2", "--", client}, "rc=0 errcodes=1,1", true},
		"one parent":        {[]string{"-n", "1", client, "-k", ch3, "2", "--", "/no/such"}, "rc=1 msg=", false},
		"ch4":               {[]string{"-n", "2", client, "-k", ch4, "2", "--", "/no/such"}, "rc=1 msg=", false},
		"more than fit":     {[]string{"-H", host + ":3", "-n", "2", client, "-k", ch3, "497", "--", client}, "rc=1 msg=not_enough_free_slots", true},
		"a spawned world's": {[]string{"-n", "1", client, "2", "--", client, "-k", ch3, "1", "--", "/no/such"}, "rc=0 errcodes=127", true},
	} {
		t.Run(name, func(t *testing.T) {
			r := local(t, "", c.args...)
			require.Zero(t, r.code, r.stderr)
			require.Contains(t, r.stdout, "\n"+c.reply)
			require.Equal(t, c.waits, strings.Contains(r.stderr, "(MPI_ERRCODES_IGNORE)"), r.stderr)
		})
	}
}

// A rank that waits for its new world all the same is told of after a while.
func TestSilenceAfterARefusedSpawnIsTold(t *testing.T) {
	cmd := exec.Command(bin("golaunch"), "-q", "-n", "2", "--nodes", "2", "--stall-after", "300ms", bin("spawnclient"), "-r", "1", "-s",
		"-k", "PARENT_ROOT_PORT_NAME=tag#0$description#n$port#1$", "1", "--", "/no/such")
	silent := regexp.MustCompile(`^golaunch: host \S+: rank 1 has said nothing for 300ms, since its spawn of /no/such was refused \(1 process was not started: on \S+: program not found: .*\): ` +
		`if it ignores error codes \(MPI_ERRCODES_IGNORE\), it waits in MPI_Comm_spawn for ever, as MPICH's ch3 has it, and all ranks that spawn with it; pass an array of error codes, or end the job$`)
	told := false
	_, ended := hear(t, cmd, cmd, func(line string) {
		if silent.MatchString(line) {
			told = true
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		}
	})
	require.Error(t, ended)
	require.Equal(t, 143, cmd.ProcessState.ExitCode())
	require.True(t, told)
}

func TestSpawnIntoSlots(t *testing.T) {
	client := bin("spawnclient")
	host, err := os.Hostname()
	require.NoError(t, err)
	// A world's slots are free again when it has ended.
	r := local(t, "", "-q", "-H", host+":3", "-n", "1", client, "-t", "20", "-w", "2", "--", client)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 20, strings.Count(r.stdout, "rank 1 of 2 app 0 spawned 1"))
	require.Equal(t, 20, strings.Count(r.stdout, "rc=0\n"))
	// As many as fit, of what soft allows.
	r = local(t, "", "-l", "-H", host+":4", "-n", "1", client, "5", "soft=0:5:2", "--", client)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rc=0 errcodes=0,0,1,1,1", r.labeled("0")[1])
	require.Equal(t, 2, strings.Count(r.stdout, " of 2 app 0 spawned 1"))
	r = local(t, "", "-H", host+":1", "--oversubscribe", "-n", "1", client, "3", "--", client)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 3, strings.Count(r.stdout, " of 3 app 0 spawned 1"))
}

func TestSpawnOnNamedHosts(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	hosts := filepath.Join(t.TempDir(), "hosts")
	require.NoError(t, os.WriteFile(hosts, []byte(host+".3\n# none\n"+host+".1:7\n"), 0o600))
	for hint, nodes := range map[string][]string{
		"host=" + host + ".2":                 {"2", "2"},
		"hosts=" + host + ".3," + host + ".2": {"3", "2"},
		"host=" + host + ".[1-2]":             {"1", "2"},
		"hostfile=" + hosts:                   {"3", "1"},
	} {
		r := local(t, "", four("-n", "1", bin("spawnclient"), "2", hint, "--", "sh", "-c", "echo $GOLAUNCH_NODEID")...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, nodes, slices.Concat(r.labeled("1.0"), r.labeled("1.1")), hint)
	}
	// Relative to where the rank is by now.
	r := local(t, "", four("-n", "1", "sh", "-c", "cd "+filepath.Dir(hosts)+" && exec "+bin("spawnclient")+" 2 hostfile=hosts -- sh -c 'echo $GOLAUNCH_NODEID'")...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"3", "1"}, slices.Concat(r.labeled("1.0"), r.labeled("1.1")))
}

// A host file is one of the rank's node, which golaunch cannot read where it runs;
// nothing of a file is told to the rank or the user but whether it names hosts of
// the job.
func TestHostFilesAreTheRanks(t *testing.T) {
	const secret = "hidden"
	c := theCluster(t)
	spawn := func(text string) result {
		write := fmt.Sprintf("test $PMI_RANK = 0 || exit 0; printf '"+text+"' > /run/hosts-of-the-rank && exec %s 1 hostfile=/run/hosts-of-the-rank -- true", bin("spawnclient"))
		return over(t, c, 3, "-n", "1", "--prelaunch", "sh", "-c", write)
	}
	r := spawn("n003\\n")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rc=0", r.lines()[1])
	r = spawn(secret + ":$y$:1:::\\n")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "rc=1 msg=host_file_/run/hosts-of-the-rank_on_the_rank's_host:_line_1_is_none_of_a_host_file", r.lines()[1])
	require.NotContains(t, r.stderr, secret)
	r = spawn("n002\\n" + secret + "\\n")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.lines()[1], "rc=1 msg=host_2_of_host_file_/run/hosts-of-the-rank_is_not_one_of_the_job's")
	require.NotContains(t, r.stderr, secret)
	require.NoFileExists(t, "/run/hosts-of-the-rank", "nodes have a /run of their own")
}

// A spawn has agents started where there are none yet.
func TestSpawnOnNewHosts(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	client := bin("spawnclient")
	// By name, below agents that were started for an earlier spawn too.
	r := local(t, "", "-l", "-n", "1", "--nodes", "9", "--degree", "2", client,
		"1", "host="+host+".7", "--", client, "4", "hosts="+host+".[2-5]", "--", "sh", "-c", "echo node $GOLAUNCH_NODEID")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Equal(t, []string{"rank 0 of 1 app 0 spawned 1 mapping (vector,(0,1,1))", "rc=0"}, r.labeled("1.0"))
	for i := range 4 {
		require.Equal(t, []string{fmt.Sprintf("node %d", i+2)}, r.labeled(fmt.Sprintf("2.%d", i)), "NodeIDs go on in the order of the start")
	}
	// Files would not be there.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	r = local(t, "", "-n", "1", "--nodes", "4", "--stage", file, client, "1", "host="+host+".2", "--", "true")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "host "+host+".2 holds no rank and cannot get an agent now; start golaunch with --prelaunch")
}

// Over ssh, with keys that are opened anew; a host that is dead costs its spawn,
// or is left out.
func TestSpawnOnNewHostsOverTheNetwork(t *testing.T) {
	c := theCluster(t)
	client := bin("spawnclient")
	flags := []string{"--ssh-config", c.SSHConfig(), "--degree", "2", "--copy-agent", "-l"}
	r := onNode(t, c, cluster.Head, append(flags, "-H", "n[001-012]:2", "-n", "2", client, "18", "--", client, "4", "--", client, "deep")...)
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	require.Equal(t, 18, strings.Count(r.stdout, " of 18 app 0 spawned 1 mapping (vector,(0,9,2))\n"))
	require.Equal(t, 4, strings.Count(r.stdout, " of 4 app 0 spawned 1 mapping (vector,(0,2,2)) hello deep\n"))
	nothingLeft(t, c, firstNodes(c, 12)...)

	r = onNode(t, c, cluster.Head, append(flags, "-H", "n001:1,nowhere:1,n[002-003]:1", "-n", "1", client, "2", "--", client)...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "host nowhere: resolve: ")
	require.Equal(t, 2, strings.Count(r.stdout, " of 2 app 0 spawned 1 mapping (vector,(0,2,1))\n"))

	r = onNode(t, c, cluster.Head, append(flags, "-H", "n001,nowhere", "-n", "1", client, "1", "host=nowhere", "--", client)...)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stderr, "spawn by rank 0 on n001: host nowhere could not be started")
	nothingLeft(t, c, firstNodes(c, 3)...)
}

// Any world's failure ends the job, and is its exit status.
func TestFailureOfASpawnedWorld(t *testing.T) {
	client := bin("spawnclient")
	for script, c := range map[string]struct {
		code    int
		message string
	}{
		"exit 7":     {7, `rank 1\.0 on .* exited with code 7`},
		"kill -9 $$": {137, `rank 1\.0 on .* was killed by signal 9`},
	} {
		r := local(t, "", "-n", "1", client, "1", "--", "sh", "-c", script, "+", "1", "--", "sleep", "1000")
		require.Equal(t, c.code, r.code, r.stderr)
		require.Regexp(t, c.message, r.stderr)
	}
	r := local(t, "", "-n", "1", client, "1", "--", bin("pmiclient"), "-x", "abort:5")
	require.Equal(t, 5, r.code, r.stderr)
	require.Contains(t, r.stderr, "rank 1.0 on ")
	// So does one that is two spawns away, and one of the first world.
	r = local(t, "", "-n", "2", client, "1", "--", client, "-x", "3", "1", "--", "/no/such")
	require.Equal(t, 3, r.code, r.stderr)
	host, err := os.Hostname()
	require.NoError(t, err)
	r = local(t, "", "-H", host+":2", "-n", "1", client, "-t", "2", "-x", "4", "1", "--", "sleep", "1000")
	require.Equal(t, 4, r.code, r.stderr)
	require.Contains(t, r.stdout, "rc=0\n", "the first spawn took the only free slot")
	r = local(t, "", "--keep-going", "-n", "1", client, "1", "--", "sh", "-c", "exit 7", "+", "1", "--", "echo", "goes on")
	require.Equal(t, 7, r.code, r.stderr)
	require.Contains(t, r.stdout, "goes on\n")
}

// A world that fails after its MPI_Finalize ends no other: the next takes its slot.
func TestSpawnedWorldFailsAfterFinalize(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	client := bin("spawnclient")
	r := local(t, "", "-q", "-H", host+":2", "-n", "1", client, "-t", "3", "-w", "1", "--", "sh", "-c", client+" bye && exit 7")
	require.Equal(t, 7, r.code, r.stderr)
	require.Equal(t, 3, strings.Count(r.stdout, "rc=0\n"), r.stdout)
	require.Equal(t, 3, strings.Count(r.stdout, " hello bye\n"), r.stdout)
	require.Contains(t, r.stderr, "exited with code 7, after finalize")
}

// The loss of a node that came for a spawn is the loss of one of the job's.
func TestLossOfANewNode(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	// A rank's parent is the warden, whose parent is the agent. It is killed once golaunch knows that the rank runs.
	spawned := filepath.Join(t.TempDir(), "spawned")
	killer := "until [ -e " + spawned + " ]; do sleep 0.01; done; kill -9 $(sed -n 's/^PPid:.//p' /proc/$PPID/status); sleep 1000"
	r := local(t, "", "-n", "1", "--nodes", "3", "sh", "-c", `"$@"; : >"$0"; exec sleep 1000`, spawned,
		bin("spawnclient"), "1", "host="+host+".2", "--", "sh", "-c", killer)
	require.Equal(t, 125, r.code, r.stderr)
	require.Contains(t, r.stderr, "host "+host+".2 (rank 1.0): lost: the link to its agent broke")
}

// The job's files, ports and report for its first world serve the others too.
func TestSpawnWithFilesPortsAndReport(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	client := bin("spawnclient")
	r := local(t, "", four("-n", "1", "--stage", client, client, "2", "host="+host+".3", "--", client, "from", "here")...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"rank 1 of 2 app 0 spawned 1 mapping (vector,(0,1,2)) hello from here"}, r.labeled("1.1"))
	r = local(t, "", four("-n", "1", "--stage", client, client, "1", "host="+host+".3", "--", "sh", "-c", "ls $GOLAUNCH_STAGE_DIR")...)
	require.Equal(t, []string{"spawnclient"}, r.labeled("1.0"))

	r = local(t, "", four("-n", "1", "--pmi-port", client, "4", "--", client)...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 4, strings.Count(r.stdout, " of 4 app 0 spawned 1"))

	r, doc := reported(t, "-n", "1", "--nodes", "2", client, "-t", "2", "2", "--", client)
	require.Zero(t, r.code, r.stderr)
	var ranks []job.RankID
	for _, k := range doc.Ranks {
		ranks = append(ranks, job.RankID{World: k.World, Rank: job.Rank(k.Rank)})
		require.Equal(t, report.Succeeded, k.Outcome)
	}
	require.Equal(t, []job.RankID{{}, {World: 1}, {World: 1, Rank: 1}, {World: 2}, {World: 2, Rank: 1}}, ranks)
}

// Output of worlds after the first goes to files of their own, and keeps its
// lines.
func TestSpawnedOutput(t *testing.T) {
	dir := t.TempDir()
	r := local(t, "", "--nodes", "3", "-n", "2", "-o", filepath.Join(dir, "out.%r"), bin("spawnclient"), "3", "--", bin("rankprobe"), "lines", "300")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	var all result
	for rank := range 3 {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("out.1.%d", rank)))
		require.NoError(t, err)
		all.stdout += string(text)
	}
	checkLines(t, all, 3)
	require.FileExists(t, filepath.Join(dir, "out.0"))
}

// 64 ranks over 8 nodes spawn 64 more there, under every policy.
func TestSpawnOverTheNetwork(t *testing.T) {
	c := theCluster(t)
	client := bin("spawnclient")
	for _, policy := range cache.Policies() {
		r := onNode(t, c, cluster.Head, "-H", "n[001-008]:16", "--ssh-config", c.SSHConfig(), "-n", "64", "-N", "8", "--degree", "2", "-l", "--cache", string(policy),
			client, "-r", "63", "-k", "K=V", "16", "host=n005,n002", "--", client, "-g", "K", "+", "48", "--", client, "-g", "K")
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stderr)
		require.Len(t, r.lines(), 64+1+2*64)
		require.Equal(t, "rc=0", r.labeled("63")[1])
		require.Equal(t, 64, strings.Count(r.stdout, " of 64 app 0 spawned 0 mapping (vector,(0,8,8))\n"))
		require.Equal(t, 64, strings.Count(r.stdout, "] K is V\n"))
	}
	nothingLeft(t, c, firstNodes(c, 8)...)
}
