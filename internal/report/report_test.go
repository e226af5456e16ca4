package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
)

// counters of one agent, all told by n.
func counters(n uint64) report.Counters {
	var c report.Counters
	for i := range report.Resident + 3 {
		c[i] = n * uint64(i+1)
	}
	for s := range report.NumStreams {
		c.SetStream(s, report.Count{Messages: n, Bytes: 100 * n}, report.Count{Messages: 2 * n, Bytes: 1000 * n})
	}
	return c
}

// The report of a tree has the sum and the largest of every level, for every order of
// answers, and every node knows its parent and its level.
func TestCollectedUpATree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "nodes")
		parent, level := make([]int, n), make([]int, n)
		agents, sum, most := map[int]int{}, map[int]uint64{}, map[int]uint64{}
		parts := make([]report.Collected, n)
		for i := range n {
			parent[i] = int(job.NoHost)
			if i > 0 {
				parent[i] = rapid.IntRange(0, i-1).Draw(t, "parent")
				level[i] = level[parent[i]] + 1
			}
			v := rapid.Uint64Range(0, 100).Draw(t, "count")
			agents[level[i]]++
			sum[level[i]] += v
			most[level[i]] = max(most[level[i]], v)
			parts[i] = report.Collected{
				Levels: []report.Level{report.One(counters(v))},
				Nodes:  []report.Node{{Host: job.HostIndex(i), Parent: job.NoHost}},
			}
		}
		for i := n - 1; i > 0; i-- {
			parts[i].Below(job.HostIndex(parent[i]))
			parts[parent[i]].Merge(parts[i])
		}
		require.Len(t, parts[0].Levels, len(agents))
		var total uint64
		for i, l := range parts[0].Levels {
			require.Equal(t, agents[i], l.Agents)
			require.Equal(t, counters(sum[i]), l.Sum)
			require.Equal(t, counters(most[i]), l.Max)
			total += sum[i]
		}
		require.Equal(t, counters(total), func() report.Counters { all := parts[0].All(); return all.Sum }())
		require.Len(t, parts[0].Nodes, n)
		for _, node := range parts[0].Nodes {
			require.EqualValues(t, parent[node.Host], node.Parent)
			require.Equal(t, level[node.Host], node.Level)
		}
	})
}

func TestTable(t *testing.T) {
	c := report.Collected{Levels: []report.Level{report.One(counters(1))}}
	below := report.Collected{Levels: []report.Level{report.One(counters(12))}}
	below.Levels[0].Merge(report.One(counters(5)))
	below.Below(0)
	c.Merge(below)
	require.Equal(t, strings.TrimPrefix(`
agents   number  puts  gets  hits  misses  not found  evicted    bytes held        CPU s         memory
root          1     1     2     3       4          5        6           7 B         0.00            9 B
level 1       2    17    34    51      68         85      102  119 B (84 B)  0.00 (0.00)  153 B (108 B)
all           3    18    36    54      72         90      108  126 B (84 B)  0.00 (0.00)  162 B (108 B)
`, "\n"), strings.Split(c.Table(), "\n\n")[0]+"\n")
	require.Contains(t, c.Table(), "kvs      root                  1              100 B                   2            1.00 kB\n")
	require.Contains(t, c.Table(), "         level 1         17 (12)  1.70 kB (1.20 kB)             34 (24)  17.0 kB (12.0 kB)\n")

	quiet := report.Collected{Levels: []report.Level{report.One(report.Counters{})}}
	require.NotContains(t, quiet.Table(), "kvs", "streams that nobody used are left out")
	require.NotContains(t, quiet.Table(), "all", "one agent has no sum")
}

// The schema in docs has every member of the JSON, and no other.
func TestSchemaIsComplete(t *testing.T) {
	text, err := os.ReadFile(fmt.Sprintf("../../docs/report-v%d.schema.json", report.SchemaVersion))
	require.NoError(t, err)
	var schema map[string]any
	require.NoError(t, json.Unmarshal(text, &schema))
	covers(t, "report", schema, schema, reflect.TypeFor[report.Report]())
}

// covers compares the members of a Go type with those of its schema.
func covers(t *testing.T, at string, root, schema map[string]any, of reflect.Type) {
	for schema["$ref"] != nil {
		name := strings.TrimPrefix(schema["$ref"].(string), "#/$defs/")
		schema = root["$defs"].(map[string]any)[name].(map[string]any)
	}
	switch of.Kind() {
	case reflect.Pointer:
		if either := schema["anyOf"]; either != nil {
			schema = either.([]any)[0].(map[string]any)
		}
		covers(t, at, root, schema, of.Elem())
		return
	case reflect.Slice:
		require.Equal(t, "array", schema["type"], at)
		covers(t, at+"[]", root, schema["items"].(map[string]any), of.Elem())
		return
	case reflect.Map:
		for name, s := range schema["properties"].(map[string]any) {
			covers(t, at+"."+name, root, s.(map[string]any), of.Elem())
		}
		return
	case reflect.String:
		require.Equal(t, "string", schema["type"], at)
		return
	case reflect.Bool:
		require.Equal(t, "boolean", schema["type"], at)
		return
	case reflect.Struct:
	default:
		require.Contains(t, []any{"integer", "number"}, schema["type"], at)
		return
	}
	if of == reflect.TypeFor[time.Time]() {
		require.Contains(t, []any{"date-time"}, schema["format"], at)
		return
	}
	require.Equal(t, "object", schema["type"], at)
	properties := schema["properties"].(map[string]any)
	var names []string
	for _, f := range reflect.VisibleFields(of) {
		if f.Anonymous {
			continue
		}
		name := f.Tag.Get("json")
		require.NotEmpty(t, name, "%s: %s has no name", at, f.Name)
		require.Contains(t, properties, name, at)
		require.NotEmpty(t, properties[name].(map[string]any), at)
		names = append(names, name)
		covers(t, at+"."+name, root, properties[name].(map[string]any), f.Type)
	}
	for name := range properties {
		require.Contains(t, names, name, "%s: the schema has what the report has not", at)
	}
	for _, name := range schema["required"].([]any) {
		require.Contains(t, names, name, at)
	}
	require.Len(t, schema["required"], len(names), "%s: every member is always there", at)
}

func TestReportOfAJob(t *testing.T) {
	begin := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.FixedZone("east", 3600))
	r := report.Report{Begin: begin, End: begin.Add(time.Second), Phases: []report.Phase{{Name: "resolve", End: begin}}}
	c := report.Collected{
		Levels: []report.Level{report.One(counters(3))},
		Nodes:  []report.Node{{Host: 1, Parent: 0, Level: 1}, {Host: 0, Parent: job.NoHost, Counters: counters(3)}},
		Ranks: []report.Rank{
			{Rank: 1, Host: 1, Outcome: report.NotStarted},
			{Rank: 0, Host: 0, PID: 7, Outcome: report.Failed, Signal: 9, User: 1500 * time.Millisecond, Start: begin, End: begin},
		},
	}
	r.Fill(c, func(h job.HostIndex) string { return fmt.Sprint("n", h) })
	text, err := r.Encode()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.EqualValues(t, 1, got["schema"])
	require.Equal(t, "2026-01-02T02:04:05.000006Z", got["begin"])
	nodes, ranks := got["nodes"].([]any), got["ranks"].([]any)
	require.Equal(t, []any{"n0", "", "n1", "n0"}, []any{
		nodes[0].(map[string]any)["host"], nodes[0].(map[string]any)["parent"],
		nodes[1].(map[string]any)["host"], nodes[1].(map[string]any)["parent"]})
	kvs := nodes[0].(map[string]any)["streams"].(map[string]any)["kvs"].(map[string]any)
	require.Equal(t, map[string]any{"messages": 6.0, "bytes": 3000.0}, kvs["received"])
	first := ranks[0].(map[string]any)
	require.Equal(t, []any{0.0, 9.0, 1.5, "failed"}, []any{first["rank"], first["signal"], first["user_seconds"], first["outcome"]})
	require.Nil(t, ranks[1].(map[string]any)["start"])
	require.True(t, slices.IsSorted([]float64{first["rank"].(float64), ranks[1].(map[string]any)["rank"].(float64)}))
}
