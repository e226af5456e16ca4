package page_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/report/page"
)

// Kinds of files are told by what is in them, and what is none is refused by name.
func TestKindsOfFiles(t *testing.T) {
	trace, rep := traced(t, 2, 2)
	in := read(t, "1", text(t, newRecorded(4, 2)), "2", trace, "3", rep, "4", stages, "5", swept, "6", connected)
	p := made(t, in, nil)
	var kinds, about []string
	for _, s := range p.Sources {
		kinds, about = append(kinds, s.Kind), append(about, s.About)
	}
	require.Equal(t, []string{"profile", "trace", "run report", "costs of golaunch netsim", "costs of golaunch netsim", "connections of golaunch xrcsim"}, kinds)
	require.Equal(t, []string{
		"4 ranks on 2 nodes, 2026-05-04 03:02:01 UTC, MPICH 4.0.2: ./app -n 64", about[1],
		"4 ranks on 2 nodes, 2026-05-04 03:02:01 UTC", "binomial, 8 ranks, torus:2x2x2", "recursive-doubling, 3 rows, torus:4x4x4", "2 lines, 4 points"}, about)
	require.Equal(t, "1, 2 and 4 more", p.Title)
}

func TestFilesThatAreRefused(t *testing.T) {
	const expected = "golaunch report shows profiles (--profile), run reports (--report), traces (--trace), and what golaunch netsim and golaunch xrcsim print with --format json"
	trace, rep := traced(t, 1, 1)
	good := newRecorded(4, 2)
	good.Worlds[0].Sent = [][]int64{{0, 9, 1, 1}}
	for content, want := range map[string]string{
		"":                      "the file is empty",
		"  ":                    "the file is empty",
		"hosts: n1":             "f:1: invalid character 'h' looking for beginning of value",
		"{}":                    "an empty document; " + expected,
		"[]":                    "an empty document; " + expected,
		"7":                     "an empty document; " + expected,
		`{"format":"other"}`:    `its format is "other"; ` + expected,
		`{"a":1,"b":2}`:         `a document with "a" and "b", of no known kind; ` + expected,
		"{\"a\":1,\n\"b\":[2,}": "f:2: invalid character '}' looking for beginning of value",
		`{"version":1,"algorithm":"ring","ranks":4,"size_bytes":1,"stages":[]}`:     "it is a schedule of golaunch netsim export, which has no costs; give what netsim run or sweep print with --format json",
		strings.Replace(rep, `"schema": 1`, `"schema": 9`, 1):                       "schema 9 of a run report; this golaunch knows 1",
		strings.Replace(rep, `"degree": 8`, `"degree": "x"`, 1):                     "degree is a string, which is not expected there",
		strings.Replace(trace, `"schema":1`, `"schema":2`, 1):                       "otherData.schema is 2; this golaunch knows traces of its own with schema 1",
		strings.Replace(trace, `"dur":3000`, `"dur":-3000`, 1):                      "a negative number, or a time that cannot be",
		strings.Replace(stages, `"model_seconds":1.7e-05`, `"model_seconds":-1`, 1): "a cost, a size or a number of ranks is negative",
		strings.Replace(connected, `"version":1`, `"version":3`, 1):                 "version 3 of golaunch-xrcsim; this golaunch knows 1",
		strings.Replace(connected, `"average":56`, `"average":-56`, 1):              "a number of a point is negative",
		text(t, good): "rank 9: there are ranks 0 to 3",
		rep[:200]:     "f:",
	} {
		err := (&page.Inputs{}).Read(strings.NewReader(content), "f")
		require.ErrorContains(t, err, want)
		require.Equal(t, "f:", err.Error()[:2], "the file is named once: %v", err)
		require.NotContains(t, err.Error()[2:], "f: f")
	}
	in := read(t, "a", text(t, newRecorded(2, 1)), "b", text(t, newRecorded(2, 1)))
	require.EqualError(t, in.Read(strings.NewReader(text(t, newRecorded(2, 1))), "c"), "c: a profile is one too many; a page has at most 2")
}

// Profiles tell what they lack, and collective operations become messages.
func TestNotesOfProfiles(t *testing.T) {
	r := newRecorded(4, 2)
	w := &r.Worlds[0]
	w.Missing, w.Unfinished, w.Dropped = []int{1}, []int{2, 3}, 5
	w.Outside = [][]int64{{0, 2, 3000}}
	w.Communicators = []any{map[string]any{"size": 4, "ranks": [][]int{{0, 4, 1}}}}
	w.Collectives = []any{
		map[string]any{"call": "MPI_Bcast", "communicator": 0, "root": 0, "calls": 10, "bytes": 10000, "nanoseconds": 0, "in_sent": false},
		map[string]any{"call": "MPI_Barrier", "communicator": 0, "root": -1, "calls": 3, "bytes": 0, "nanoseconds": 0, "in_sent": false},
	}
	p := made(t, read(t, "a", text(t, r)), nil)
	require.Equal(t, []string{
		"1 rank of 4 without a profile: their messages are not here",
		"2 ranks ended without MPI_Finalize: their numbers are those up to their end",
		"5 calls of collective operations found no room in the tables of their ranks",
		"3 kB went to other worlds, and are not drawn",
		"collective operations are drawn as the messages of these algorithms: MPI_Bcast: broadcast/2-nomial",
	}, p.Runs[0].Notes)
	require.Equal(t, [][]string{{"MPI_Bcast", "by an algorithm", "4", "0", "10", "10 kB"}, {"MPI_Barrier", "no bytes", "4", "–", "3", "0 B"}}, p.Runs[0].Tables[0].Rows)
	require.Contains(t, p.Levels.Summary, "sent 30 kB in 30 messages")

	plain := &page.Inputs{Plain: true}
	require.NoError(t, plain.Read(strings.NewReader(text(t, r)), "a"))
	require.Contains(t, made(t, plain, nil).Levels.Summary, "sent nothing")
}

// Tables of the run report, the trace and the simulations.
func TestTablesOfJobs(t *testing.T) {
	trace, rep := traced(t, 2, 2)
	p := made(t, read(t, "job.trace", trace, "job.report", rep, "n", stages, "s", swept, "x", connected), nil)
	s := p.Startups[0]
	require.Equal(t, "job.report: 4 ranks on 2 nodes, agents up after 610 ms, ranks started after 905 ms, over after 12.4 s with status 0.", s.Summary)
	require.Equal(t, []string{"agents up", "140 ms", "470 ms", "610 ms"}, s.Table.Rows[2])
	require.Equal(t, [][]string{{"program", "./app -n 64, 4 ranks"}, {"began", "2026-05-04 03:02:01 UTC"}, {"took", "12.4 s"}, {"exit status", "0"},
		{"tree", "2 nodes, degree 8, by ssh"}, {"ranks", "4 succeeded"}, {"processor time of all ranks", "45.2 s"}, {"most memory of a rank", "94.4 MB"}}, s.Facts.Rows)
	require.Nil(t, s.Failures)

	line := p.Times[0]
	require.Equal(t, []string{"golaunch", "h0", "h1"}, line.Nodes)
	require.Equal(t, []string{"connect", "phases", "1", "3 ms", "137 ms", "137 ms", "golaunch"}, line.Table.Rows[2])
	require.Empty(t, line.Note)

	var titles []string
	for _, c := range p.Charts {
		titles = append(titles, c.Title)
		require.NotEmpty(t, c.Summary)
		require.NotEmpty(t, c.Table.Rows)
	}
	require.Equal(t, []string{"Time by stage: binomial, 8 ranks, 65.5 kB", "Busiest link by stage: binomial, 8 ranks, 65.5 kB", "Queue pairs of a process",
		"Queue pairs of a node", "Memory of a process", "Time by size in bytes"}, titles)
	require.Equal(t, []string{"2", "4", "33 µs", "67 µs", "66 µs"}, p.Charts[0].Table.Rows[2])
	require.Equal(t, "x: 2 lines. Most have RC, alltoall, 8 per node at 512 ranks: 504 on average.", p.Charts[2].Summary)
	require.Equal(t, [][2]float64{{1024, 8.1}, {65536, 153}, {1048576, 2360}}, p.Charts[5].Series[0].Points)
}

// Whatever a file holds, it is refused with its name or becomes a page.
func FuzzRead(f *testing.F) {
	trace, rep := traced(f, 2, 2)
	r := newRecorded(4, 2)
	r.Worlds[0].Sent = [][]int64{{0, 1, 2, 3}, {3, 0, 1, 1 << 50}}
	for _, seed := range []string{"", "{}", "[]", `[{"algorithm":"a","total":{}}]`, `{"format":1}`, trace, rep, stages, swept, connected, text(f, r)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &page.Inputs{}
		if err := in.Read(strings.NewReader(string(data)), "a file"); err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "a file"), err.Error())
			return
		}
		p := made(t, in, nil)
		_, err := json.Marshal(p)
		require.NoError(t, err)
		for _, run := range p.Runs {
			for _, g := range run.Grains {
				p.Decoded(g)
			}
		}
	})
}
