package cluster

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// The public files of a cluster, seen by all its machines.
func hostFile(dir string) string         { return filepath.Join(dir, "hosts") }
func sshConfig(dir string) string        { return filepath.Join(dir, "ssh_config") }
func knownHosts(dir string) string       { return filepath.Join(dir, "known_hosts") }
func outsideSSHConfig(dir string) string { return filepath.Join(dir, "outside", "ssh_config") }

// etcFiles maps files of /etc on a node to the cluster's files in their place. Names
// come from /etc/hosts alone: there is no name server.
func etcFiles(dir, name string) map[string]string {
	hosts := filepath.Join(dir, "etc", "hosts")
	if name == Outside {
		hosts = nodeFiles(dir, name).in("hosts")
	}
	return map[string]string{
		"hosts":         hosts,
		"hostname":      nodeFiles(dir, name).in("hostname"),
		"passwd":        nodeFiles(dir, name).in("passwd"),
		"shadow":        filepath.Join(dir, "etc", "shadow"),
		"nsswitch.conf": filepath.Join(dir, "etc", "nsswitch.conf"),
	}
}

// groupFile is the groups of nodes whose account is an ordinary user.
func groupFile(dir string) string { return filepath.Join(dir, "etc", "group") }

// group names the groups that a user of a node may have.
func group(user string) string {
	return fmt.Sprintf("root:x:0:\ntty:x:5:\nshadow:x:42:\n%s:x:%d:\nnogroup:x:65534:\n", user, userID)
}

const nsswitch = "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"

// shadow lets accounts in by key only; a locked one ("!") would be kept out.
func shadow(user string) string {
	line := func(name string) string { return name + ":*:19000:0:99999:7:::\n" }
	if user == Root {
		return line(Root)
	}
	return line(Root) + line(user)
}

// userID is the user and group of a Config.User that is not root.
const userID = 21000

// writeFiles writes all files of a cluster, with fresh keys.
func writeFiles(s *state) error {
	dir := s.Config.Dir
	w := &fileWriter{}
	var keys [2]ssh.Signer // of head and outside
	for i, name := range []string{Head, Outside} {
		keys[i] = w.key(nodeFiles(dir, name).key(), "golaunch test cluster "+name)
	}
	if w.err != nil {
		return w.err
	}
	authorized := string(ssh.MarshalAuthorizedKey(keys[0].PublicKey())) + string(ssh.MarshalAuthorizedKey(keys[1].PublicKey()))
	accounts, err := otherAccounts(s.Config.Provider)
	if err != nil {
		return err
	}
	var known strings.Builder
	for i := range s.Nodes {
		n := &s.Nodes[i]
		f := nodeFiles(dir, n.Name)
		w.write(f.in("home/.ssh/authorized_keys"), authorized, 0o600)
		w.write(f.in("hostname"), n.Name+"\n", 0o644)
		w.write(f.in("passwd"), passwd(accounts, s.Config.User, f.home()), 0o644)
		w.write(f.sshdConfig(), sshdConfig(s, n), 0o644)
		host := w.key(f.in("host_key"), n.Name)
		if w.err != nil {
			return w.err
		}
		names := n.Name + "," + n.Addr.String()
		if n.ExtAddr.IsValid() {
			names += "," + n.ExtAddr.String()
		}
		known.WriteString(names + " " + string(ssh.MarshalAuthorizedKey(host.PublicKey())))
		w.link(cmp.Or(s.Session, s.SSHD), f.session())
	}
	w.write(filepath.Join(dir, "etc", "hosts"), etcHosts(s.Nodes), 0o644)
	w.write(filepath.Join(dir, "etc", "nsswitch.conf"), nsswitch, 0o644)
	w.write(filepath.Join(dir, "etc", "shadow"), shadow(s.Config.User), 0o600)
	if s.Config.User != Root {
		w.write(groupFile(dir), group(s.Config.User), 0o644)
	}
	w.write(nodeFiles(dir, Outside).in("hosts"), outsideHosts(s.Nodes), 0o644)
	w.write(knownHosts(dir), known.String(), 0o644)
	w.write(hostFile(dir), hostList(s.Config.Nodes), 0o644)
	for i, name := range []string{Head, Outside} {
		config := sshClientConfig(&s.Config, name)
		w.write([]string{sshConfig(dir), outsideSSHConfig(dir)}[i], config, 0o644)
		// Programs that run plain ssh, such as mpiexec, find it here.
		w.write(nodeFiles(dir, name).in("home/.ssh/config"), config, 0o600)
	}
	if w.err == nil && s.Config.User != Root {
		w.err = giveHomes(s)
	}
	return w.err
}

// giveHomes makes every node's home the ordinary user's.
func giveHomes(s *state) error {
	for i := range s.Nodes {
		err := filepath.WalkDir(nodeFiles(s.Config.Dir, s.Nodes[i].Name).home(), func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return os.Lchown(path, userID, userID)
		})
		if err != nil {
			return fmt.Errorf("give a home to %s: %w", s.Config.User, err)
		}
	}
	return nil
}

// removeFiles removes the files of writeFiles and the nodes, state.json last.
func removeFiles(s *state) error {
	dir := s.Config.Dir
	for _, name := range []string{"nodes", "etc", "outside", "slurm", "gridengine", "hosts", "ssh_config", "known_hosts", "docker", "state.json.new", "state.json." + s.ID, "state.json"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("remove the cluster's files: %w", err)
		}
	}
	// The directory stays if it holds something else.
	err := os.Remove(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EBUSY) {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	if dir == DefaultDir() {
		_ = os.Remove(filepath.Dir(dir)) // stays where others use it
	}
	return nil
}

// etcHosts names all nodes and head.
func etcHosts(nodes []Node) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, n := range nodes {
		if n.Name != Outside {
			fmt.Fprintf(&b, "%v %s\n", n.Addr, n.Name)
		}
	}
	return b.String()
}

// outsideHosts names the machines that outside can reach.
func outsideHosts(nodes []Node) string {
	var b strings.Builder
	b.WriteString("127.0.0.1 localhost\n")
	for _, n := range nodes {
		switch n.Name {
		case Head:
			fmt.Fprintf(&b, "%v %s\n", n.ExtAddr, n.Name)
		case Outside:
			fmt.Fprintf(&b, "%v %s\n", n.Addr, n.Name)
		}
	}
	return b.String()
}

func hostList(nodes int) string {
	var b strings.Builder
	for i := range nodes {
		b.WriteString(NodeName(i+1) + "\n")
	}
	return b.String()
}

// imageAccounts are those of the node image that sshd needs beside root.
const imageAccounts = "sshd:*:100:65534::/run/sshd:/usr/sbin/nologin\nnobody:*:65534:65534::/nonexistent:/usr/sbin/nologin\n"

func otherAccounts(provider string) (string, error) {
	if provider == Docker {
		return imageAccounts, nil
	}
	b, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "", fmt.Errorf("account file: %w", err)
	}
	return string(b), nil
}

// passwd is an account file with a root, and a user, whose home and shell are
// clean: a slow start-up file would add its time to every connection.
func passwd(host, user, home string) string {
	var b strings.Builder
	b.WriteString("root:*:0:0:root:" + home + ":/bin/sh\n")
	if user != Root {
		fmt.Fprintf(&b, "%s:*:%d:%d:%s:%s:/bin/sh\n", user, userID, userID, user, home)
	}
	for line := range strings.Lines(host) {
		if !strings.HasPrefix(line, "root:") && !strings.HasPrefix(line, user+":") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// hostHome is root's home on the host.
func hostHome() string {
	b, err := os.ReadFile("/etc/passwd")
	if err != nil {
		return "/root"
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Split(line, ":"); len(f) == 7 && f[0] == "root" {
			return f[5]
		}
	}
	return "/root"
}

// fileWriter writes files and keeps the first error.
type fileWriter struct{ err error }

func (w *fileWriter) write(path, content string, mode fs.FileMode) {
	if w.err == nil {
		w.err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if w.err == nil {
		w.err = os.WriteFile(path, []byte(content), mode)
	}
}

func (w *fileWriter) link(target, path string) {
	if w.err == nil {
		w.err = os.Symlink(target, path)
	}
}

// key makes an ed25519 key, writes its private half and returns its signer,
// which is nil after an error.
func (w *fileWriter) key(path, comment string) ssh.Signer {
	if w.err != nil {
		return nil
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		w.err = fmt.Errorf("make key: %w", err)
		return nil
	}
	block, err := ssh.MarshalPrivateKey(private, comment)
	if err != nil {
		w.err = fmt.Errorf("make key: %w", err)
		return nil
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		w.err = fmt.Errorf("make key: %w", err)
		return nil
	}
	w.write(path, string(pem.EncodeToMemory(block)), 0o600)
	return signer
}
