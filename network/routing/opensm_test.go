package routing

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/ibnet/ibsimtest"
)

// renamed is g with the numbers, names and GUIDs of its hosts and switches and
// the ports of its leaf switches, and of the others, permuted at random.
func renamed(t testing.TB, g *topology.Graph, r *rand.Rand) *topology.Graph {
	t.Helper()
	b, err := topology.NewBuilder(g.Hosts(), g.Switches())
	require.NoError(t, err)
	hosts, switches, names := r.Perm(g.Hosts()), r.Perm(g.Switches()), r.Perm(g.Nodes())
	number := func(n topology.Node) topology.Node {
		if g.IsHost(n) {
			return topology.Node(hosts[n])
		}
		return b.Switch(switches[g.SwitchIndex(n)])
	}
	ports := make([][]int, g.Nodes())
	for n := range topology.Node(g.Nodes()) {
		ports[n] = r.Perm(len(g.Ports(n)))
		name := fmt.Sprintf("node%04d", names[n])
		b.SetInfo(number(n), topology.Info{Name: name, Description: name, GUID: 0x0002c90000000000 + 16*uint64(1+names[n])})
	}
	end := func(e topology.End) topology.End {
		return topology.End{Node: number(e.Node), Port: int32(ports[e.Node][e.Port-1] + 1)}
	}
	for _, i := range r.Perm(g.Cables()) {
		c := g.Cable(i)
		b.Cable(topology.Cable{A: end(c.A), B: end(c.B)})
	}
	g, err = b.Build()
	require.NoError(t, err)
	return g
}

// managed makes a fabric of g with ibsim, lets OpenSM route it, and returns the
// folder with what OpenSM (opensm-lfts.dump, opensm-subnet.lst) and ibnetdiscover
// (ibnetdiscover.out) say of it.
func managed(t testing.TB, g *topology.Graph, engine string) string {
	t.Helper()
	path := os.Getenv("PATH") + ":/usr/sbin:/sbin"
	t.Setenv("PATH", path)
	for _, program := range []string{"ibsim", "ibsim-run", "opensm", "ibnetdiscover"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("skipped: no %s; apt-get install ibsim-utils opensm infiniband-diags", program)
		}
	}
	dir := t.TempDir()
	var net bytes.Buffer
	require.NoError(t, ibnet.Write(&net, g))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "net.topo"), net.Bytes(), 0o600))
	env := append(os.Environ(), fmt.Sprintf("IBSIM_SOCKNAME=golaunch-%d-%x", os.Getpid(), rand.Uint64()),
		"OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir, fmt.Sprintf("SIM_HOST=H-%016x", g.Info(0).GUID))
	sim := exec.CommandContext(t.Context(), "ibsim", "-s", "-n", "-N", "4096", "-S", "1024", "-P", "65536", "net.topo")
	sim.Dir, sim.Env = dir, env
	said, err := sim.StdoutPipe()
	require.NoError(t, err)
	sim.Stderr = sim.Stdout
	require.NoError(t, sim.Start())
	t.Cleanup(func() { _ = sim.Wait() }) // the test's context is over by then, and it killed
	ready := bufio.NewReader(said)
	for line := ""; !strings.Contains(line, "simulator ready"); {
		line, err = ready.ReadString('\n')
		require.NoError(t, err, "ibsim ended: %s", line)
	}
	go func() { _, _ = io.Copy(io.Discard, ready) }()
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "ibsim-run", args...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		require.NoError(t, err, "%v: %s", args, out)
		return out
	}
	run("opensm", "-o", "-e", "-R", engine, "-f", filepath.Join(dir, "osm.log"), "-D", "0x47")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ibnetdiscover.out"), run("ibnetdiscover"), 0o600))
	return dir
}

func parse[T any](t testing.TB, file string, parser func(r *os.File, name string) (T, error)) T {
	t.Helper()
	r, err := os.Open(file)
	require.NoError(t, err)
	defer r.Close()
	v, err := parser(r, filepath.Base(file))
	require.NoError(t, err)
	return v
}

func discovered(t testing.TB, dir string) (*ibnet.Fabric, *ibnet.Tables) {
	f := parse(t, filepath.Join(dir, "ibnetdiscover.out"), func(r *os.File, name string) (*ibnet.Fabric, error) { return ibnet.Discover(r, name) })
	tables := parse(t, filepath.Join(dir, "opensm-lfts.dump"), func(r *os.File, name string) (*ibnet.Tables, error) { return ibnet.ParseTables(r, name) })
	return f, tables
}

// A fabric that the program has not seen, with names, GUIDs and ports permuted:
// ibnetdiscover and OpenSM's tables suffice for an order in which shift has one message
// per link.
func TestOrderOfUnknownFabrics(t *testing.T) {
	for _, tree := range []string{"fattree:4,4/1,2/1,2", "fattree:6,6,4/1,6,2/1,1,3", "fattree:8,16/1,4/1,2", tree144, tree1944} {
		t.Run(tree, func(t *testing.T) {
			if testing.Short() && tree == tree1944 {
				t.Skip("skipped: -short; this takes 10 s")
			}
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			g := renamed(t, graph(t, tree), rand.New(rand.NewPCG(seed, 0)))
			f, dump := discovered(t, managed(t, g, "ftree"))
			recognized(t, f)
			assert.Equal(t, tree, f.Graph.Family().String())
			tables, err := NewTables(f, dump, parallel)
			require.NoError(t, err)
			orders, err := Orders(tables, hostsOf(f.Graph), 1, parallel)
			require.NoError(t, err)
			for i := range orders {
				t.Log(&orders[i])
			}
			assert.Equal(t, 1, orders[0].Max)
			assert.Equal(t, g.Hosts()-1, orders[0].Stages)

			all, unit := orders[0].Hosts, Unit(f.Graph.Family().(*topology.FatTree).Tuple)
			part := make([]topology.Node, g.Hosts()-unit)
			for i := range part {
				part[i] = all[(g.Hosts()/2+i)%g.Hosts()]
			}
			c, err := HotSpots(tables, along(all, shuffled(part, seed), "").Hosts, Shift(len(part)).Sample(100), parallel)
			require.NoError(t, err)
			assert.Equal(t, 1, c.Max(), "a part of the tree")
			assert.Nil(t, CreditLoop(tables, parallel))
		})
	}
}

// The leaf switches of 1944 hosts forward as D-Mod-K does; the switches above,
// where OpenSM goes by counters, do not always.
func TestLeafEntriesOf1944Hosts(t *testing.T) {
	g := graph(t, tree1944)
	f, dump := discovered(t, managed(t, withGUIDs(t, g), "ftree"))
	recognized(t, f)
	require.Equal(t, tree1944, f.Graph.Family().String())
	tables, err := NewTables(f, dump, parallel)
	require.NoError(t, err)
	d, err := NewDModK(f.Graph)
	require.NoError(t, err)
	equalAtLeaves(t, tables, d)
}

// withGUIDs is g with a GUID for each node, by number.
func withGUIDs(t testing.TB, g *topology.Graph) *topology.Graph {
	b, err := topology.NewBuilder(g.Hosts(), g.Switches())
	require.NoError(t, err)
	for n := range topology.Node(g.Nodes()) {
		b.SetInfo(n, topology.Info{Name: g.Name(n), Description: g.Name(n), GUID: 0x0002c90000000000 + 16*uint64(n+1)})
	}
	for i := range g.Cables() {
		b.Cable(g.Cable(i))
	}
	g, err = b.Build()
	require.NoError(t, err)
	return g
}

// A fabric that is no fat tree gets a best-effort order and its figure.
func TestOrderOfADragonfly(t *testing.T) {
	g := renamed(t, graph(t, "dragonfly:p=2,a=4,h=2,g=9"), rand.New(rand.NewPCG(1, 1)))
	f, dump := discovered(t, managed(t, g, "minhop"))
	tables, err := NewTables(f, dump, parallel)
	require.NoError(t, err)
	orders, err := Orders(tables, hostsOf(f.Graph), 1, parallel)
	require.NoError(t, err)
	require.Len(t, orders, 3)
	for i := range orders {
		t.Log(&orders[i])
		assert.Greater(t, orders[i].Mean, 1.0)
	}
	t.Logf("credit loop of minhop: %v", CreditLoop(tables, parallel))
}

// Our tables satisfy ibdmchk, which asks for a way from each host to each. It finds
// credit loops where CreditLoop does: in a torus, since tables know no lanes. (Its exit
// code says nothing: it crashes at its end, on OpenSM's tables as well.)
func TestIBDMChkAcceptsOurTables(t *testing.T) {
	if _, err := exec.LookPath("ibdmchk"); err != nil {
		t.Skip("skipped: no ibdmchk; apt-get install ibutils")
	}
	for _, text := range []string{tree324, "fattree:6,4,3/1,6,2/1,1,3", "degraded", "irregular", "mesh:4x4", "torus:5x5"} {
		t.Run(text, func(t *testing.T) {
			var g *topology.Graph
			switch text {
			case "degraded":
				g = graph(t, "fattree:8,16/1,4/1,2").Without(func(c int) bool { return c >= 128 && c%7 == 0 })
			case "irregular":
				g = graph(t, "dragonfly:p=2,a=4,h=2,g=5").Without(func(c int) bool { return c%9 == 4 })
			default:
				g = graph(t, text)
			}
			dir := managed(t, withGUIDs(t, g), "minhop")
			f, _ := discovered(t, dir)
			if family, err := topology.Recognize(f.Graph); err == nil {
				f.Graph = f.Graph.WithFamily(family)
			}
			r, err := New(f.Graph, parallel)
			require.NoError(t, err)
			made, err := forwarding(f, r)
			require.NoError(t, err)
			var out bytes.Buffer
			require.NoError(t, ibsimtest.WriteTables(&out, made))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "ours.fdbs"), out.Bytes(), 0o600))
			check := exec.CommandContext(t.Context(), "ibdmchk", "-s", "opensm-subnet.lst", "-f", "ours.fdbs", "-m", "opensm.mcfdbs")
			check.Dir = dir
			out.Reset()
			check.Stdout, check.Stderr = &out, &out
			_ = check.Run()
			n := 0 // hosts that have a cable
			for h := range f.Graph.AllHosts() {
				if f.Graph.Leaf(h) != topology.NoNode {
					n++
				}
			}
			said := out.String()
			again, err := NewTables(f, made, parallel)
			require.NoError(t, err)
			loop := CreditLoop(again, parallel)
			assert.Equal(t, text == "torus:5x5", loop != nil)
			assert.Contains(t, said, fmt.Sprintf("-I- Scanned:%d CA to CA paths", n*(n-1)), "%v", r)
			assert.Equal(t, loop == nil, strings.Contains(said, "-I- no credit loops found"), "%v:\n%s", r, said)
			if loop == nil {
				assert.NotContains(t, said, "-E-")
				assert.NotContains(t, said, "-W-")
			}
		})
	}
}
