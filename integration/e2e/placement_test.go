package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// dealtOut is the host of each rank: no order, hosts that come back, and two of
// six that hold none.
var dealtOut = listed{4, 1, 1, 0, 4, 2, 4, 0, 2, 2, 1, 4}

// listed is a rule that knows a host for each rank.
type listed []int

func (l listed) Place(*placement.Input) ([]placement.Run, error) {
	return placement.Fold(l), nil
}

// nodes are the nodes of the ranks: those of hosts without any come after them.
func (l listed) nodes() []int {
	hosts := slices.Compact(slices.Sorted(slices.Values(l)))
	var nodes []int
	for _, h := range l {
		nodes = append(nodes, slices.Index(hosts, h))
	}
	return nodes
}

// dealt runs argv with the ranks where dealtOut has them, on agents of this
// machine, which the test binary is as well.
func dealt(t *testing.T, stdin string, edit func(*launcher.Options), argv ...string) result {
	t.Helper()
	o := launcher.DefaultOptions()
	o.Programs.Apps = []job.App{{Argv: argv, N: 5}, {Argv: argv, N: len(dealtOut) - 5}}
	var err error
	o.Programs.Dir, err = os.Getwd()
	require.NoError(t, err)
	o.Programs.Env, o.Hosts.Nodes, o.Tree.Degree, o.Placement.Rule = os.Environ(), 6, 2, dealtOut
	if edit != nil {
		edit(&o)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	in := filepath.Join(t.TempDir(), "stdin")
	require.NoError(t, os.WriteFile(in, []byte(stdin), 0o600))
	file, err := os.Open(in)
	require.NoError(t, err)
	defer file.Close()
	var out, errs bytes.Buffer
	code := launcher.Run(ctx, o, launcher.IO{Stdin: file, Stdout: &out, Stderr: &errs})
	return result{code: code, stdout: out.String(), stderr: errs.String()}
}

// Every part of a job takes ranks in any order on hosts in any order: the launch,
// PMI's mapping, what ranks are told of their node, output and input.
func TestRanksOnAnyHost(t *testing.T) {
	r := dealt(t, "", func(o *launcher.Options) { o.Output.Label = launcher.LabelRank }, "sh", "-c", "echo $GOLAUNCH_NODEID $LOCAL_RANK $LOCAL_WORLD_SIZE $MPI_LOCALNRANKS")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
	all := dealtOut.nodes()
	for rank, node := range all {
		before, count := 0, 0
		for other, n := range all {
			if n == node {
				count++
				if other < rank {
					before++
				}
			}
		}
		require.Equal(t, []string{fmt.Sprintf("%d %d %d %d", node, before, count, count)}, r.labeled(fmt.Sprint(rank)))
	}
	r = dealt(t, "", nil, bin("pmiclient"), "-i")
	require.Zero(t, r.code, r.stderr)
	for rank := range dealtOut {
		app := 0
		if rank >= 5 {
			app = 1
		}
		require.Contains(t, r.lines(), fmt.Sprintf("rank %d info universe -1 app %d mapping "+
			"(vector,(3,1,1),(1,1,2),(0,1,1),(3,1,1),(2,2,1),(0,1,1),(2,1,2),(1,1,1),(3,1,1))", rank, app))
	}
	r = dealt(t, "", nil, bin("rankprobe"), "lines", "300")
	require.Zero(t, r.code, r.stderr)
	checkLines(t, r, len(dealtOut))

	text := strings.Repeat("line of input\n", 20_000)
	for _, to := range []launcher.StdinTarget{0, 5, launcher.StdinAll} {
		r = dealt(t, text, func(o *launcher.Options) { o.Input.Stdin = to }, bin("rankprobe"), "stdin")
		require.Zero(t, r.code, r.stderr)
		for rank := range dealtOut {
			n := 0
			if to == launcher.StdinAll || int(to) == rank {
				n = len(text)
			}
			require.Contains(t, r.stdout, fmt.Sprintf("rank %d stdin %d bytes", rank, n))
		}
	}
}

// Boards of every policy, and barriers of groups, serve ranks that are not in
// blocks.
func TestBoardsOfRanksOnAnyHost(t *testing.T) {
	for _, policy := range cache.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			for _, bytes := range []int{cache.OneRound, 0} {
				r := dealt(t, "", func(o *launcher.Options) { o.Launch.Cache, o.Launch.CacheBytes = policy, bytes },
					bin("pmiclient"), "-m", "all", "-n", "3", "-p", "2")
				require.Zero(t, r.code, r.stderr)
				require.Len(t, r.lines(), len(dealtOut))
			}
			r := dealt(t, "", func(o *launcher.Options) {
				o.Launch.Cache, o.Launch.PMIVersion = policy, "1.2"
				o.Programs.Apps = []job.App{{Argv: o.Programs.Apps[0].Argv, N: len(dealtOut)}}
			}, raw("groups")...)
			require.Zero(t, r.code, r.stderr)
			require.Len(t, r.lines(), len(dealtOut))
		})
	}
}

// The tree's service, PMGR and MPI serve them as well.
func TestServiceOfRanksOnAnyHost(t *testing.T) {
	want := fmt.Sprintf("tour of %d ranks on %d nodes: ok\n", len(dealtOut), 4)
	for _, argv := range [][]string{{bin("tour"), "100"}, {bin("tour"), "70000"}, {bin("treetour"), "3000"}} {
		r := dealt(t, "", nil, argv...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, want, r.stdout)
	}
	for _, colors := range []string{"1", "3", "100"} {
		r := dealt(t, "", nil, bin("treesplit"), colors)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, fmt.Sprintf("%d ranks on 4 nodes, %s colors: ok\n", len(dealtOut), colors), r.stdout)
	}
	for _, trees := range []string{"0", "1"} {
		for _, idle := range []bool{false, true} {
			r := dealt(t, "", func(o *launcher.Options) {
				o.Launch.PMGR, o.Hosts.Prelaunch = true, idle
				o.Programs.Env = append(o.Programs.Env, "MPIRUN_USE_TREES="+trees)
			}, bin("pmgrclient"), "-s", "3000")
			require.Zero(t, r.code, r.stderr)
			require.Len(t, r.lines(), len(dealtOut))
		}
	}
	if _, err := os.Stat(bin("mpisum")); err == nil {
		r := dealt(t, "", nil, bin("mpisum"))
		require.Zero(t, r.code, r.stderr)
	}
}

// A spawned world may have blocks of a host apart from each other, and is spawned
// by ranks that are.
func TestSpawnByRanksOnAnyHost(t *testing.T) {
	client := bin("pmiclient")
	r := dealt(t, "", func(o *launcher.Options) { o.Hosts.Prelaunch, o.Output.Label = true, launcher.LabelRank },
		bin("spawnclient"), "-r", "5", "5", "--", client, "-i", "-m", "all", "+", "4", "--", client, "-m", "all")
	require.Zero(t, r.code, r.stderr)
	// Four processes of the first command go to the two idle hosts.
	require.Equal(t, "rank 0 info universe -1 app 0 mapping (vector,(0,1,1),(2,2,2),(0,4,1))", r.labeled("1.0")[0])
	for rank := range 9 {
		require.Contains(t, r.labeled(fmt.Sprintf("1.%d", rank)), fmt.Sprintf("rank %d of 9 ok", rank))
	}
}
