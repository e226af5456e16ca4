package tii

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

func TestParseQuery(t *testing.T) {
	for line, want := range map[string]Query{
		"query a:b":            {Word: "query", From: "a", Hosts: "b"},
		" query  a:b,c[1-3]\t": {Word: "query", From: "a", Hosts: "b,c[1-3]"},
		"query a:*":            {Word: "query", From: "a", Hosts: "*"},
		"depth":                {Word: "depth"},
		"clusters 2 *":         {Word: "clusters", Depth: 2, Hosts: "*"},
		"cluster 1 a,b":        {Word: "cluster", Depth: 1, Hosts: "a,b"},
		"matrix n[1-4]":        {Word: "matrix", Hosts: "n[1-4]"},
	} {
		got, err := ParseQuery(line)
		require.NoError(t, err, line)
		assert.Equal(t, want, got, line)
	}
	for line, want := range map[string]string{
		"":                             `"": expected one of query, depth, clusters, cluster, matrix, sharing, leaf, network`,
		"GET / HTTP/1.1":               `"GET": expected one of query, depth, clusters, cluster, matrix, sharing, leaf, network`,
		"query a":                      `"a": expected two hosts, such as query n001:n002`,
		"query :b":                     `":b": expected two hosts, such as query n001:n002`,
		"query a:":                     `query: expected hosts behind it, such as n[001-128]`,
		"query a:b c":                  `"query a:b c": expected no more words`,
		"depth 3":                      `"depth 3": expected no more words`,
		"clusters x a":                 `"x": expected a depth, from 1`,
		"cluster 0 a":                  `"0": expected a depth, from 1`,
		"cluster 1":                    `cluster: expected hosts behind it, such as n[001-128]`,
		"leaf":                         `leaf: expected hosts behind it, such as n[001-128]`,
		"depth\x00":                    `a byte that is no printable character: expected a line of text`,
		strings.Repeat("x", MaxLine+1): `a query of 65537 bytes: expected at most 65536`,
		strings.Repeat("x", 100):       `"` + strings.Repeat("x", 80) + `...": expected one of query, depth, clusters, cluster, matrix, sharing, leaf, network`,
	} {
		_, err := ParseQuery(line)
		assert.EqualError(t, err, want, line)
	}
}

func FuzzParseQuery(f *testing.F) {
	for _, line := range []string{"query i101-101:i102-201", "query a:b,c", "depth", "clusters 2 *", "cluster 1 n[1-3]", "\xff:", "query a:\t:b"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		q, err := ParseQuery(line)
		if err != nil {
			if len(err.Error()) > 600 {
				t.Fatalf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		again, err := ParseQuery(q.String())
		if err != nil || again != q {
			t.Fatalf("%q: %+v became %q: %+v, %v", line, q, q.String(), again, err)
		}
	})
}

// answer returns a service's answer, an error as one line.
func answer(t *testing.T, s *Service, line string) string {
	t.Helper()
	q, err := ParseQuery(line)
	require.NoError(t, err)
	lines, err := s.Answer(q)
	if err != nil {
		return "error: " + err.Error()
	}
	return strings.Join(lines, "\n")
}

func TestAnswers(t *testing.T) {
	const path = "../../topology/ibnet/testdata/pgft_16.opensm-subnet.lst"
	fabric, err := ibnet.SubnetList(filestest.Open(t, path), path)
	require.NoError(t, err)
	s := NewService(discover(t, fabric.Graph), topology.Serial)
	for _, test := range [][2]string{
		{"query h0000:h0001", "h0000_HCA-1 0x0002c90201000004 h0001_HCA-1"},
		{"query H0000.example.org:h0000", "h0000_HCA-1 h0000_HCA-1"},
		{"query h0000:h0099", `error: host "h0099" is not in the network`},
		{"query h0099:h0000", `error: host "h0099" is not in the network`},
		{"query h0000:h000[1-2]", "routes 2\nh0000_HCA-1 0x0002c90201000004 h0001_HCA-1\nh0000_HCA-1 0x0002c90201000004 h0002_HCA-1"},
		{"depth", "depth 2"},
		{"clusters 2 h000[0-7]", "clusters 2"},
		{"matrix h0000,h0001,h0004", "matrix 3\nh0000_HCA-1 0 1 3\nh0001_HCA-1 1 0 3\nh0004_HCA-1 3 3 0"},
		{"leaf *", "leaf 4.000 switches 4 balance 1.000"},
	} {
		assert.Equal(t, test[1], answer(t, s, test[0]), test[0])
	}
	route := strings.Fields(answer(t, s, "query h0000:h0004"))
	assert.Len(t, route, 5, "%v", route)
	clusters := strings.Split(answer(t, s, "cluster 2 h0000,h0003,h0004"), "\n")
	require.Len(t, clusters, 3)
	id := func(line string) string { return line[strings.LastIndex(line, " "):] }
	assert.Equal(t, id(clusters[0]), id(clusters[1]))
	assert.NotEqual(t, id(clusters[0]), id(clusters[2]))
	assert.Equal(t, 17, len(strings.Split(answer(t, s, "query h0000:*"), "\n")))
	assert.Regexp(t, `^network [0-9a-f]{16} hosts 16 switches 6 cables 32$`, answer(t, s, "network"))
}

func TestUnreachable(t *testing.T) {
	g := network(t, "fattree:2,2/1,1/1,1").Graph()
	s := NewService(discover(t, g.Without(func(cable int) bool { return g.Cable(cable).A.Node == 3 || g.Cable(cable).B.Node == 3 })), topology.Serial)
	assert.Equal(t, "error: no route from h0 to h3: h0 has no way on", answer(t, s, "query h0:h3"))
	assert.Equal(t, "routes 2\nh0 s0 s2 s1 h2\nh0 unreachable h3", answer(t, s, "query h0:h2,h3"))
	assert.Equal(t, "matrix 2\nh0 0 -\nh3 - 0", answer(t, s, "matrix h0,h3"))
}

func TestLargeMatrix(t *testing.T) {
	s := NewService(network(t, "fattree:4/1/1"), topology.Serial)
	s.most = 3
	assert.Equal(t, "error: a matrix of 4 hosts: expected at most 3", answer(t, s, "matrix *"))
	assert.Equal(t, "matrix 3\nh0 0 1 1\nh1 1 0 1\nh2 1 1 0", answer(t, s, "matrix h[0-2]"))
}

// A name finds the host that a host file's finds, and never another machine.
func TestNames(t *testing.T) {
	g, err := network(t, "fattree:8/1/1").Graph().Named([]string{"n1.a HCA-2", "n1.a HCA-1", "n2.a x", "n2.b x", "m.a", "m", "10", "n3 x"})
	require.NoError(t, err)
	s := NewService(discover(t, g), topology.Serial)
	for name, want := range map[string]topology.Node{
		"n1": 0, "N1.A": 0, "n1.a HCA-1": 1, "n2.a": 2, "n2.b": 3, "m": 5, "m.a": 4, "n3.example.org": 7,
	} {
		got, err := s.Find(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, got, name)
	}
	for name, want := range map[string]string{
		"n1.b":     `host "n1.b" is not in the network`,
		"10.0.0.1": `host "10.0.0.1" is not in the network`,
		"x":        `host "x" is not in the network`,
		"":         `host "" is not in the network`,
		"n2":       "host n2 could be n2.a or n2.b of the network; give its full name",
	} {
		_, err := s.Find(name)
		assert.EqualError(t, err, want, name)
	}
}

func TestCache(t *testing.T) {
	const text = "fattree:4,4/1,2/1,2"
	service := func() *Service { return NewService(network(t, text), topology.Serial) }
	c := NewCache(service())
	q := Query{Word: "depth"}
	_, ok := c.Get(q)
	assert.False(t, ok)
	c.Put(c.Service(), q, []string{"depth 2"})
	assert.False(t, c.Update(service()), "the same network")
	lines, ok := c.Get(q)
	assert.True(t, ok)
	assert.Equal(t, []string{"depth 2"}, lines)
	old := c.Service()
	assert.True(t, c.Update(NewService(network(t, "fattree:4,4/1,4/1,1"), topology.Serial)))
	_, ok = c.Get(q)
	assert.False(t, ok, "of the network before")
	c.Put(old, q, []string{"depth 2"})
	_, ok = c.Get(q)
	assert.False(t, ok, "an answer that came late")
}

// A cable that no route goes by is counted in an answer, too.
func TestCacheCountsCables(t *testing.T) {
	service := func(loopbacks int) *Service {
		b, err := topology.NewBuilder(2, 1)
		require.NoError(t, err)
		at := func(node topology.Node, port int) topology.End { return topology.End{Node: node, Port: int32(port)} }
		for host := range 2 {
			b.Cable(topology.Cable{A: at(topology.Node(host), 1), B: at(b.Switch(0), host+1)})
		}
		for i := range loopbacks {
			b.Cable(topology.Cable{A: at(b.Switch(0), 3+2*i), B: at(b.Switch(0), 4+2*i)})
		}
		g, err := b.Build()
		require.NoError(t, err)
		return NewService(discover(t, g), topology.Serial)
	}
	c := NewCache(service(0))
	assert.False(t, c.Update(service(0)))
	assert.True(t, c.Update(service(1)))
	assert.Regexp(t, "^network [0-9a-f]{16} hosts 2 switches 1 cables 3$", answer(t, c.Service(), "network"))
}
