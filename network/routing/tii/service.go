package tii

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cluster"
	"github.com/golaunch/golaunch/network/topology/match"
)

// MaxMatrix bounds the hosts of a matrix that a service is asked for.
const MaxMatrix = 4096

// Service answers queries about one network. It is immutable: Answer may be
// called from anywhere at once.
type Service struct {
	network *Network
	names   *match.Finder
	loop    topology.Loop
	most    int // hosts of a matrix: MaxMatrix, but for tests
}

// NewService makes the service of a network. Loop carries out its bulk queries.
func NewService(n *Network, loop topology.Loop) *Service {
	return &Service{network: n, names: match.NewFinder(n.graph), loop: loop, most: MaxMatrix}
}

// Network returns the subject of the service's answers.
func (s *Service) Network() *Network { return s.network }

// Find returns the host of a name, as package match finds it; of several adapters of a
// machine it is the first. The error has the name.
func (s *Service) Find(name string) (topology.Node, error) {
	hosts, err := s.names.Find(name)
	if err != nil {
		return 0, err
	}
	if len(hosts) == 0 {
		return 0, fmt.Errorf("host %s is not in the network", lines.Show(name))
	}
	return hosts[0], nil
}

// Hosts returns those of a list such as n[001-128], or all for *.
func (s *Service) Hosts(list string) ([]topology.Node, error) {
	if list == "*" {
		return slices.Collect(s.network.graph.AllHosts()), nil
	}
	parsed, err := hostlist.Parse(list, "hosts")
	if err != nil {
		return nil, err
	}
	hosts := make([]topology.Node, len(parsed))
	for i, h := range parsed {
		if hosts[i], err = s.Find(h.Name); err != nil {
			return nil, err
		}
	}
	return hosts, nil
}

// Answer returns the answer to a query, line by line. A query of one route has one line
// of both hosts and the GUIDs of the switches between them (names where there are no
// GUIDs), one of several routes and a matrix begin with their number.
func (s *Service) Answer(q Query) ([]string, error) {
	n := s.network
	var hosts []topology.Node
	var job *Job
	if q.Hosts != "" {
		var err error
		if hosts, err = s.Hosts(q.Hosts); err != nil {
			return nil, err
		}
		if job, err = n.Job(hosts); err != nil {
			return nil, err
		}
	}
	switch q.Word {
	case "query":
		return s.routes(q, hosts)
	case "depth":
		return []string{"depth " + strconv.Itoa(n.Depth())}, nil
	case "clusters":
		return []string{fmt.Sprintf("clusters %d", job.Clusters(q.Depth))}, nil
	case "cluster":
		lines := make([]string, len(hosts))
		for i, host := range hosts {
			lines[i] = fmt.Sprintf("cluster %s %d", word(n.graph.Name(host)), job.Cluster(i, q.Depth))
		}
		return lines, nil
	case "matrix":
		if len(job.hosts) > s.most {
			return nil, fmt.Errorf("a matrix of %d hosts: expected at most %d", len(job.hosts), s.most)
		}
		return s.matrix(job), nil
	case "sharing":
		sharing := job.SharingLinks(s.loop)
		line := fmt.Sprintf("sharing %d", len(sharing))
		for _, host := range sharing {
			line += " " + word(n.graph.Name(host))
		}
		return []string{line}, nil
	case "leaf":
		return []string{fmt.Sprintf("leaf %.3f switches %d balance %.3f", job.HostsPerLeaf(), len(job.Leaves()), job.Balance())}, nil
	case "network":
		return []string{fmt.Sprintf("network %016x hosts %d switches %d cables %d", n.Fingerprint(), n.graph.Hosts(), n.graph.Switches(), n.graph.Cables())}, nil
	}
	return nil, fmt.Errorf("%s: no such query", lines.Show(q.Word))
}

// routes answers query: one line of one route, else their number and a line each.
func (s *Service) routes(q Query, hosts []topology.Node) ([]string, error) {
	from, err := s.Find(q.From)
	if err != nil {
		return nil, err
	}
	var lines []string
	if len(hosts) != 1 || q.Hosts == "*" {
		lines = append(lines, fmt.Sprintf("routes %d", len(hosts)))
	}
	for _, to := range hosts {
		steps, err := s.network.Route(from, to)
		if err != nil && len(hosts) == 1 {
			return nil, err
		}
		line := []string{word(s.network.graph.Name(from))}
		if err != nil {
			line = append(line, "unreachable")
		}
		for i, step := range steps {
			if i > 0 {
				line = append(line, SwitchID(s.network.graph, s.network.graph.From(step.Link).Node))
			}
		}
		lines = append(lines, strings.Join(append(line, word(s.network.graph.Name(to))), " "))
	}
	return lines, nil
}

// matrix answers with the hops between all hosts of a job.
func (s *Service) matrix(job *Job) []string {
	paths, hosts := job.Paths(s.loop), job.hosts
	lines := []string{fmt.Sprintf("matrix %d", len(hosts))}
	for a, host := range hosts {
		var b strings.Builder
		b.WriteString(word(s.network.graph.Name(host)))
		for c := range hosts {
			if hops := paths.Hops(a, c); hops == cluster.Unreachable {
				b.WriteString(" -")
			} else {
				b.WriteString(" " + strconv.Itoa(int(hops)))
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

// SwitchID returns a switch's name in answers: its GUID, or its name if it has none.
func SwitchID(g *topology.Graph, n topology.Node) string {
	if guid := g.Info(n).GUID; guid != 0 {
		return fmt.Sprintf("0x%016x", guid)
	}
	return word(g.Name(n))
}

// word returns a name as one word.
func word(name string) string { return strings.ReplaceAll(name, " ", "_") }
