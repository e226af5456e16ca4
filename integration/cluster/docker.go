package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// engineTimeout bounds one call of the engine for one container.
const engineTimeout = time.Minute

// dockerProvider makes nodes of containers. Processes and packet counters are
// read from /proc, so the engine has to be on this machine.
type dockerProvider struct{ state *state }

var _ provider = (*dockerProvider)(nil)

// docker runs the engine's client and returns its output.
func docker(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	return runTool(ctx, append([]string{"docker"}, args...))
}

// runTool runs a program; if it fails, the error has its output.
func runTool(ctx context.Context, argv []string) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w%s", strings.Join(argv[:min(2, len(argv))], " "), err, quote(stderr.Bytes()))
	}
	return stdout.String(), nil
}

// ComposeCommand finds Compose: the client's plugin or the program of old.
func ComposeCommand() ([]string, error) {
	if _, err := docker(context.Background(), "compose", "version"); err == nil {
		return []string{"docker", "compose"}, nil
	}
	path, err := exec.LookPath("docker-compose")
	if err != nil {
		return nil, errors.New("there is neither the plugin 'docker compose' nor docker-compose (Debian: docker-compose)")
	}
	return []string{path}, nil
}

func (p *dockerProvider) project() string { return "golaunch" + p.state.ID }

func (p *dockerProvider) container(n *Node) string { return p.project() + "-" + n.Name }

// Container returns the engine's name of a node, where there is an engine.
func (c *Cluster) Container(node string) string {
	return (&dockerProvider{c.state}).container(&Node{Name: node})
}

func (p *dockerProvider) composeFile() string {
	return filepath.Join(p.state.Config.Dir, "docker", "compose.json")
}

func (p *dockerProvider) compose(ctx context.Context, args ...string) error {
	argv, err := ComposeCommand()
	if err != nil {
		return err
	}
	argv = append(argv, "--file", p.composeFile(), "--project-name", p.project())
	_, err = runTool(ctx, append(argv, args...))
	return err
}

// up implements provider.
func (p *dockerProvider) up(ctx context.Context) error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working directory: %w", err)
	}
	p.state.Workdir = dir
	if err := p.state.save(); err != nil {
		return err
	}
	b, err := composeProject(p.state, p.container)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.composeFile()), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(p.composeFile(), b, 0o644); err != nil {
		return err
	}
	if err := p.compose(ctx, "up", "--detach"); err != nil {
		return err
	}
	for i := range p.state.Nodes {
		n := &p.state.Nodes[i]
		out, err := docker(ctx, "inspect", "--format", "{{.State.Pid}}", p.container(n))
		if err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(out))
		if err == nil {
			n.Init, err = identify(pid)
		}
		if err != nil {
			return fmt.Errorf("node %s: its container has ended: %w", n.Name, err)
		}
		if n.Name == Outside {
			continue
		}
		if err := p.awaitSSHD(ctx, n); err != nil {
			return fmt.Errorf("node %s: %w", n.Name, err)
		}
	}
	return nil
}

func (p *dockerProvider) awaitSSHD(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	f := nodeFiles(p.state.Config.Dir, n.Name)
	return poll(ctx, func() error {
		if _, err := listenerPID(f); err != nil {
			return retry(errors.New("sshd does not listen" + logOf(f)))
		}
		return nil
	})
}

// down implements provider.
func (p *dockerProvider) down(ctx context.Context) error {
	if _, err := os.Stat(p.composeFile()); errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was started yet
	}
	return p.compose(ctx, "down", "--timeout", "0", "--volumes", "--remove-orphans")
}

// kill implements provider; see netnsProvider.kill.
func (p *dockerProvider) kill(n *Node) error {
	// Its status says only whether there was anybody to kill.
	_, err := docker(context.Background(), "exec", p.container(n), "/bin/sh", "-c", "kill -9 -1; true")
	if err != nil {
		return err
	}
	return awaitEmpty(p.state, n)
}

// revive implements provider.
func (p *dockerProvider) revive(ctx context.Context, n *Node) error {
	if n.Name == Outside {
		return errNoSSHD
	}
	if running, err := sshdRuns(p.state, n); running || err != nil {
		return err
	}
	argv := append([]string{"exec", p.container(n)}, sshdArgv(nodeFiles(p.state.Config.Dir, n.Name))...)
	if _, err := docker(ctx, argv...); err != nil {
		return fmt.Errorf("start sshd: %w", err)
	}
	return p.awaitSSHD(ctx, n)
}

// sshdArgv starts sshd in a container under the name of our link, which it
// executes for each connection.
func sshdArgv(f files) []string {
	return []string{"bash", "-c", `rm -f "$3"; exec -a "$0" ` + imageSSHD + ` -f "$1" -E "$2"`,
		f.session(), f.sshdConfig(), f.sshdLog(), f.sshdPID()}
}

// partition implements provider. The engine takes the interface away; the
// node's peers see silence, the node itself an unreachable network.
func (p *dockerProvider) partition(n *Node, cut bool) error {
	for _, l := range dockerLinks(n) {
		network := p.project() + "_" + l.network
		args := []string{"network", "disconnect", network, p.container(n)}
		if !cut {
			args = []string{"network", "connect", "--ip", l.addr.String(), network, p.container(n)}
		}
		if _, err := docker(context.Background(), args...); err != nil {
			return err
		}
	}
	return nil
}

// session implements provider.
func (p *dockerProvider) session(n *Node, before string) error {
	return setSession(nodeFiles(p.state.Config.Dir, n.Name), p.state.SSHD, before)
}

// processes implements provider.
func (p *dockerProvider) processes(n *Node) ([]Proc, error) { return processesOf(n.Init) }

// packets implements provider. Counts from before the last Heal are gone with the
// interface.
func (p *dockerProvider) packets(n *Node) (rx, tx uint64, err error) {
	if _, err := pidNamespaceOf(n.Init); err != nil {
		return 0, 0, err
	}
	b, err := os.ReadFile(procPath(n.Init.PID, "net/dev"))
	if err != nil {
		return 0, 0, fmt.Errorf("packet counters: %w", err)
	}
	// A healed container has its interface under another name.
	for _, name := range interfaceNames(string(b)) {
		if name == "lo" {
			continue
		}
		c, err := interfaceCounters(string(b), name)
		if err != nil {
			return 0, 0, err
		}
		rx += c.rxPackets
		tx += c.txPackets
	}
	return rx, tx, nil
}
