package mpichsuite

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/internal/results"
)

func TestParseList(t *testing.T) {
	tests, err := parseList("# none\n\nspawn1 1\ntaskmanager 2 timeLimit=600 arg=-v\n", "", 30*time.Second)
	require.NoError(t, err)
	require.Len(t, tests, 2)
	require.Equal(t, "spawn1 1", tests[0].name)
	require.Equal(t, []string{"./spawn1"}, tests[0].argv)
	require.Equal(t, 30*time.Second, tests[0].limit)
	require.Equal(t, "taskmanager 2", tests[1].name)
	require.Equal(t, 2, tests[1].ranks)
	require.Equal(t, []string{"./taskmanager", "-v"}, tests[1].argv)
	require.Equal(t, 100*time.Second, tests[1].limit)

	tests, err = parseList("spawn1 1\nspawn2 1\n", "spawn2", time.Minute)
	require.NoError(t, err)
	require.Len(t, tests, 1)
	_, err = parseList("spawn1 1\n", "spwan", time.Minute)
	require.EqualError(t, err, `-only "spwan": no line of the list of tests begins so`)
	for _, wrong := range []string{"spawn1", "spawn1 x", "spawn1 0", "spawn1 1 timeLimit=x", "spawn1 1 xfail=t"} {
		_, err := parseList(wrong, "", time.Minute)
		require.ErrorContains(t, err, "list of tests: \""+wrong+"\": ")
	}
}

func TestJudges(t *testing.T) {
	require.Empty(t, noErrors(" No Errors\n", 0))
	require.Contains(t, noErrors(" No Errors\n", 1), "exit status 1")
	require.NotEmpty(t, noErrors("No Errors\n No Errors\n", 0))
	require.NotEmpty(t, noErrors("", 0))
	require.Empty(t, noErrors("[mpiexec@head] WARNING: too many ssh connections\n No Errors\n", 0))

	judge := ours("p", time.Minute)[0].judge
	require.Empty(t, judge("rank 0: refused\nrank 2: refused\ngolaunch: spawn by rank 0\nrank 1: refused\n", 0))
	require.NotEmpty(t, judge("rank 0: refused\nrank 1: refused\nrank 2: not refused\n", 0))
	require.NotEmpty(t, judge("rank 0: refused\nrank 1: refused\nrank 2: refused\n", 1))
}

func TestPage(t *testing.T) {
	one, two := way{name: "one"}, way{name: "Hydra", hydra: true}
	tried := []trial{
		{test{name: "a 1"}, one, "", time.Second},
		{test{name: "a 1"}, two, "hung", 3 * time.Second},
		{test{name: "b 2"}, one, "", time.Second},
		{test{name: "parts", ours: true}, one, "", 2 * time.Second},
	}
	text := page(results.NewFlags("mpichsuite", "-limit", "1m").Frame, tried)
	require.Contains(t, text, "\tmake build bin/bench && bin/bench mpichsuite -limit 1m\n")
	require.Contains(t, text, `| program | one | Hydra |
|---|---|---|
| a 1 | passed, 1.0 s | **failed**, 3.0 s |
| b 2 | passed, 1.0 s | – |
| passed | **2 of 2** | **0 of 1** |
`)
	require.Contains(t, text, "| program | one |\n|---|---|\n| parts | passed, 2.0 s |\n| passed | **1 of 1** |\n")
	require.Equal(t, 1, strings.Count(text, "Hydra |"))
	require.NoError(t, verdict(tried))
	tried[2].fault = "aborted"
	require.EqualError(t, verdict(tried), "golaunch: 1 runs failed")
}
