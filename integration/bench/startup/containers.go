package startup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// dockerExecName is the floor of starts without sshd: docker exec for each
// container, eight at a time, each of which runs a shell's loop.
const dockerExecName = "docker exec"

// containerLaunchers returns the launchers that the image of the containers has.
func containerLaunchers() []contender {
	return named(floorName, golaunchName, copiedName, hydraName, openMPIName, pdshName)
}

// execJobs starts ranks in containers by docker exec from this machine, which has the
// engine's client.
func (b *bench) execJobs(ctx context.Context, f *field) error {
	for _, ppn := range append([]int{1}, b.ranks...) {
		t := task{nodes: b.most(full), ppn: ppn, program: trueProgram}
		list := []runner{
			{name: dockerExecName, here: true, argv: []string{"xargs", "-a", f.containers(t.nodes), "-P", strconv.Itoa(floorWindow), "-I{}",
				"docker", "exec", "{}", "sh", "-c", loop(t.program, t.ppn)}},
			{name: golaunchName, here: true, argv: append([]string{filepath.Join(b.bin, "golaunch"), "-f", f.containers(t.nodes), "--bootstrap", "exec",
				"--exec-command", "docker exec -i {host} {command}", "-n", t.ranks(), "-N", strconv.Itoa(t.ppn)}, t.program...)},
		}
		if err := b.hold(ctx, f, place{partExec, f.kex, t.nodes, ppn, "true"}, list); err != nil {
			return err
		}
	}
	return nil
}

// containers returns a file that names the first nodes as the engine does.
func (f *field) containers(nodes int) string {
	var b strings.Builder
	for _, n := range f.Nodes()[:nodes] {
		b.WriteString(f.Container(n.Name) + "\n")
	}
	return f.write(fmt.Sprint("containers-", nodes), b.String())
}

// timedWord, as its first argument, makes bench a clock that runs on head: the way
// there of the engine's client is no launcher's time.
const timedWord = "timed"

// timedCommand returns a command that writes its wall time and its own processor time
// to a file, in nanoseconds.
func (f *field) timedCommand(argv []string) (timed []string, file string) {
	file = filepath.Join(f.dir, "took")
	return append([]string{f.self, "startup", timedWord, file}, argv...), file
}

func timed(args []string) error {
	if len(args) < 2 {
		return errors.New("timed: want a file and a command")
	}
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	begun := time.Now()
	err := cmd.Run()
	wall := time.Since(begun)
	if err == nil {
		text := fmt.Sprintln(begun.UnixNano(), int64(wall), int64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
		return os.WriteFile(args[0], []byte(text), 0o644)
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		os.Exit(exit.ExitCode())
	}
	return err
}

// readTimed reads the times that timed wrote.
func readTimed(file string, r *reading) (begun time.Time, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return begun, err
	}
	var began, wall, self int64
	if _, err := fmt.Sscan(string(text), &began, &wall, &self); err != nil {
		return begun, fmt.Errorf("%s: %q: %w", file, text, err)
	}
	r.wall, r.self = time.Duration(wall), time.Duration(self)
	return time.Unix(0, began), os.Remove(file)
}

// aboutContainers describes the containers of the measurements: a sentence each.
func aboutContainers(bin string) []string {
	lines := about(bin)[:1]
	for _, p := range []struct{ program, flag, mark string }{
		{bin + "/golaunch", "--version", "golaunch"}, {"docker", "--version", "Docker"},
	} {
		lines = append(lines, version(p.program, p.flag, p.mark))
	}
	if out, err := exec.Command("docker", "info", "--format", "engine {{.ServerVersion}}, storage {{.Driver}}, cgroup v{{.CgroupVersion}}").Output(); err == nil {
		lines = append(lines, strings.TrimSpace(string(out)))
	}
	for _, p := range []struct{ program, flag, mark string }{
		{"/usr/sbin/sshd", "-V", "OpenSSH"}, {"mpiexec.hydra", "--version", "Version:"}, {"mpirun.openmpi", "--version", "OpenRTE"}, {"pdsh", "-V", "pdsh"},
	} {
		out, _ := exec.Command("docker", "run", "--rm", "--entrypoint", p.program, cluster.NodeImage, p.flag).CombinedOutput() // old sshds call it an error
		if v := marked(p.program, string(out), p.mark); v != "" {
			lines = append(lines, v)
		}
	}
	return lines
}

// local makes a command of this machine that is ended with its children.
func local(ctx context.Context, argv []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return cmd
}
