// Package ibsimtest runs a simulated InfiniBand fabric for tests: ibsim, OpenSM
// and ibnetdiscover (Debian packages ibsim-utils, opensm, infiniband-diags) on a
// network that nobody has seen before. They need no device and no privilege.
package ibsimtest

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/ibnet"
)

// Outputs are the texts that the tools wrote, to be read by package ibnet.
type Outputs struct {
	Discovered string // by ibnetdiscover
	Tables     string // opensm-lfts.dump
	List       string // opensm-subnet.lst
	Routes     string // opensm.fdbs
	Dir        string // that holds all files of OpenSM; removed at the end of the test
}

// tools are the programs, and where Debian has them.
var tools = []string{"ibsim", "ibsim-run", "opensm", "ibnetdiscover"}

// Run starts the network g in ibsim, has OpenSM route it once with an engine such
// as "ftree" or "updn", and ends everything. The test is skipped where a program is
// not installed, and fails where one fails.
func Run(t testing.TB, g *topology.Graph, engine string) Outputs {
	t.Helper()
	path := map[string]string{}
	for _, tool := range tools {
		found, err := exec.LookPath(tool)
		if err != nil {
			found, err = exec.LookPath("/usr/sbin/" + tool)
		}
		if err != nil {
			t.Skipf("%s is not installed (apt-get install ibsim-utils opensm infiniband-diags)", tool)
		}
		path[tool] = found
	}
	dir := t.TempDir()
	net, err := os.Create(filepath.Join(dir, "net"))
	must(t, err)
	must(t, ibnet.Write(net, g))
	must(t, net.Close())

	env := append(os.Environ(), "IBSIM_SOCKNAME="+filepath.Base(dir)+strconv.Itoa(os.Getpid()),
		"SIM_HOST="+ibnet.ID(g, 0), "OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir)
	ports := g.Nodes()
	for n := range topology.Node(g.Nodes()) {
		if list := g.Ports(n); len(list) > 0 {
			ports += int(list[len(list)-1].Number)
		}
	}
	sim := exec.Command(path["ibsim"], "-s", "-n", "-N", strconv.Itoa(g.Nodes()+8), "-S", strconv.Itoa(g.Switches()+8), "-P", strconv.Itoa(ports+64), "net")
	sim.Dir, sim.Env = dir, env
	out, err := sim.StdoutPipe()
	must(t, err)
	sim.Stderr = sim.Stdout
	must(t, sim.Start())
	t.Cleanup(func() {
		_ = sim.Process.Kill()
		_ = sim.Wait()
	})
	var said strings.Builder
	ready := false
	for lines := bufio.NewScanner(out); !ready && lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		ready = strings.Contains(lines.Text(), "simulator ready")
	}
	if !ready {
		t.Fatalf("ibsim ended:\n%s", said.String())
	}
	drained := make(chan struct{})
	go func() { // ibsim must not wait for a reader
		defer close(drained)
		_, _ = bufio.NewReader(out).WriteTo(discard{})
	}()
	t.Cleanup(func() {
		_ = sim.Process.Kill()
		<-drained
	})
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), path["ibsim-run"], args...)
		cmd.Dir, cmd.Env = dir, env
		text, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, text)
		}
		return string(text)
	}
	run(path["opensm"], "-o", "-e", "-R", engine, "-f", filepath.Join(dir, "osm.log"), "-D", "0x47")
	o := Outputs{Discovered: run(path["ibnetdiscover"]), Dir: dir}
	for name, text := range map[string]*string{"opensm-lfts.dump": &o.Tables, "opensm-subnet.lst": &o.List, "opensm.fdbs": &o.Routes} {
		read, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		*text = string(read)
	}
	return o
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Permuted is g without a family, with its hosts and switches in another order,
// under other names and GUIDs, and each node's cables at other ports of it: a
// network about which nothing but its cables can be known. Of has, for each of its
// nodes, the one that it is of g.
func Permuted(t testing.TB, g *topology.Graph, seed uint64) (permuted *topology.Graph, of []topology.Node) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 18))
	number := make([]topology.Node, g.Nodes())
	of = make([]topology.Node, g.Nodes())
	for i, k := range r.Perm(g.Hosts()) {
		number[i] = topology.Node(k)
	}
	for i, k := range r.Perm(g.Switches()) {
		number[g.Switch(i)] = g.Switch(k)
	}
	guids := r.Perm(g.Nodes())
	names := r.Perm(g.Hosts())
	b, err := topology.NewBuilder(g.Hosts(), g.Switches())
	must(t, err)
	ports := make([]map[int32]int32, g.Nodes())
	for n := range topology.Node(g.Nodes()) {
		info := topology.Info{GUID: 0x0002c90300000000 + 16*uint64(guids[n]+1), Description: fmt.Sprintf("sw%04d", guids[n])}
		if g.IsHost(n) {
			info.Description = fmt.Sprintf("node%05d HCA-1", names[n])
		}
		b.SetInfo(number[n], info)
		of[number[n]] = n
		ports[n] = map[int32]int32{}
		order := r.Perm(len(g.Ports(n)))
		for i, p := range g.Ports(n) {
			ports[n][p.Number] = int32(order[i] + 1)
		}
	}
	for _, i := range r.Perm(g.Cables()) {
		c := g.Cable(i)
		c.A = topology.End{Node: number[c.A.Node], Port: ports[c.A.Node][c.A.Port]}
		c.B = topology.End{Node: number[c.B.Node], Port: ports[c.B.Node][c.B.Port]}
		b.Cable(c)
	}
	permuted, err = b.Build()
	must(t, err)
	return permuted, of
}

// WriteTables writes forwarding tables in the form of OpenSM's opensm.fdbs, which
// ibnet.ParseTables and ibdmchk read. The form has the number of hops to each LID, which
// tables do not tell: it is 0.
func WriteTables(w io.Writer, t *ibnet.Tables) error {
	out := bufio.NewWriter(w)
	for i := range t.Switches {
		s := &t.Switches[i]
		fmt.Fprintf(out, "dump_ucast_routes: Switch 0x%016x\nLID    : Port : Hops : Optimal\n", s.GUID)
		for lid := 1; lid < len(s.Ports); lid++ {
			if port := s.Ports[lid]; port == ibnet.Unreachable {
				fmt.Fprintf(out, "0x%04X : UNREACHABLE\n", lid)
			} else {
				fmt.Fprintf(out, "0x%04X : %03d  : 00   : yes\n", lid, port)
			}
		}
	}
	return out.Flush()
}
