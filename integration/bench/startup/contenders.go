package startup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// The contenders.
const (
	floorName    = "floor"
	golaunchName = "golaunch"
	copiedName   = "golaunch, copied"
	hydraName    = "Hydra"
	openMPIName  = "Open MPI"
	pdshName     = "pdsh"
	clushName    = "clush"
	treeName     = "clush, tree"
	taktukName   = "TakTuk"
	srunName     = "srun"
)

// task is a job for contenders.
type task struct {
	nodes, ppn int
	program    []string
}

func (t task) ranks() string { return strconv.Itoa(t.nodes * t.ppn) }

// contender is a launcher, or a floor for launchers.
type contender struct {
	name     string
	program  string // in PATH, or with its path
	pkg      string // Debian's package that has it
	resident bool   // its daemons run before: it makes no connections over ssh
	env      func(*field) []string
	argv     func(*field, task) []string
}

// launchers are all that start a job over ssh, or with daemons of their own; the
// floor is first.
var launchers = []contender{
	{name: floorName, argv: func(f *field, t task) []string { return f.floorCommand(t.nodes, 1, t.ppn) }},
	{name: golaunchName, argv: func(f *field, t task) []string { return f.golaunch(t) }},
	{name: copiedName, argv: func(f *field, t task) []string { return f.golaunch(t, "--copy-agent") }},
	{name: hydraName, program: "mpiexec.hydra", pkg: "mpich", argv: func(f *field, t task) []string {
		return append([]string{"mpiexec.hydra", "-launcher", "ssh", "-f", f.hosts(t.nodes), "-n", t.ranks(), "-ppn", strconv.Itoa(t.ppn)}, t.program...)
	}},
	{name: openMPIName, program: "mpirun.openmpi", pkg: "openmpi-bin", argv: func(f *field, t task) []string {
		return append([]string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "plm", "rsh",
			"--hostfile", f.hosts(t.nodes), "-n", t.ranks(), "--map-by", "ppr:" + strconv.Itoa(t.ppn) + ":node"}, t.program...)
	}},
	{name: pdshName, program: "pdsh", pkg: "pdsh", argv: func(f *field, t task) []string {
		return []string{"pdsh", "-R", "ssh", "-S", "-w", "^" + f.hosts(t.nodes), loop(t.program, t.ppn)}
	}},
	{name: clushName, program: "clush", pkg: "clustershell", argv: func(f *field, t task) []string {
		return []string{"clush", "-S", "-n", "--hostfile", f.hosts(t.nodes), loop(t.program, t.ppn)}
	}},
	{name: treeName, program: "clush", pkg: "clustershell", argv: func(f *field, t task) []string {
		return []string{"clush", "-S", "-n", "--topology", f.topology(t.nodes), "--hostfile", f.hosts(t.nodes), loop(t.program, t.ppn)}
	}},
	{name: taktukName, program: "taktuk", pkg: "taktuk", argv: func(f *field, t task) []string {
		return []string{"taktuk", "-s", "-f", f.hosts(t.nodes), "broadcast", "exec", "[", loop(t.program, t.ppn), "]"}
	}},
	{name: srunName, program: "srun", pkg: "slurm-client", resident: true, argv: func(f *field, t task) []string {
		return append([]string{"srun", "--mpi=pmi2", "-O", "-N", strconv.Itoa(t.nodes), "-n", t.ranks(), "--ntasks-per-node", strconv.Itoa(t.ppn)}, t.program...)
	}},
}

// named returns some of the launchers.
func named(names ...string) []contender {
	var some []contender
	for _, name := range names {
		for _, l := range launchers {
			if l.name == name {
				some = append(some, l)
			}
		}
	}
	return some
}

func (f *field) golaunch(t task, more ...string) []string {
	argv := []string{filepath.Join(f.bin, "golaunch"), "-f", f.hosts(t.nodes), "--ssh-config", f.SSHConfig(), "-n", t.ranks(), "-N", strconv.Itoa(t.ppn)}
	return append(append(argv, more...), t.program...)
}

// loop returns a shell's command that runs a program as often as there are ranks on a
// host: for launchers that start one command per host.
func loop(program []string, times int) string {
	command := strings.Join(program, " ") // words of our own, without blanks
	if times == 1 {
		return command
	}
	return fmt.Sprintf("i=0; while [ $i -lt %d ]; do %s || exit; i=$((i+1)); done", times, command)
}

// unfit returns the reason that a contender cannot run here, or "".
func (f *field) unfit(c contender, t task) string {
	if c.program != "" && f.provider != cluster.Docker { // Docker's image has them
		if _, err := exec.LookPath(c.program); err != nil {
			return fmt.Sprintf("%s is not installed (Debian: %s)", c.program, c.pkg)
		}
	}
	switch reason := f.broken[c.name]; {
	case reason != "":
		return reason
	case c.resident && f.noSlurm != "":
		return f.noSlurm
	case c.name == treeName && t.nodes < 4:
		return "a tree of gateways needs four nodes"
	}
	return ""
}

// hosts returns a file that names the first nodes, one a line.
func (f *field) hosts(nodes int) string {
	var b strings.Builder
	for _, n := range f.Nodes()[:nodes] {
		b.WriteString(n.Name + "\n")
	}
	return f.write(fmt.Sprint("hosts-", nodes), b.String())
}

// topology returns a file with clush's tree: as many gateways as there are nodes below
// each, about.
func (f *field) topology(nodes int) string {
	gateways := 1
	for gateways*(gateways+1) < nodes {
		gateways++
	}
	first := names(1, gateways)
	return f.write(fmt.Sprint("topology-", nodes), fmt.Sprintf("[routes]\n%s: %s\n%[2]s: %[3]s\n", cluster.Head, first, names(gateways+1, nodes)))
}

// names returns nodes from one to another, with commas between them.
func names(from, to int) string {
	var list []string
	for i := from; i <= to; i++ {
		list = append(list, cluster.NodeName(i))
	}
	return strings.Join(list, ",")
}

// write makes a file that all machines see and returns its path. Errors show in the
// command that reads it.
func (f *field) write(name, text string) string {
	path := filepath.Join(f.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	return path
}
