package startup

import (
	"os/exec"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/results"
)

// about describes the machine and the programs of the measurements: a sentence each.
func about(bin string) []string {
	lines := []string{results.Machine()}
	for _, p := range []struct{ program, flag, mark string }{
		{bin + "/golaunch", "--version", "golaunch"}, {"sshd", "-V", "OpenSSH"}, {"mpiexec.hydra", "--version", "Version:"}, {"mpirun.openmpi", "--version", "OpenRTE"},
		{"pdsh", "-V", "pdsh"}, {"clush", "--version", "clush"}, {"taktuk", "--version", "TakTuk"}, {"slurmctld", "-V", "slurm"},
	} {
		if v := version(p.program, p.flag, p.mark); v != "" {
			lines = append(lines, v)
		}
	}
	return lines
}

// version returns the first line that a program prints with mark in it, or "".
func version(program, flag, mark string) string {
	path, err := exec.LookPath(program)
	if err != nil {
		path = "/usr/sbin/" + program
	}
	out, _ := exec.Command(path, flag).CombinedOutput() // old sshds call it an error
	return marked(program, string(out), mark)
}

// marked returns the first line of a program's output that has mark in it, or "".
func marked(program, out, mark string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, mark) {
			line = strings.Join(strings.Fields(line), " ")
			if strings.HasPrefix(line, mark) && mark != "Version:" {
				return line
			}
			return program + " " + line
		}
	}
	return ""
}
