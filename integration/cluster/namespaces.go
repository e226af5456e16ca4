package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// privateDirs are the places where each node has its own, empty file system
// instead of the host's directory.
var privateDirs = []struct {
	path, options string
}{
	{"/tmp", "mode=1777"},
	{"/dev/shm", "mode=1777"},
	{"/run", "mode=755"},
	{"/var/log", "mode=755"},
}

// makeNamespaces moves the current, locked thread into new namespaces and
// arranges them as n's. Those that only a process inside can make are left to process
// 1: the PID and cgroup namespace, /proc, cgroups.
func makeNamespaces(s *state, n *Node) error {
	flags := unix.CLONE_FS | unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWNS
	if err := unix.Unshare(flags); err != nil {
		return fmt.Errorf("make namespaces: %w", err)
	}
	if err := unix.Sethostname([]byte(n.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if !s.Config.IPv6Only {
		if err := quietIPv6(); err != nil {
			return err
		}
	}
	if err := arrangeMounts(&s.Config, n); err != nil {
		return err
	}
	return bindOpenSSH10(s.OpenSSH10)
}

// quietIPv6 keeps interfaces made later in the current network namespace from
// sending IPv6's announcements, which would count as a node's packets.
func quietIPv6() error {
	err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("disable IPv6: %w", err)
	}
	return nil
}

// arrangeMounts makes the node's view of the file system in the current mount
// namespace: the host's root with private places.
func arrangeMounts(c *Config, n *Node) error {
	// Nodes shall not keep file systems busy that the host unmounts later, and the host
	// shall not see mounts made here.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Commands run in the caller's working directory.
	wd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	hidden, err := hideShared(append([]string{wd, c.Dir}, c.Share...))
	if err != nil {
		return err
	}
	defer hidden.close()
	for _, d := range privateDirs {
		if err := mountTmpfs(d.path, d.options); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/run/sshd", 0o755); err != nil { // sshd's empty directory
		return fmt.Errorf("make /run/sshd: %w", err)
	}
	if err := hidden.show(); err != nil {
		return err
	}
	if ssh := filepath.Join(hostHome(), ".ssh"); isDir(ssh) {
		if err := mountTmpfs(ssh, "mode=700,size=4k"); err != nil { // the host's keys
			return err
		}
	}
	if err := isolateNodeFiles(c.Dir, n.Name); err != nil {
		return err
	}
	if err := bindEtc(c.Dir, n.Name); err != nil {
		return err
	}
	// A new sysfs shows the interfaces of this network namespace. The old one
	// goes with all that is mounted on it: programs that look for cgroups in
	// the list of mounts shall find the node's.
	if err := unix.Unmount("/sys", unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("unmount /sys: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	return nil
}

func mountTmpfs(path, options string) error {
	if !isDir(path) {
		return nil // nothing to hide
	}
	if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// bind makes what an open file refers to appear at path.
func bind(fd int, path string) error {
	from := fmt.Sprintf("/proc/thread-self/fd/%d", fd)
	if err := unix.Mount(from, path, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %s: %w", path, err)
	}
	return nil
}

// held are paths that are about to be hidden, kept by open files.
type held []struct {
	path string
	fd   int
	dir  bool
}

// hideShared opens those of the paths that the private directories will hide.
func hideShared(paths []string) (held, error) {
	var h held
	for _, path := range paths {
		if !isPrivate(path) {
			continue
		}
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			h.close()
			return nil, fmt.Errorf("share %s: %w", path, err)
		}
		h = append(h, struct {
			path string
			fd   int
			dir  bool
		}{path, fd, isDir(path)})
	}
	return h, nil
}

// show makes the paths visible again.
func (h held) show() error {
	for _, s := range h {
		if err := makeMountPoint(s.path, s.dir); err != nil {
			return fmt.Errorf("share %s: %w", s.path, err)
		}
		if err := bind(s.fd, s.path); err != nil {
			return err
		}
	}
	return nil
}

func (h held) close() {
	for _, s := range h {
		closeFD(s.fd)
	}
}

func makeMountPoint(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

func isPrivate(path string) bool {
	for _, d := range privateDirs {
		if strings.HasPrefix(path, d.path+"/") {
			return true
		}
	}
	return false
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// isolateNodeFiles leaves of DIR/nodes only the node's own directory, so that
// head's key is on no other node.
func isolateNodeFiles(dir, name string) error {
	own := string(nodeFiles(dir, name))
	fd, err := unix.Open(own, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", own, err)
	}
	defer closeFD(fd)
	if err := mountTmpfs(filepath.Dir(own), "mode=755,size=64k"); err != nil {
		return err
	}
	if err := os.Mkdir(own, 0o755); err != nil {
		return fmt.Errorf("make %s: %w", own, err)
	}
	return bind(fd, own)
}

// bindEtc puts the node's account and name files in the place of the host's.
func bindEtc(dir, name string) error {
	files := etcFiles(dir, name)
	if _, err := os.Stat(groupFile(dir)); err == nil {
		files["group"] = groupFile(dir)
	}
	for file, from := range files {
		target := filepath.Join("/etc", file)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			if file == "passwd" || file == "hosts" {
				return fmt.Errorf("%s is missing on this machine: a node cannot have its own", target)
			}
			continue
		}
		if err := unix.Mount(from, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", target, err)
		}
	}
	return nil
}
