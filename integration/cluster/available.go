package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Unavailable returns the reason that provider netns cannot work here, or nil. Tests
// print it when they skip.
func Unavailable() error { return netnsAvailable(Config{Provider: Netns}) }

// DockerUnavailable returns the reason that provider docker cannot work here, or nil.
func DockerUnavailable() error { return dockerAvailable() }

func available(c Config) error {
	if c.Provider == Docker {
		return dockerAvailable()
	}
	return netnsAvailable(c)
}

func netnsAvailable(c Config) error {
	if uid := os.Geteuid(); uid != 0 {
		return fmt.Errorf("it makes namespaces and needs root, not user %d", uid)
	}
	tools := []string{"sshd", "ip", "bridge", "unshare", "mount", "env", "sleep"}
	if c.Edge != 0 || c.Uplink != 0 || c.Delay != 0 {
		tools = append(tools, "tc")
	}
	if c.Slurm {
		for _, program := range slurmPrograms {
			tools = append(tools, program[0])
		}
	}
	if c.GridEngine {
		if _, err := gridEngineTree(); err != nil {
			return err
		}
	}
	if c.Kex == KexOpenSSH10 {
		if _, err := openSSH10Tree(); err != nil {
			return err
		}
		tools = append(tools, "ssh")
	}
	for _, tool := range tools {
		if _, err := findTool(tool); err != nil {
			return err
		}
	}
	if exec.Command("env", "--ignore-signal=CHLD", "true").Run() != nil {
		return errors.New("env cannot ignore signals: it wants coreutils 8.31 or later")
	}
	// A container may have a root that is not allowed to.
	err := onThread(func() error {
		return unix.Unshare(unix.CLONE_FS | allNamespaces)
	})
	if err != nil {
		return fmt.Errorf("this root may not make namespaces: %w", err)
	}
	return nil
}

// findTool looks a program up in PATH and where administration programs are,
// which a plain PATH leaves out.
func findTool(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return filepath.Abs(path)
	}
	for _, dir := range []string{"/usr/sbin", "/sbin", "/usr/local/sbin"} {
		if path, err := exec.LookPath(dir + "/" + name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %s is not installed (Debian: %s)", name, debianPackage(name))
}

func debianPackage(tool string) string {
	for _, program := range slurmPrograms {
		if program[0] == tool {
			return program[1]
		}
	}
	switch tool {
	case "sshd":
		return "openssh-server"
	case "ssh":
		return "openssh-client"
	case "ip", "bridge", "tc":
		return "iproute2"
	case "env", "sleep":
		return "coreutils"
	case "docker":
		return "docker.io"
	case "debootstrap":
		return tool
	}
	return "util-linux"
}

// sshdPrograms finds the node's sshd and the program it executes for each
// connection, if that is another.
func sshdPrograms(c Config) (sshd, session string, err error) {
	if c.Provider == Docker {
		return imageSSHD, "", nil
	}
	if c.Kex == KexOpenSSH10 {
		return openSSH10 + "/sshd", openSSH10 + "/sshd-session", nil
	}
	if sshd, err = findTool("sshd"); err != nil {
		return "", "", err
	}
	// sshd may be a link, and is to be executed under another name.
	if sshd, err = filepath.EvalSymlinks(sshd); err != nil {
		return "", "", errors.Join(errors.New("sshd cannot be found"), err)
	}
	session, err = sessionProgram(sshd)
	return sshd, session, err
}

// unpacked finds the tree of a program from Debian 13, by the name of the script that
// unpacks it: in .cache of a folder above the working directory, or above this program.
func unpacked(name, program string) (string, error) {
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if self, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(self))
	}
	for _, dir := range starts {
		for ; dir != "/"; dir = filepath.Dir(dir) {
			tree := filepath.Join(dir, ".cache", name)
			if _, err := os.Stat(filepath.Join(tree, "complete")); err == nil {
				return filepath.EvalSymlinks(tree)
			}
		}
	}
	return "", fmt.Errorf("no %s in .cache: scripts/%s.sh unpacks it", program, name)
}
