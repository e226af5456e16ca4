package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/pingpong"
)

// measured runs topo measure, with the output of its ranks and their job's exit status.
func measured(t *testing.T, printed string, status int, args ...string) (code int, out, errs string, o launcher.Options) {
	t.Helper()
	var stdout, stderr strings.Builder
	launch := func(_ context.Context, options launcher.Options, stdio launcher.IO) int {
		o = options
		assert.Nil(t, stdio.Stdin)
		fmt.Fprint(stdio.Stdout, printed)
		return status
	}
	code = run(t.Context(), append([]string{"topo", "measure"}, args...), launcher.IO{Stdout: &stdout, Stderr: &stderr}, launch)
	return code, stdout.String(), stderr.String(), o
}

const ranksPrint = `{"from":"0","to":"1","test":"ping-pong","bytes":0,"us":2}
{"from":"0","to":"1","test":"ping-pong","bytes":1000,"us":3}
`

// The ranks are on the hosts that the network has of the allocation, each on one,
// and start as variables say, but for those that would have their lines elsewhere.
func TestMeasureStartsRanks(t *testing.T) {
	for name, value := range map[string]string{
		"SLURM_JOB_NODELIST": "h[0,5],far", "SLURM_TASKS_PER_NODE": "4(x3)", "GOLAUNCH_SSH_CONFIG": "conf",
		"GOLAUNCH_LABEL": "true", "GOLAUNCH_DRY_RUN": "true", "GOLAUNCH_ALLOW_DEAD_NODES": "true", "GOLAUNCH_OUT": "file",
		"GOLAUNCH_SPARES": "1", "GOLAUNCH_PRELAUNCH": "true", "GOLAUNCH_NODES": "3", "GOLAUNCH_HOSTS": "x,y", "GOLAUNCH_HOSTFILE": "/no/such/file",
		"GOLAUNCH_ERR": "file", "GOLAUNCH_REPORT": "-", "GOLAUNCH_TRACE": "file", "GOLAUNCH_KEEP_GOING": "true", "GOLAUNCH_NP": "7", "GOLAUNCH_PPN": "7", "GOLAUNCH_TOPOLOGY": "torus:2x2",
		"GOLAUNCH_MPI": "list", "GOLAUNCH_MAP_BY": "slot", "GOLAUNCH_METIS_FILE": "/no/such/file",
	} {
		t.Setenv(name, value)
	}
	code, out, errs, o := measured(t, ranksPrint, 0, "--topology", "torus:4x4")
	require.Zero(t, code, errs)
	assert.Contains(t, errs, "1 of 3 hosts are not in the network")
	assert.Equal(t, "  hops       test  pairs  latency us  bandwidth MB/s      r2\n     3  ping-pong      1        2.00         1000.00  1.0000\n", out)
	assert.Equal(t, []string{"h0", "h5"}, hostNames(o.Hosts.List))
	require.Len(t, o.Programs.Apps, 1)
	assert.Equal(t, []string{pingpong.Word, "0-1", "h0", "h5"}, o.Programs.Apps[0].Argv[1:])
	assert.Equal(t, []string{o.Programs.Apps[0].Argv[0]}, o.Boot.Stage)
	assert.Equal(t, []any{2, 1, "conf"}, []any{o.Programs.Apps[0].N, o.Placement.PPN, o.Boot.Values["ssh-config"]})
	assert.Equal(t, []any{"", false, false, "", "", "file"}, []any{o.Output.Label, o.Report.DryRun, o.Hosts.AllowDeadNodes, o.Output.OutPattern, o.Report.File, o.Report.TraceFile})
	require.NoError(t, o.Validate())
	plan, err := launcher.NewPlan(&o, "here")
	require.NoError(t, err)
	require.Equal(t, launcher.Blocks{{First: 0, Count: 1, Host: 0}, {First: 1, Count: 1, Host: 1}}, plan.Blocks)
}

// Times that do not grow with the size have no bandwidth, and the table says so.
func TestMeasureWithoutBandwidth(t *testing.T) {
	flat := strings.Replace(ranksPrint, `"us":3`, `"us":2`, 1)
	code, out, errs, _ := measured(t, flat, 0, "-H", "a,b")
	require.Zero(t, code, errs)
	assert.Equal(t, "  hops       test  pairs  latency us  bandwidth MB/s      r2\n   all  ping-pong      1        2.00            none  1.0000\nnone: the times do not grow with the size of messages\n", out)
	_, out, _, _ = measured(t, flat, 0, "-H", "a,b", "--format", "json")
	assert.NotContains(t, out, "bandwidth")
}

// A job that fails gives its reason itself; other output of ranks is an error.
func TestMeasureFails(t *testing.T) {
	code, out, errs, _ := measured(t, ranksPrint, 125, "-H", "a,b")
	assert.Equal(t, []any{125, "", ""}, []any{code, out, errs})
	for printed, want := range map[string]string{
		"":                               "what the ranks print is wrong: EOF",
		"hello\n":                        "what the ranks print is wrong: invalid character",
		strings.Repeat(ranksPrint, 1000): "what the ranks print is wrong: it is more than 65536 bytes for 1 pair",
		`{"from":"0","to":"2","test":"ping-pong","bytes":0,"us":2}`:  `what the ranks print is wrong: rank "2"`,
		`{"from":"0","to":"1","test":"ping-pong","bytes":-1,"us":2}`: "what the ranks print is wrong: message of -1 bytes",
	} {
		code, out, errs, _ = measured(t, printed, 0, "-H", "a,b")
		assert.Equal(t, []any{2, ""}, []any{code, out})
		assert.Contains(t, errs, want)
	}
}
