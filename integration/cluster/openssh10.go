package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// openSSH10 is the folder of OpenSSH 10 on nodes: scripts/openssh10.sh writes this name
// into its programs and their loader.
const openSSH10 = "/run/openssh10"

// OpenSSH10Unavailable returns the reason that no cluster with OpenSSH 10 can be made
// here, or nil.
func OpenSSH10Unavailable() error {
	return netnsAvailable(Config{Provider: Netns, Kex: KexOpenSSH10})
}

func openSSH10Tree() (string, error) { return unpacked("openssh10", "OpenSSH 10") }

// OpenSSH10Version returns the version of the unpacked OpenSSH 10 in its sshd's words,
// or the error that keeps it from running; "" where it is not unpacked.
func OpenSSH10Version() string {
	tree, err := openSSH10Tree()
	if err != nil {
		return ""
	}
	in := func(name string) string { return filepath.Join(tree, name) }
	out, _ := exec.Command(in("ld.so"), "--library-path", in("lib"), in("sshd"), "-V").CombinedOutput() // its output has the error
	return strings.TrimSpace(string(out))
}

// bindOpenSSH10 gives the current mount namespace the programs in tree, if there are any,
// and has its ssh in the place of the host's, which rivals and trees of theirs run.
func bindOpenSSH10(tree string) error {
	if tree == "" {
		return nil
	}
	if err := os.Symlink(tree, openSSH10); err != nil {
		return fmt.Errorf("link OpenSSH 10: %w", err)
	}
	ssh, err := findTool("ssh")
	if err != nil {
		return err
	}
	if ssh, err = filepath.EvalSymlinks(ssh); err != nil {
		return fmt.Errorf("ssh cannot be found: %w", err)
	}
	if err := unix.Mount(filepath.Join(tree, "ssh"), ssh, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", ssh, err)
	}
	return nil
}
