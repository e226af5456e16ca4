package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	gridEngineTimeout = 3 * time.Minute // for the daemons of all nodes to know each other
	gridEngineArch    = "lx-amd64"      // Grid Engine's name of this architecture
	// GridEngineSlots is the number of slots of each node.
	GridEngineSlots = 16
)

// GridEngineUnavailable returns the reason that no cluster with Grid Engine can be made
// here, or nil.
func GridEngineUnavailable() error {
	return netnsAvailable(Config{Provider: Netns, GridEngine: true})
}

func gridEngineTree() (string, error) {
	return unpacked("gridengine", "Grid Engine")
}

func gridEngineRoot(dir string) string { return filepath.Join(dir, "gridengine") }

func gridEnginePrograms(dir string) string {
	return filepath.Join(gridEngineRoot(dir), "bin", gridEngineArch)
}

// gridEngineEnv returns the variables by which Grid Engine's programs find their
// cluster.
func gridEngineEnv(dir string) []string {
	return []string{"SGE_ROOT=" + gridEngineRoot(dir), "SGE_CELL=default", "SGE_QMASTER_PORT=6444", "SGE_EXECD_PORT=6445"}
}

// program is the path of a program of Grid Engine's, which are in no PATH, where the
// cluster has one of that name; else the name.
func (c *Cluster) program(name string) string {
	if c.state.Config.GridEngine && !strings.Contains(name, "/") {
		path := filepath.Join(gridEnginePrograms(c.Dir()), name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return name
}

const gridEngineBootstrap = `admin_user none
default_domain none
ignore_fqdn false
spooling_method classic
spooling_lib libspoolc
spooling_params %[1]s/default/common;%[1]s/qmaster
binary_path %[1]s/bin/%[2]s
qmaster_spool_dir %[1]s/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
`

// gridEngineEnvironments are the parallel environments: as Grid Engine's example for MPI
// has it; so many slots on each node as on the next; a slot on each node, of which the
// script has the first; one in whose jobs qrsh starts nothing.
var gridEngineEnvironments = []struct{ name, rule, control, first string }{
	{"mpi", "$fill_up", "TRUE", "TRUE"},
	{"spread", "$round_robin", "TRUE", "FALSE"},
	{"single", "1", "TRUE", "TRUE"},
	{"loose", "$round_robin", "FALSE", "FALSE"},
}

// writeGridEngineFiles writes the files that qmaster is started with, and those of its
// configuration.
func (p *netnsProvider) writeGridEngineFiles() error {
	c := &p.state.Config
	root := gridEngineRoot(c.Dir)
	w := &fileWriter{}
	w.write(filepath.Join(root, "default/common/bootstrap"), fmt.Sprintf(gridEngineBootstrap, root, gridEngineArch), 0o644)
	w.write(filepath.Join(root, "default/common/act_qmaster"), Head+"\n", 0o644)
	w.write(filepath.Join(root, "managers"), "root "+c.User+"\n", 0o644)
	const none = "load_scaling NONE\ncomplex_values NONE\nuser_lists NONE\nxuser_lists NONE\nprojects NONE\nxprojects NONE\nusage_scaling NONE\nreport_variables NONE\n"
	var names []string
	for i := range c.Nodes {
		name := NodeName(i + 1)
		names = append(names, name)
		w.write(filepath.Join(root, "hosts", name), "hostname "+name+"\n"+none, 0o644)
	}
	w.write(filepath.Join(root, "group"), "group_name @allhosts\nhostlist "+strings.Join(names, " ")+"\n", 0o644)
	for _, e := range gridEngineEnvironments {
		w.write(filepath.Join(root, "environments", e.name), "pe_name "+e.name+"\nslots 99999\nuser_lists NONE\nxuser_lists NONE\n"+
			"start_proc_args NONE\nstop_proc_args NONE\nallocation_rule "+e.rule+"\ncontrol_slaves "+e.control+"\njob_is_first_task "+e.first+
			"\nurgency_slots min\naccounting_summary FALSE\nqsort_args NONE\n", 0o644)
	}
	for _, dir := range []string{"bin", "utilbin", "qmaster/job_scripts"} {
		if w.err == nil {
			w.err = os.MkdirAll(filepath.Join(root, dir), 0o755)
		}
	}
	programs := filepath.Join(p.state.GridEngine, "usr/lib/gridengine")
	w.link(programs, gridEnginePrograms(c.Dir))
	w.link(programs, filepath.Join(root, "utilbin", gridEngineArch))
	w.link(filepath.Join(p.state.GridEngine, "usr/share/gridengine/util"), filepath.Join(root, "util"))
	return w.err
}

// The scripts' $1 is the folder of the unpacked programs, which look for their parts in
// /run/gridengine. The second tells qmaster of hosts, parallel environments and a queue
// that schedules at once. Mails go nowhere.
const (
	gridEnginePrepare = `set -e
cd "$SGE_ROOT"
ln -s "$1/usr/lib/gridengine" /run/gridengine
export LD_LIBRARY_PATH=/run/gridengine
sed -e 's|^execd_spool_dir .*|execd_spool_dir /run/execd|' -e 's|^mailer .*|mailer /bin/true|' \
	-e 's|^administrator_mail .*|administrator_mail none|' -e 's|^load_report_time .*|load_report_time 00:00:05|' \
	-e 's|^\(min_[ug]id\) .*|\1 0|' "$1/usr/share/gridengine/default-configuration" >configuration
spoolinit classic libspoolc "$SGE_ROOT/default/common;$SGE_ROOT/qmaster" init
spooldefaults.bin configuration "$SGE_ROOT/configuration"
spooldefaults.bin complexes "$1/usr/share/gridengine/util/resources/centry"
spooldefaults.bin usersets "$1/usr/share/gridengine/util/resources/usersets"
spooldefaults.bin managers $(cat managers)
unset LD_LIBRARY_PATH
exec sge_qmaster`

	gridEngineTell = `set -e
cd "$SGE_ROOT"
qconf -as head
for host in hosts/*; do
	qconf -Ae "$host"
	qconf -ah "${host#hosts/}"
	qconf -as "${host#hosts/}"
done
qconf -Ahgrp group
for environment in environments/*; do qconf -Ap "$environment"; done
qconf -sq | sed -e 's/^qname .*/qname all.q/' -e 's/^hostlist .*/hostlist @allhosts/' -e "s/^slots .*/slots $2/" \
	-e "s/^pe_list .*/pe_list $(cd environments && echo *)/" -e 's/^load_thresholds .*/load_thresholds NONE/' \
	-e 's/^notify .*/notify 00:00:03/' >queue
qconf -Aq queue
qconf -ssconf | sed -e 's/^schedule_interval .*/schedule_interval 0:0:1/' -e 's/^flush_submit_sec .*/flush_submit_sec 1/' \
	-e 's/^flush_finish_sec .*/flush_finish_sec 1/' -e 's/^queue_sort_method .*/queue_sort_method seqno/' >scheduler
qconf -Msconf scheduler`

	gridEngineExecd = `set -e
ln -sfn "$1/usr/lib/gridengine" /run/gridengine
mkdir -p /run/execd
exec sge_execd`
)

// startGridEngine starts the daemons of all machines and waits until every node has
// reported.
func (p *netnsProvider) startGridEngine(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, gridEngineTimeout)
	defer cancel()
	if err := p.writeGridEngineFiles(); err != nil {
		return err
	}
	head, err := p.state.node(Head)
	if err != nil {
		return err
	}
	if err := p.runGridEngine(head, "sge_qmaster", gridEnginePrepare); err != nil {
		return fmt.Errorf("node %s: %w", Head, err)
	}
	err = poll(ctx, func() error { // it may leave its parent before it listens
		if err := p.runGridEngine(head, "sge_qmaster", "exec qconf -sm"); err != nil {
			return retry(err)
		}
		return p.runGridEngine(head, "qconf", gridEngineTell)
	})
	if err != nil {
		return fmt.Errorf("node %s: %w", Head, err)
	}
	err = p.eachNode(ctx, func(_ context.Context, n *Node) error { return p.startExecd(n) })
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		cmd := p.gridEngineCommand("qselect -l arch=" + gridEngineArch)
		out := &strings.Builder{}
		cmd.Stdout = out
		if err := p.startIn(head, cmd); err != nil {
			return err
		}
		err := cmd.Wait() // it fails where there are none
		if up := strings.Count(out.String(), "\n"); err != nil || up != p.state.Config.Nodes {
			return retry(fmt.Errorf("%d of %d nodes have reported", up, p.state.Config.Nodes))
		}
		return nil
	})
}

// startExecd starts the daemon of a machine that is a node.
func (p *netnsProvider) startExecd(n *Node) error {
	if n.Name == Head || n.Name == Outside {
		return nil
	}
	return p.runGridEngine(n, "sge_execd", gridEngineExecd)
}

// gridEngineCommand is a script of root's that knows Grid Engine's programs.
func (p *netnsProvider) gridEngineCommand(script string) *exec.Cmd {
	dir := p.state.Config.Dir
	cmd := exec.Command("/bin/sh", "-c", script, "sh", p.state.GridEngine, strconv.Itoa(GridEngineSlots))
	cmd.Dir = "/"
	cmd.Env = append(gridEngineEnv(dir), "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:"+gridEnginePrograms(dir))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// runGridEngine runs a script of Grid Engine's on a machine and waits for it.
func (p *netnsProvider) runGridEngine(n *Node, name, script string) error {
	return p.startDaemon(n, name, gridEngineRoot(p.state.Config.Dir), p.gridEngineCommand(script))
}
