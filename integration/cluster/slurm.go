package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrSlurm is wrapped by the error of Up where all but Slurm came up.
var ErrSlurm = errors.New("start Slurm")

// slurmTimeout returns the time in which the daemons of all nodes have to know each
// other.
func slurmTimeout(nodes int) time.Duration {
	return 3*time.Minute + time.Duration(nodes)*500*time.Millisecond
}

// slurmPrograms are the programs of a cluster with Slurm, with the Debian package of
// each.
var slurmPrograms = [][2]string{
	{"slurmctld", "slurmctld"}, {"slurmd", "slurmd"}, {"srun", "slurm-client"}, {"munged", "munge"},
}

// SlurmUnavailable returns the reason that no cluster with Slurm can be made here, or
// nil.
func SlurmUnavailable() error { return netnsAvailable(Config{Provider: Netns, Slurm: true}) }

// SlurmConf is the path of the configuration, which commands on all machines find in
// SLURM_CONF.
func (c *Cluster) SlurmConf() string { return slurmConf(c.Dir()) }

// SlurmTracksByCgroup reports whether Slurm keeps each step in a cgroup; else it follows
// parents to children (proctrack/linuxproc).
func (c *Cluster) SlurmTracksByCgroup() bool { return c.state.Freezer != "" }

func slurmDir(dir string) string  { return filepath.Join(dir, "slurm") }
func slurmConf(dir string) string { return filepath.Join(slurmDir(dir), "slurm.conf") }
func slurmEnv(dir string) string  { return "SLURM_CONF=" + slurmConf(dir) }

// slurmConfig is the configuration: credentials by munge, as sites have it, and no
// accounting.
func slurmConfig(c *Config, track string) string {
	dir := slurmDir(c.Dir)
	lines := []string{
		"ClusterName=golaunch",
		"SlurmctldHost=" + Head,
		"SlurmUser=root",
		"SlurmdUser=root",
		"AuthType=auth/munge",
		"CredType=cred/munge",
		"StateSaveLocation=" + filepath.Join(dir, "state"),
		"SlurmdSpoolDir=/run/slurmd",
		"SlurmctldPidFile=/run/slurmctld.pid",
		"SlurmdPidFile=/run/slurmd.pid",
		"SlurmctldLogFile=" + filepath.Join(dir, "slurmctld.log"),
		"SlurmdLogFile=" + filepath.Join(dir, "%h.log"),
		"ProctrackType=proctrack/" + track,
		"TaskPlugin=task/none",
		"SelectType=select/cons_tres",
		"SelectTypeParameters=CR_CPU",
		"SchedulerType=sched/backfill", // the one that knows heterogeneous jobs
		"SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1",
		"MpiDefault=none",
		"AccountingStorageType=accounting_storage/none",
		"JobAcctGatherType=jobacct_gather/none",
		"ReturnToService=2",
		fmt.Sprintf("SlurmdTimeout=%d", int(c.SlurmSilence.Seconds())),
		"InactiveLimit=0",
		fmt.Sprintf("MessageTimeout=%d", int(c.SlurmPatience.Seconds())),
		"KillWait=20",
		"MinJobAge=300",
		"OverTimeLimit=0",
		"SlurmdParameters=config_overrides",
		fmt.Sprintf("NodeName=n[001-%03d] CPUs=%d State=UNKNOWN", c.Nodes, c.SlurmCPUs),
		"PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
	}
	return strings.Join(lines, "\n") + "\n"
}

// slurmCgroups has slurmd mount the freezer of cgroup v1 in a place of its own: it shows
// the node's part alone.
const slurmCgroups = "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/run/cgroup\nCgroupAutomount=yes\n"

func (p *netnsProvider) writeSlurmFiles() error {
	key := make([]byte, 128)
	if _, err := rand.Read(key); err != nil {
		return fmt.Errorf("munge key: %w", err)
	}
	track := "linuxproc"
	if p.state.Freezer != "" {
		track = "cgroup"
	}
	c := &p.state.Config
	dir := slurmDir(c.Dir)
	w := &fileWriter{}
	w.write(slurmConf(c.Dir), slurmConfig(c, track), 0o644)
	w.write(filepath.Join(dir, "cgroup.conf"), slurmCgroups, 0o644)
	w.write(filepath.Join(dir, "munge.key"), string(key), 0o400)
	if w.err == nil {
		w.err = os.Mkdir(filepath.Join(dir, "state"), 0o755)
	}
	return w.err
}

// startSlurm starts the daemons of all machines and waits until every node is idle.
func (p *netnsProvider) startSlurm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, slurmTimeout(p.state.Config.Nodes))
	defer cancel()
	if err := p.writeSlurmFiles(); err != nil {
		return err
	}
	head, err := p.state.node(Head)
	if err != nil {
		return err
	}
	if err := p.startSlurmOn(head); err != nil { // slurmd looks for it
		return fmt.Errorf("node %s: %w", Head, err)
	}
	err = p.eachNode(ctx, func(_ context.Context, n *Node) error {
		if n.Name == Head || n.Name == Outside {
			return nil
		}
		return p.startSlurmOn(n)
	})
	if err != nil {
		return err
	}
	return poll(ctx, func() error {
		cmd := p.slurmCommand("sinfo", "-h", "-t", "idle", "-o", "%D")
		out := &strings.Builder{}
		cmd.Stdout = out
		if err := p.startIn(head, cmd); err != nil {
			return err
		}
		err := cmd.Wait()
		idle, _ := strconv.Atoi(strings.TrimSpace(out.String())) // none prints nothing
		if err != nil || idle != p.state.Config.Nodes {
			return retry(fmt.Errorf("%d of %d nodes are idle", idle, p.state.Config.Nodes))
		}
		return nil
	})
}

// slurmCommand is a command of root's that knows the configuration.
func (p *netnsProvider) slurmCommand(argv ...string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", slurmEnv(p.state.Config.Dir)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// slurmScript starts munged and the daemon that is named, both of which leave their parent
// when they are up.
const slurmScript = `set -e
mkdir -p /run/munge /run/cgroup /run/slurmd
cp "$1/munge.key" /run/munge/key
munged --force --key-file=/run/munge/key --socket=/run/munge/munge.socket.2 \
	--pid-file=/run/munge/munged.pid --log-file=/run/munge/munged.log --seed-file=/run/munge/seed
exec "$2"`

// startSlurmOn starts the daemons of one machine.
func (p *netnsProvider) startSlurmOn(n *Node) error {
	daemon := "slurmd"
	if n.Name == Head {
		daemon = "slurmctld"
	}
	dir := slurmDir(p.state.Config.Dir)
	return p.startDaemon(n, daemon, dir, p.slurmCommand("sh", "-c", slurmScript, "sh", dir, daemon))
}

// makeFreezer makes a cgroup v1 for each machine in the freezer's hierarchy, by which
// Slurm tracks processes. On a machine without such a hierarchy nodes have none:
// Slurm's plugin for cgroup v2 wants a systemd, which nodes lack.
func (p *netnsProvider) makeFreezer() error {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return fmt.Errorf("freezer: %w", err)
	}
	root := freezerMount(string(b))
	if root == "" {
		return nil
	}
	p.state.Freezer = filepath.Join(root, "golaunch-cluster-"+p.state.ID)
	if err := p.state.save(); err != nil { // known to Down before it exists
		return err
	}
	if err := os.Mkdir(p.state.Freezer, 0o755); err != nil {
		return fmt.Errorf("freezer: %w", err)
	}
	for i := range p.state.Nodes {
		if err := os.Mkdir(p.freezerOf(&p.state.Nodes[i]), 0o755); err != nil {
			return fmt.Errorf("freezer: %w", err)
		}
	}
	return nil
}

func (p *netnsProvider) freezerOf(n *Node) string { return filepath.Join(p.state.Freezer, n.Name) }

// enterFreezer moves the current thread, which must be locked, and so all that it starts,
// into the freezer's cgroup of n. It is called before the thread changes its namespaces.
func (p *netnsProvider) enterFreezer(n *Node) error {
	if p.state.Freezer == "" {
		return nil
	}
	err := os.WriteFile(filepath.Join(p.freezerOf(n), "tasks"), []byte(strconv.Itoa(unix.Gettid())), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errGone
	}
	return err
}
