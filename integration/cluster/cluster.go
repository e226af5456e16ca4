package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Cluster is a test cluster that is up. Its methods may be called from several
// goroutines, and several processes may have the same cluster open.
type Cluster struct {
	state    *state
	provider provider
}

// provider makes nodes of namespaces or of containers. All names it is given are names
// of the cluster.
type provider interface {
	up(ctx context.Context) error
	// down removes what up made, also where up was interrupted.
	down(ctx context.Context) error
	// start starts cmd, not started yet, on n.
	start(n *Node, cmd *Cmd) error
	kill(n *Node) error
	revive(ctx context.Context, n *Node) error
	partition(n *Node, cut bool) error
	session(n *Node, before string) error // commands of the shell, of which the last is given the rest; "" for none
	processes(n *Node) ([]Proc, error)
	packets(n *Node) (rx, tx uint64, err error)
}

// DefaultDir is the directory of a cluster that was given none. The nodes have
// a /run of their own but see it.
func DefaultDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); os.Geteuid() != 0 && dir != "" {
		return filepath.Join(dir, "golaunch-cluster", "default")
	}
	return "/run/golaunch-cluster/default"
}

// Up makes a cluster and returns when every sshd listens. If it fails, or ctx
// ends, nothing is left behind; if its process is killed, Down cleans up.
func Up(ctx context.Context, config Config) (*Cluster, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if err := available(config); err != nil {
		return nil, fmt.Errorf("provider %s: %w", config.Provider, err)
	}
	s, err := newState(config)
	if err != nil {
		return nil, err
	}
	if s.SSHD, s.Session, err = sshdPrograms(config); err != nil {
		return nil, err
	}
	if config.GridEngine {
		if s.GridEngine, err = gridEngineTree(); err != nil {
			return nil, err
		}
		s.Config.Share = append(s.Config.Share, s.GridEngine)
	}
	if config.Kex == KexOpenSSH10 {
		if s.OpenSSH10, err = openSSH10Tree(); err != nil {
			return nil, err
		}
		s.Config.Share = append(s.Config.Share, s.OpenSSH10)
	}
	if err := s.claim(); err != nil {
		return nil, err
	}
	c := newCluster(s)
	if err := c.build(ctx); err != nil {
		// The end of the caller's ctx may have ended the attempt.
		if derr := c.Down(context.WithoutCancel(ctx)); derr != nil {
			err = errors.Join(err, derr)
		}
		return nil, err
	}
	return c, nil
}

func (c *Cluster) build(ctx context.Context) error {
	if err := writeFiles(c.state); err != nil {
		return err
	}
	if err := c.provider.up(ctx); err != nil {
		return err
	}
	c.state.Ready = true
	return c.state.save()
}

// Open finds the cluster of a directory; "" is DefaultDir().
func Open(dir string) (*Cluster, error) {
	c, err := open(dir)
	if err != nil {
		return nil, err
	}
	if !c.state.Ready {
		return nil, fmt.Errorf("%s: the cluster is still starting, or its start was interrupted (clean up with: cluster down --dir %s)", c.Dir(), c.Dir())
	}
	return c, nil
}

// DownDir takes the cluster of a directory down, also one whose Up was
// interrupted; "" is DefaultDir().
func DownDir(ctx context.Context, dir string) error {
	c, err := open(dir)
	if err != nil {
		return err
	}
	return c.Down(ctx)
}

func open(dir string) (*Cluster, error) {
	if dir == "" {
		dir = DefaultDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("cluster directory: %w", err)
	}
	s, err := loadState(dir)
	if err != nil {
		return nil, err
	}
	return newCluster(s), nil
}

func newCluster(s *state) *Cluster {
	c := &Cluster{state: s}
	if s.Config.Provider == Docker {
		c.provider = &dockerProvider{state: s}
	} else {
		c.provider = &netnsProvider{state: s}
	}
	return c
}

// Down ends every process of the cluster and removes everything Up made: its
// namespaces and what lives in them, cgroups, kernel limits and files. The
// directory itself goes too if nothing else is in it.
func (c *Cluster) Down(ctx context.Context) error {
	if err := c.provider.down(ctx); err != nil {
		return fmt.Errorf("cluster %s: %w", c.Dir(), err)
	}
	return removeFiles(c.state)
}

// Dir is the cluster's directory.
func (c *Cluster) Dir() string { return c.state.Config.Dir }

// HostFile is the path of the host file that names all nodes.
func (c *Cluster) HostFile() string { return hostFile(c.Dir()) }

// SSHConfig is the path of the ssh_config for use on head.
func (c *Cluster) SSHConfig() string { return sshConfig(c.Dir()) }

// OutsideSSHConfig is the path of the ssh_config for use on Outside: it
// reaches the nodes through head.
func (c *Cluster) OutsideSSHConfig() string { return outsideSSHConfig(c.Dir()) }

// Nodes lists the nodes in order, without head and outside.
func (c *Cluster) Nodes() []Node {
	return append([]Node(nil), c.state.Nodes[:c.state.Config.Nodes]...)
}

// Node returns one machine by name; Head and Outside are machines too.
func (c *Cluster) Node(name string) (Node, error) {
	n, err := c.state.node(name)
	if err != nil {
		return Node{}, err
	}
	return *n, nil
}

// Home is the home directory of a node's account.
func (c *Cluster) Home(name string) string { return nodeFiles(c.Dir(), name).home() }

// SSHLog is the path of a node's sshd log, readable from the host.
func (c *Cluster) SSHLog(name string) string { return nodeFiles(c.Dir(), name).sshdLog() }
