package cluster

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strings"
)

// The Compose file, as far as we use it. JSON is YAML, and safe to quote.
type (
	composeSpec struct {
		Version  string                    `json:"version"`
		Services map[string]composeService `json:"services"`
		Networks map[string]composeNetwork `json:"networks"`
	}
	composeService struct {
		Image         string                  `json:"image"`
		ContainerName string                  `json:"container_name"`
		Hostname      string                  `json:"hostname"`
		Entrypoint    []string                `json:"entrypoint"`
		ShmSize       string                  `json:"shm_size"`
		Volumes       []string                `json:"volumes"`
		Networks      map[string]composeJoint `json:"networks"`
	}
	composeJoint struct {
		Address string `json:"ipv4_address"`
	}
	composeNetwork struct {
		Internal bool        `json:"internal"` // no way out
		IPAM     composeIPAM `json:"ipam"`
	}
	composeIPAM struct {
		Config []composeSubnet `json:"config"`
	}
	composeSubnet struct {
		Subnet string `json:"subnet"`
	}
)

// dockerLink is a container's connection to one of the two networks.
type dockerLink struct {
	network string
	addr    netip.Addr
}

const (
	mainNetwork = "cluster"
	extNetwork  = "ext"
)

func dockerLinks(n *Node) []dockerLink {
	switch n.Name {
	case Head:
		return []dockerLink{{mainNetwork, n.Addr}, {extNetwork, n.ExtAddr}}
	case Outside:
		return []dockerLink{{extNetwork, n.Addr}}
	}
	return []dockerLink{{mainNetwork, n.Addr}}
}

// composeProject is the Compose file of a cluster: one service per machine,
// since each has its own name, address and files.
func composeProject(s *state, container func(*Node) string) ([]byte, error) {
	spec := composeSpec{Version: "2.4", Services: make(map[string]composeService), Networks: make(map[string]composeNetwork)}
	for i := range s.Nodes {
		n := &s.Nodes[i]
		spec.Services[n.Name] = composeService{
			Image: NodeImage, ContainerName: container(n), Hostname: n.Name,
			Entrypoint: containerInit(s, n), ShmSize: "1gb", Volumes: containerVolumes(s, n),
			Networks: make(map[string]composeJoint),
		}
		for _, l := range dockerLinks(n) {
			spec.Services[n.Name].Networks[l.network] = composeJoint{l.addr.String()}
			bits := netBits
			if l.network == extNetwork {
				bits = extBits
			}
			subnet, err := l.addr.Prefix(bits)
			if err != nil {
				return nil, fmt.Errorf("compose file: %w", err)
			}
			spec.Networks[l.network] = composeNetwork{true, composeIPAM{[]composeSubnet{{subnet.String()}}}}
		}
	}
	b, err := json.MarshalIndent(spec, "", " ")
	if err != nil {
		return nil, fmt.Errorf("compose file: %w", err)
	}
	return b, nil
}

// containerInit returns the command of a container's process 1: it starts sshd and
// becomes a program that reaps orphans (see initScript) and never ends. Compose reads a
// dollar sign as the start of a variable.
func containerInit(s *state, n *Node) []string {
	const stay = `exec env --ignore-signal=CHLD sleep infinity`
	if n.Name == Outside {
		return []string{"sh", "-c", stay}
	}
	argv := []string{"sh", "-c", `mkdir -p /run/sshd; "$$@"; ` + stay, "sh"}
	for i, a := range sshdArgv(nodeFiles(s.Config.Dir, n.Name)) {
		if i == 2 { // the one script among names
			a = composeQuote(a)
		}
		argv = append(argv, a)
	}
	return argv
}

// containerVolumes are the files a container shares with the host: the public
// and its own ones, and the directory where up was called, for programs.
func containerVolumes(s *state, n *Node) []string {
	dir := s.Config.Dir
	own := string(nodeFiles(dir, n.Name))
	list := []string{own + ":" + own}
	for _, path := range []string{hostFile(dir), sshConfig(dir), knownHosts(dir), filepath.Dir(outsideSSHConfig(dir))} {
		list = append(list, path+":"+path+":ro")
	}
	for file, from := range etcFiles(dir, n.Name) {
		list = append(list, from+":/etc/"+file+":ro")
	}
	for _, path := range append([]string{s.Workdir}, s.Config.Share...) {
		list = append(list, path+":"+path)
	}
	return list
}

// freeSubnets chooses the second bytes of two 10.x networks that no interface
// of this machine uses, beginning at a random place.
func freeSubnets(start byte) ([2]byte, error) {
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return [2]byte{}, fmt.Errorf("choose networks: %w", err)
	}
	var taken []netip.Prefix
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			taken = append(taken, p)
		}
	}
	var free []byte
	for i := range 256 {
		second := start + byte(i)
		candidate := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, second, 0, 0}), netBits)
		if !overlapsAny(candidate, taken) {
			free = append(free, second)
		}
		if len(free) == 2 {
			return [2]byte(free), nil
		}
	}
	return [2]byte{}, fmt.Errorf("choose networks: this machine uses all of 10.0.0.0/8")
}

func overlapsAny(p netip.Prefix, list []netip.Prefix) bool {
	for _, q := range list {
		if p.Overlaps(q) {
			return true
		}
	}
	return false
}

// composeQuote makes Compose read a text as it is.
func composeQuote(s string) string { return strings.ReplaceAll(s, "$", "$$") }
