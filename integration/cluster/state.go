package cluster

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

const (
	stateVersion = 1
	maxStateSize = 1 << 20 // of state.json; 258 nodes need about 40 kB
)

// ErrNoCluster is wrapped by Open and Down for a directory without a cluster.
var ErrNoCluster = errors.New("no cluster here")

// state is the content of DIR/state.json, which is there from before the first process
// of the cluster until after the last one.
type state struct {
	Version int
	// ID is random. Every process 1 of the cluster carries it in its
	// environment, so that an interrupted Up can be undone.
	ID     string
	Ready  bool // Up came to its end
	Config Config
	// Subnets are the second bytes of the cluster's two 10.x networks.
	Subnets [2]byte
	Nodes   []Node
	Fabric  procID // holds the network namespace of the switches
	Cgroup  string // directory of the cluster's cgroup; empty without cgroup v2
	Freezer string // the same in the freezer's hierarchy of cgroup v1; empty without Slurm, too
	Memory  string // the same in the memory controller's; empty without Config.Memory, too
	// GridEngine is the folder of the unpacked programs of Grid Engine; empty without
	// it.
	GridEngine string
	// OpenSSH10 is the folder of the unpacked programs of OpenSSH 10; empty without
	// them.
	OpenSSH10 string
	SSHD      string // path of the sshd program, as nodes have it
	// Session is the program sshd executes for each connection; empty where
	// that is sshd itself.
	Session string
	// Workdir is the directory that containers share with the host.
	Workdir string
}

func newState(c Config) (*state, error) {
	id := make([]byte, 6)
	if _, err := rand.Read(id); err != nil {
		return nil, fmt.Errorf("cluster id: %w", err)
	}
	s := &state{Version: stateVersion, ID: hex.EncodeToString(id), Config: c, Subnets: netnsSubnets}
	if c.Provider == Docker {
		var err error
		if s.Subnets, err = freeSubnets(id[0]); err != nil {
			return nil, err
		}
	}
	s.Nodes = planNodes(c, s.Subnets)
	return s, nil
}

func statePath(dir string) string { return filepath.Join(dir, "state.json") }

// claim makes the directory the cluster's own. It fails if another cluster
// has it.
func (s *state) claim() error {
	dir := s.Config.Dir
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("cluster directory: %w", err)
	}
	path := statePath(dir)
	fresh := path + "." + s.ID
	if err := s.write(fresh); err != nil {
		return err
	}
	defer os.Remove(fresh)
	err := os.Link(fresh, path) // unlike Rename, replaces nothing
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s: a cluster is up here already, or its start was interrupted; take it down first (cluster down --dir %s)", dir, dir)
	}
	if err != nil {
		return fmt.Errorf("cluster directory: %w", err)
	}
	return nil
}

// save replaces state.json in one step.
func (s *state) save() error {
	path := statePath(s.Config.Dir)
	if err := s.write(path + ".new"); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	return nil
}

func (s *state) write(path string) error {
	b, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		return fmt.Errorf("cluster state: %w", err)
	}
	return nil
}

func loadState(dir string) (*state, error) {
	f, err := os.Open(statePath(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w (make one with: cluster up --dir %s N)", dir, ErrNoCluster, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("cluster state: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxStateSize))
	if err != nil {
		return nil, fmt.Errorf("cluster state: %w", err)
	}
	return parseState(dir, b)
}

// parseState reads state.json and checks what the rest of the package relies on.
func parseState(dir string, b []byte) (*state, error) {
	var s state
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("%s: not a cluster's state: %w", statePath(dir), err)
	}
	id, err := hex.DecodeString(s.ID)
	switch {
	case s.Version != stateVersion:
		return nil, fmt.Errorf("%s: version %d, want %d: take the cluster down with the program that made it", statePath(dir), s.Version, stateVersion)
	case err != nil || len(id) != 6:
		return nil, fmt.Errorf("%s: id %q is not one of ours", statePath(dir), s.ID)
	case s.Config.Dir != dir:
		return nil, fmt.Errorf("%s: it was made for directory %q; move it back", statePath(dir), s.Config.Dir)
	}
	c := s.Config
	if err := c.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", statePath(dir), err)
	}
	want := planNodes(c, s.Subnets)
	if len(s.Nodes) != len(want) {
		return nil, fmt.Errorf("%s: %d machines, want %d", statePath(dir), len(s.Nodes), len(want))
	}
	for i, n := range s.Nodes {
		if n.Name != want[i].Name || n.Addr != want[i].Addr {
			return nil, fmt.Errorf("%s: machine %d is %q at %v, want %q at %v", statePath(dir), i, n.Name, n.Addr, want[i].Name, want[i].Addr)
		}
	}
	return &s, nil
}

// node returns the record of a machine by name.
func (s *state) node(name string) (*Node, error) {
	for i := range s.Nodes {
		if s.Nodes[i].Name == name {
			return &s.Nodes[i], nil
		}
	}
	return nil, fmt.Errorf("no machine %q: the cluster has %s to %s, %s and %s", name, NodeName(1), NodeName(s.Config.Nodes), Head, Outside)
}
