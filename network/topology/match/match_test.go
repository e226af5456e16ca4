package match

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
)

// fabric returns a host for each description, all on one switch.
func fabric(t *testing.T, descriptions ...string) *topology.Graph {
	t.Helper()
	b, err := topology.NewBuilder(len(descriptions), 1)
	require.NoError(t, err)
	for i, text := range descriptions {
		b.SetInfo(topology.Node(i), topology.Info{Description: text, GUID: uint64(0x100 + i), LID: uint16(10 + i)})
		b.Cable(topology.Cable{A: topology.End{Node: topology.Node(i), Port: 1}, B: topology.End{Node: b.Switch(0), Port: int32(i + 1)}})
	}
	g, err := b.Build()
	require.NoError(t, err)
	return g
}

type nodes = []topology.Node

func TestHosts(t *testing.T) {
	g := fabric(t, "n001 mlx5_10", "n001 mlx5_2", "N002 HCA-1", "n003.example.org hfi1_0", "n004/mlx5_0", "MT4119 ConnectX5 Mellanox Technologies", "n1 HCA-1")
	m, err := ParseMap(strings.NewReader("# odd ones\nodd 0x105\n"), "map")
	require.NoError(t, err)
	r, err := Hosts(g, []string{"n003", "n001.example.org", "n002", "n004", "odd", "n005", "n006", "10.0.0.1", "n1"}, m)
	require.NoError(t, err)
	assert.Equal(t, []nodes{{3}, {1, 0}, {2}, {4}, {5}, nil, nil, nil, {6}}, r.Adapters)
	assert.Equal(t, []string{"n005", "n006", "10.0.0.1"}, r.Missing())
	assert.Equal(t, "3 of 9 hosts are not in the network and keep their order: n[005-006],10.0.0.1; --map FILE says which of its hosts (n001 mlx5_10, n001 mlx5_2, ...) they are", r.Warning())
}

func TestNoneIsPresent(t *testing.T) {
	r, err := Hosts(fabric(t, "", ""), []string{"b", "a"}, Map{})
	require.NoError(t, err)
	assert.Equal(t, "no host of the job is in the network: b,a; --map FILE says which of its hosts (h0, h1) they are", r.Warning())
}

func TestAllPresent(t *testing.T) {
	g := fabric(t, "a HCA-1", "b HCA-1")
	r, err := Hosts(g, []string{"b", "a"}, Map{})
	require.NoError(t, err)
	assert.Empty(t, r.Warning())
}

func TestAmbiguous(t *testing.T) {
	g := fabric(t, "n1.a HCA-1", "n1.b HCA-1", "n2 HCA-1")
	_, err := Hosts(g, []string{"n1"}, Map{})
	assert.EqualError(t, err, "host n1 could be n1.a or n1.b of the network; give its full name, or a map file")
	r, err := Hosts(g, []string{"n1.b", "n1.c"}, Map{})
	require.NoError(t, err)
	assert.Equal(t, []nodes{{1}, nil}, r.Adapters)
	_, err = Hosts(g, []string{"n2.x", "n2.y"}, Map{})
	assert.EqualError(t, err, "hosts n2.x and n2.y are both h2 of the network; a map file can tell them apart")
}

// A fabric's name of an adapter names its host as well.
func TestNamedAdapters(t *testing.T) {
	g, err := fabric(t, "n1.a HCA-2", "n1.a HCA-1", "n2").Named([]string{"n1.a HCA-2", "n1.a HCA-1", "N2"})
	require.NoError(t, err)
	f := NewFinder(g)
	for name, want := range map[string]nodes{
		"n1": {1, 0}, "N1.A": {1, 0}, "n1.a HCA-2": {0}, "n2.b": {2}, "n1.b": nil, "10.0.0.1": nil,
	} {
		hosts, err := f.Find(name)
		require.NoError(t, err, name)
		assert.Equal(t, want, hosts, name)
	}
}

func TestMap(t *testing.T) {
	g := fabric(t, "same", "same", "other one", "n4 HCA-1")
	read := func(text string) (*Result, error) {
		m, err := ParseMap(strings.NewReader(text), "map")
		if err != nil {
			return nil, err
		}
		return Hosts(g, []string{"a", "b", "n4"}, m)
	}
	r, err := read("A 0x0101\na lid 10\nb \"other one\"\n")
	require.NoError(t, err)
	assert.Equal(t, []nodes{{1, 0}, {2}, {3}}, r.Adapters)
	for text, want := range map[string]string{
		"a":                 `map:1: "a": expected a host and an adapter, such as n001 0x0002c90000000034`,
		"\na 0xzz":          `map:2: "0xzz": expected a GUID of up to 16 hexadecimal digits`,
		"a lid x":           `map:1: "lid x": expected a LID, such as lid 19`,
		`a ""`:              `map:1: "a \"\"": expected a description behind the host`,
		"a 0x9":             `map:1: host a: the network has no host 0x0000000000000009`,
		"a same":            `map:1: host a: the network has several hosts "same"; give a GUID`,
		"a 0x100\na lid 10": `map:2: host a: lid 10 is given twice`,
		"a 0x100\nb lid 10": "hosts a and b are both h0 of the network; a map file can tell them apart",
	} {
		_, err := read(text)
		assert.EqualError(t, err, want)
	}
}

func TestNatural(t *testing.T) {
	for _, x := range [][2]string{{"mlx5_2", "mlx5_10"}, {"HCA-1", "HCA-2"}, {"a", "b"}, {"a", "a1"}, {"n2 x", "n10 a"}} {
		assert.Negative(t, natural(x[0], x[1]), x)
		assert.Positive(t, natural(x[1], x[0]), x)
	}
	assert.Zero(t, natural("a01", "a1"))
}

func FuzzParseMap(f *testing.F) {
	f.Add("a 0x12\nb lid 3\nc \"d e\"\n# x")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMap(strings.NewReader(text), "map")
		if err != nil {
			require.Contains(t, err.Error(), "map:")
			return
		}
		require.NotNil(t, m.entries)
	})
}
