package execboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

const (
	sgeName = "sge"
	// sgeCommand has the command in one word: qrsh joins its words, for a shell.
	sgeCommand = "qrsh -inherit {host} '{command}'"
	// environmentWait is the time that qconf may take to tell of a parallel
	// environment.
	environmentWait = 2 * time.Second
)

// SGE starts agents in a job of Grid Engine, as tasks of its parallel environment. The
// launcher's own host needs none: there Grid Engine may have no task left to give, the
// script being the first.
func SGE() bootstrap.Kind {
	k := preset(sgeName, sgeCommand)
	k.Serves = sgeServes
	k.CheckHosts = func(getenv func(string) string, _ bootstrap.Values, hosts []job.Host) error {
		if err := sgeForeign(getenv, hosts); err != nil {
			return fmt.Errorf("--bootstrap %s: %w", sgeName, err)
		}
		return nil
	}
	k.Open = func(ctx context.Context, j bootstrap.Job) (*bootstrap.Opened, error) {
		program, err := qrsh(j.Getenv)
		if err != nil {
			return nil, job.Exit(job.ExitUsage, "--bootstrap %s: %w", sgeName, err)
		}
		word, err := bootstrap.CommandLine([]string{program})
		if err != nil {
			return nil, err
		}
		return open(ctx, setup{Command: word + strings.TrimPrefix(sgeCommand, "qrsh"), Here: sgeHere(j.Getenv, j.Hosts)}, j)
	}
	return k
}

// sgeServes tells whether hosts are of a job of Grid Engine in which qrsh starts tasks:
// its parallel environment controls them, unless Grid Engine says that it does not.
func sgeServes(getenv func(string) string, hosts []job.Host) (serves bool, why string) {
	if getenv("JOB_ID") == "" || getenv("SGE_ROOT") == "" || getenv("PE_HOSTFILE") == "" {
		return false, ""
	}
	err := sgeForeign(getenv, hosts)
	if err != nil {
		return false, err.Error()
	}
	program, err := qrsh(getenv)
	if err != nil {
		return false, err.Error()
	}
	return sgeControls(program, getenv("PE")), "" // its administrators want ssh otherwise
}

// sgeControls asks the qconf beside a qrsh whether a parallel environment controls the
// tasks of its jobs. Without an answer they may be: hosts of jobs are not always
// allowed to ask.
func sgeControls(qrsh, environment string) bool {
	if environment == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), environmentWait)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(qrsh), "qconf"), "-sp", environment)
	cmd.WaitDelay = environmentWait
	out, err := cmd.Output()
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "control_slaves" {
			return !strings.EqualFold(f[1], "FALSE")
		}
	}
	return true
}

// qrsh finds that program in PATH, or else where Grid Engine has it, which is not in the
// PATH of every job.
func qrsh(getenv func(string) string) (string, error) {
	if path, err := exec.LookPath("qrsh"); err == nil {
		return path, nil
	}
	if root, arch := getenv("SGE_ROOT"), getenv("ARC"); root != "" && arch != "" {
		if path, err := exec.LookPath(filepath.Join(root, "bin", arch, "qrsh")); err == nil {
			return path, nil
		}
	}
	return "", errors.New("qrsh is neither in PATH nor in $SGE_ROOT/bin/$ARC; --bootstrap ssh does without")
}

// sgeForeign is the error of the first host that qrsh cannot start an agent on.
func sgeForeign(getenv func(string) string, hosts []job.Host) error {
	given, err := hostlist.GridEngine(hostlist.Environment{Getenv: getenv, Read: readFile})
	if err != nil {
		return err
	}
	if len(given) == 0 {
		return errors.New("this is no parallel job of Grid Engine's: PE_HOSTFILE is not set")
	}
	for _, h := range hosts {
		if !slices.ContainsFunc(given, func(g job.Host) bool { return g.Name == h.Name }) {
			return fmt.Errorf("%s: host %s is not of this job's allocation", h.Pos, h.Name)
		}
		if h.User != "" || h.Port != 0 {
			return fmt.Errorf("%s: host %s has a user or a port, of which qrsh knows nothing", h.Pos, h.Name)
		}
	}
	return nil
}

func readFile(name string, read func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return read(f)
}

// sgeHere returns the name, among hosts, of the one where this process is; "" if there is
// none. Grid Engine sets HOSTNAME to the name that it has for it, which counts where
// the machine's own is none of theirs: a shell may have brought it from elsewhere.
func sgeHere(getenv func(string) string, hosts []job.Host) string {
	own, err := os.Hostname()
	names := []string{own, getenv("HOSTNAME")}
	if err != nil {
		names = names[1:]
	}
	for _, name := range names {
		if name != "" && slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Name == name }) {
			return name
		}
	}
	return ""
}
