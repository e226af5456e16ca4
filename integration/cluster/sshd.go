package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

var errNoSSHD = errors.New("it has no sshd")

// sshdConfig is the configuration of a node's sshd: keys only, no names
// looked up, nothing printed, nothing run but the command.
func sshdConfig(s *state, n *Node) string {
	f := nodeFiles(s.Config.Dir, n.Name)
	lines := []string{
		"Port 22",
		"ListenAddress " + listenAddress(s.Config),
		"HostKey " + f.in("host_key"),
		"PidFile " + f.sshdPID(),
		"AuthorizedKeysFile " + f.in("home/.ssh/authorized_keys"),
		"StrictModes no",
		"PermitRootLogin prohibit-password",
		"PubkeyAuthentication yes",
		"PasswordAuthentication no",
		"KbdInteractiveAuthentication no",
		"UsePAM no",
		"UseDNS no",
		"PermitUserRC no",
		"PrintMotd no",
		"PrintLastLog no",
		"MaxStartups " + s.Config.MaxStartups,
	}
	if s.Config.Kex == KexCurve25519 {
		lines = append(lines, "KexAlgorithms curve25519-sha256")
	}
	if len(s.Config.SessionEnv) > 0 {
		line := "SetEnv"
		for _, v := range s.Config.SessionEnv {
			line += ` "` + v + `"`
		}
		lines = append(lines, line)
	}
	if s.Session != "" {
		lines = append(lines, "SshdSessionPath "+f.session())
	}
	if s.Config.Kex == KexOpenSSH10 {
		lines = append(lines, "SshdAuthPath "+openSSH10+"/sshd-auth")
	}
	return strings.Join(lines, "\n") + "\n"
}

// listenAddress is any of a node's.
func listenAddress(c Config) string {
	if c.IPv6Only {
		return "::"
	}
	return "0.0.0.0"
}

// sshClientConfig is the ssh_config for use on head or outside.
func sshClientConfig(c *Config, from string) string {
	var b strings.Builder
	if from == Outside {
		b.WriteString("Host n*\n\tProxyJump " + Head + "\n")
	}
	b.WriteString("Host *\n")
	lines := []string{
		"User " + c.User,
		"IdentityFile " + nodeFiles(c.Dir, from).key(),
		"IdentitiesOnly yes",
		"UserKnownHostsFile " + knownHosts(c.Dir),
		"GlobalKnownHostsFile /dev/null",
		"StrictHostKeyChecking yes",
		"BatchMode yes",
	}
	if c.Kex == KexCurve25519 {
		lines = append(lines, "KexAlgorithms curve25519-sha256")
	}
	for _, l := range lines {
		b.WriteString("\t" + l + "\n")
	}
	return b.String()
}

// sessionProgram is the program that sshd executes for each connection, where
// that is another than sshd itself: since OpenSSH 9.8.
func sessionProgram(sshd string) (string, error) {
	out, _ := exec.Command(sshd, "-V").CombinedOutput() // older ones name their version in an error
	major, minor, err := parseVersion(string(out))
	if err != nil {
		return "", fmt.Errorf("%s: %w", sshd, err)
	}
	if major < 9 || major == 9 && minor < 8 {
		return "", nil
	}
	places := []string{"/usr/lib/openssh", "/usr/libexec/openssh", "/usr/libexec", "/usr/lib/ssh"}
	for _, dir := range places {
		if path := dir + "/sshd-session"; isFile(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: its sshd-session is in none of %s", sshd, strings.Join(places, ", "))
}

var versionPattern = regexp.MustCompile(`OpenSSH_([0-9]{1,3})\.([0-9]{1,3})`)

// parseVersion finds OpenSSH's version in the output of sshd -V.
func parseVersion(out string) (major, minor int, err error) {
	m := versionPattern.FindStringSubmatch(out)
	if m == nil {
		return 0, 0, fmt.Errorf("not OpenSSH's sshd: it says %.100q", out)
	}
	major, _ = strconv.Atoi(m[1]) // digits, by the pattern
	minor, _ = strconv.Atoi(m[2])
	return major, minor, nil
}

func isFile(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular()
}

// startSSHD starts the sshd of n and waits until it listens, which it says by
// writing its PID file.
func (p *netnsProvider) startSSHD(ctx context.Context, n *Node) error {
	f := nodeFiles(p.state.Config.Dir, n.Name)
	if err := os.Remove(f.sshdPID()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start sshd: %w", err)
	}
	// sshd executes its own argv[0] for each connection: our link.
	cmd := &exec.Cmd{Path: p.state.SSHD, Args: []string{f.session(), "-f", f.sshdConfig(), "-E", f.sshdLog()},
		Dir: "/", Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := p.startBound(n, cmd); err != nil {
		return fmt.Errorf("start sshd: %w", err)
	}
	if err := cmd.Wait(); err != nil { // the daemon goes on without it
		return fmt.Errorf("start sshd: %w%s", err, logOf(f))
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return poll(ctx, func() error {
		if _, err := listenerPID(f); err != nil {
			return retry(fmt.Errorf("sshd does not listen%s", logOf(f)))
		}
		return nil
	})
}

func logOf(f files) string {
	log, err := os.ReadFile(f.sshdLog())
	if err != nil {
		return ""
	}
	return quote(log)
}

// listenerPID is the PID, on its node, of the sshd that accepts connections.
func listenerPID(f files) (int, error) {
	b, err := os.ReadFile(f.sshdPID())
	if err != nil {
		return 0, err
	}
	line, ok := strings.CutSuffix(string(b), "\n")
	if !ok {
		return 0, fmt.Errorf("%s: still being written", f.sshdPID())
	}
	return strconv.Atoi(line)
}

// revive implements provider.
func (p *netnsProvider) revive(ctx context.Context, n *Node) error {
	if n.Name == Outside {
		return errNoSSHD
	}
	if running, err := sshdRuns(p.state, n); running || err != nil {
		return err
	}
	if p.state.Config.Slurm {
		if err := p.startSlurmOn(n); err != nil {
			return err
		}
	}
	if p.state.Config.GridEngine {
		if err := p.startExecd(n); err != nil {
			return err
		}
	}
	return p.startSSHD(ctx, n)
}

// sshdRuns reports whether the sshd of n accepts connections.
func sshdRuns(s *state, n *Node) (bool, error) {
	pid, err := listenerPID(nodeFiles(s.Config.Dir, n.Name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("sshd: %w", err)
	}
	procs, err := processesOf(n.Init)
	return slices.ContainsFunc(procs, func(p Proc) bool { return p.NodePID == pid }), err
}

// session implements provider: it puts a script in the place of the link that
// sshd executes for each connection. sshd itself goes on undisturbed.
func (p *netnsProvider) session(n *Node, before string) error {
	return setSession(nodeFiles(p.state.Config.Dir, n.Name), cmp.Or(p.state.Session, p.state.SSHD), before)
}

func setSession(f files, target, before string) error {
	path := f.session()
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if before == "" {
		if err := os.Symlink(target, fresh); err != nil {
			return err
		}
		return os.Rename(fresh, path)
	}
	script := fmt.Sprintf("#!/bin/sh\n%s %s \"$@\"\n", before, target)
	if err := os.WriteFile(fresh, []byte(script), 0o755); err != nil {
		return err
	}
	return os.Rename(fresh, path)
}
