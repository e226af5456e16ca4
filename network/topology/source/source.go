// Package source reads a network from a file in whichever of the known forms it
// has, and recognizes its family.
package source

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/cname"
	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/slurm"
)

// Network is the network that a file describes.
type Network struct {
	Graph *topology.Graph // with its family, if it has one
	Form  string          // of the file, such as "ibnetdiscover"
	Ports []ibnet.Port    // addresses of an InfiniBand fabric, else nil
	// Irregular is the reason for which the graph has no family, nil if it has one.
	Irregular error
}

// forms has the words that tell the forms of files apart. The first form of which
// a word begins a line decides.
var forms = []struct {
	name  string
	words []string
	read  func(io.Reader, string) (*Network, error)
}{
	{"opensm-subnet.lst", []string{"{ "}, fabric(ibnet.SubnetList)},
	{"topology.conf", []string{"switchname=", "blockname="}, func(r io.Reader, name string) (*Network, error) {
		g, err := slurm.Parse(r, name)
		return &Network{Graph: g}, err
	}},
	{"ibnetdiscover", []string{"vendid=", "switchguid=", "caguid=", "switch\t", "switch ", "ca\t", "ca ", "hca\t", "hca "}, fabric(ibnet.Discover)},
	{"forwarding tables", []string{"unicast lids ", "dump_ucast_routes:"}, func(_ io.Reader, name string) (*Network, error) {
		return nil, fmt.Errorf("%s: forwarding tables: expected the network itself (such as ibnetdiscover's output) here", name)
	}},
	{"cname", []string{"nid"}, func(r io.Reader, name string) (*Network, error) {
		hosts, err := cname.ParseHosts(r, name)
		if err != nil {
			return nil, err
		}
		g, err := cname.Graph(hosts, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		return &Network{Graph: g}, nil
	}},
}

func fabric(parse func(io.Reader, string) (*ibnet.Fabric, error)) func(io.Reader, string) (*Network, error) {
	return func(r io.Reader, name string) (*Network, error) {
		f, err := parse(r, name)
		if err != nil {
			return nil, err
		}
		return &Network{Graph: f.Graph, Ports: f.Ports}, nil
	}
}

// peek is the number of bytes that decide on a file's form.
const peek = 1 << 16

// Read reads a network: ibnetdiscover's output or ibsim's form, opensm-subnet.lst,
// Slurm's topology.conf, or Cray coordinates ("nid00012 c0-0c0s3n0"). Errors call the
// file name.
func Read(r io.Reader, name string) (*Network, error) {
	in := bufio.NewReaderSize(r, peek)
	head, err := in.Peek(peek)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for line := range strings.SplitSeq(strings.ToLower(string(head)), "\n") {
		line = strings.TrimLeft(line, " \t")
		for _, form := range forms {
			for _, word := range form.words {
				if !strings.HasPrefix(line, word) {
					continue
				}
				n, err := form.read(in, name)
				if err != nil {
					return nil, err
				}
				n.Form = form.name
				if n.Graph.Family() == nil {
					family, err := topology.Recognize(n.Graph)
					if err != nil {
						n.Irregular = err
						return n, nil
					}
					n.Graph = n.Graph.WithFamily(family)
				}
				return n, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: no known form of a network: expected ibnetdiscover's output, opensm-subnet.lst, "+
		"Slurm's topology.conf, or lines such as nid00012 c0-0c0s3n0", name)
}
