package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/golaunch/golaunch/integration/cluster"
)

// slurmConf is for daemons of one evening: no accounts, no accounting, nodes
// that never count as lost, and as many ranks on a node as are asked for.
const slurmConf = `ClusterName=bench
SlurmctldHost=%[1]s
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
CredType=cred/none
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=/run/slurmd
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
SlurmctldLogFile=%[2]s/slurmctld.log
SlurmdLogFile=%[2]s/%%h.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
SlurmdTimeout=0
InactiveLimit=0
MinJobAge=2
SlurmdParameters=config_overrides
NodeName=%[3]s CPUs=64 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`

// cgroupConf keeps slurmd from the machine's cgroups, which nodes do not see.
const cgroupConf = `CgroupPlugin=cgroup/v1
CgroupMountpoint=/run/cgroup
CgroupAutomount=yes
`

// slurmLimit is how long the daemons of all nodes may take to be there.
const slurmLimit = 90 * time.Second

func (f *field) slurmDir() string { return filepath.Join(f.dir, "slurm") }

func (f *field) slurmEnv() []string {
	return []string{"SLURM_CONF=" + filepath.Join(f.slurmDir(), "slurm.conf")}
}

// startSlurm starts Slurm's daemons, one on each node. Where they do not come
// up, srun is left out with the reason.
func (f *field) startSlurm(ctx context.Context) {
	f.noSlurm = ""
	if err := f.slurmUp(ctx); err != nil {
		f.noSlurm = "its daemons did not come up: " + err.Error()
		f.tell("srun: %s", f.noSlurm)
	}
}

func (f *field) slurmUp(ctx context.Context) error {
	for _, program := range []string{"srun", "slurmctld", "slurmd"} {
		if _, err := exec.LookPath(program); err != nil {
			if _, err := os.Stat("/usr/sbin/" + program); err != nil {
				return fmt.Errorf("%s is not installed (Debian: slurm-wlm)", program)
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, slurmLimit)
	defer cancel()
	if err := os.MkdirAll(filepath.Join(f.slurmDir(), "state"), 0o755); err != nil {
		return err
	}
	conf := fmt.Sprintf(slurmConf, cluster.Head, f.slurmDir(), fmt.Sprintf("n[001-%03d]", len(f.Nodes())))
	f.write("slurm/slurm.conf", conf)
	f.write("slurm/cgroup.conf", cgroupConf)
	if err := f.daemon(ctx, cluster.Head, "slurmctld"); err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(floorWindow)
	for _, n := range f.Nodes() {
		group.Go(func() error { return f.daemon(ctx, n.Name, "slurmd") })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return f.slurmIdle(ctx)
}

// daemon starts one that leaves its parent when it is up.
func (f *field) daemon(ctx context.Context, node, name string) error {
	cmd := f.CommandContext(ctx, node, "/bin/sh", "-c", "mkdir -p /run/cgroup /run/slurmd && exec /usr/sbin/"+name)
	cmd.Env = append(cmd.Env, f.slurmEnv()...)
	if err := cmd.Run(); err != nil {
		log, _ := os.ReadFile(filepath.Join(f.slurmDir(), node+".log")) // without it there is less to say
		return failure(ctx, fmt.Errorf("%s on %s: %w", name, node, err), slurmLimit, string(bytes.TrimSpace(log)))
	}
	return nil
}

// slurmIdle waits until all nodes have said that they are there.
func (f *field) slurmIdle(ctx context.Context) error {
	for {
		cmd := f.CommandContext(ctx, cluster.Head, "sinfo", "-h", "-t", "idle", "-o", "%D")
		cmd.Env = append(cmd.Env, f.slurmEnv()...)
		out, err := cmd.Output()
		idle, _ := strconv.Atoi(strings.TrimSpace(string(out))) // none prints nothing
		if err == nil && idle == len(f.Nodes()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d nodes are idle after %v", idle, len(f.Nodes()), slurmLimit)
		case <-time.After(500 * time.Millisecond):
		}
	}
}
