package slurmboot

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

const (
	name = "slurm"
	// hostVariable has the node's name in each task.
	hostVariable = "SLURMD_NODENAME"
	// patience is the time that agents may take to call: that of srun with a node that
	// does not answer (MessageTimeout, 10 s, and some), after which the others are
	// started again.
	patience = time.Minute
)

// Kind returns this bootstrap's entry for the registry.
func Kind() bootstrap.Kind {
	return bootstrap.Kind{
		Name:       name,
		Bulk:       true,
		Patience:   patience,
		Serves:     serves,
		CheckHosts: checkHosts,
		Open:       open,
	}
}

// serves tells whether hosts are an allocation's in which srun can start agents.
func serves(getenv func(string) string, hosts []job.Host) (serves bool, why string) {
	groups, err := hostlist.SlurmGroups(getenv)
	if err != nil || len(groups) == 0 || getenv("SLURM_JOB_ID") == "" {
		return false, ""
	}
	if err := foreign(groups, hosts); err != nil {
		return false, err.Error()
	}
	if !overlaps(getenv, helpTime) {
		return false, "no srun that has --overlap (Slurm 20.11) answers"
	}
	return true, ""
}

// foreign is the error of the first host that srun cannot start an agent on.
func foreign(groups [][]job.Host, hosts []job.Host) error {
	if len(groups) == 0 {
		return errors.New("this is no job of Slurm's: SLURM_JOB_NODELIST is not set")
	}
	group := groupOf(groups)
	for _, h := range hosts {
		if _, ok := group[h.Name]; !ok {
			return fmt.Errorf("%s: host %s is not of this job's allocation", h.Pos, h.Name)
		}
		if h.User != "" || h.Port != 0 {
			return fmt.Errorf("%s: host %s has a user or a port, of which srun knows nothing", h.Pos, h.Name)
		}
	}
	return nil
}

// groupOf maps each host of an allocation to the first component that has it.
func groupOf(groups [][]job.Host) map[string]int {
	group := make(map[string]int)
	for i, hosts := range slices.Backward(groups) {
		for _, h := range hosts {
			group[h.Name] = i
		}
	}
	return group
}

// helpTime is the time that srun may take to list its flags. It reads the cluster's
// configuration first, for which it may ask a name server and slurmctld.
const helpTime = 5 * time.Second

// overlaps tells whether there is an srun whose steps may share the resources of the
// job's others: since Slurm 20.11. Without that a step in a step waits for ever. An
// srun that does not answer starts no agents either.
func overlaps(getenv func(string) string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, "srun", "--help")
	cmd.Env = environ(getenv)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endGroup(cmd, syscall.SIGKILL)
	help, err := cmd.Output()
	return err == nil && strings.Contains(string(help), "--overlap")
}

// checkHosts refuses hosts that srun cannot start.
func checkHosts(getenv func(string) string, _ bootstrap.Values, hosts []job.Host) error {
	groups, err := hostlist.SlurmGroups(getenv)
	if err == nil {
		err = foreign(groups, hosts)
	}
	if err != nil {
		return fmt.Errorf("--bootstrap %s: %w", name, err)
	}
	return nil
}

func open(_ context.Context, j bootstrap.Job) (*bootstrap.Opened, error) {
	path, err := exec.LookPath("srun")
	if err != nil {
		return nil, job.Exit(job.ExitUsage, "--bootstrap %s: srun is not in PATH; --bootstrap ssh does without", name)
	}
	groups, err := hostlist.SlurmGroups(j.Getenv)
	if err != nil {
		return nil, err
	}
	b := &Bulk{Program: path, Env: environ(j.Getenv), Note: j.Note}
	if len(groups) > 1 {
		b.Group = groupOf(groups)
	}
	return &bootstrap.Opened{Bulk: b, HostVariable: hostVariable, Together: true}, nil
}
