package pmi

import (
	"errors"
	"fmt"
	"strings"
)

// Failures of requests about names, in the words that clients know from other servers.
var (
	ErrNoService = errors.New("service_not_found")
	ErrPublished = errors.New("service_already_published")
	ErrNamesFull = fmt.Errorf("more_than_%d_bytes_of_names", maxNames)
	errLineFeed  = errors.New("value_with_a_line_feed")
	errBlank     = errors.New("port_with_a_blank")
	errNoName    = errors.New("no_name")
	errNoPort    = errors.New("no_port")
	errLongName  = fmt.Errorf("name_longer_than_%d_bytes", MaxValue-1)
	errLongPort  = fmt.Errorf("port_longer_than_%d_bytes", MaxValue-1)
)

// maxNames bounds the bytes of a job's names.
const maxNames = 64 << 20

// Names is the job's table of published services (docs/architecture.md: names per
// job, at the root). The zero value is empty and ready.
type Names struct {
	ports map[string]string
	bytes int
}

// Do carries out the operation op of a Request: Publish, Unpublish or Lookup.
// Server.NameDone takes its results.
func (n *Names) Do(op Op, service, port string) (answer string, err error) {
	old, found := n.ports[service]
	switch {
	case op == Publish && found:
		return "", ErrPublished
	case op == Publish:
		if n.bytes+len(service)+len(port) > maxNames {
			return "", ErrNamesFull
		}
		if n.ports == nil {
			n.ports = map[string]string{}
		}
		n.ports[service] = port
		n.bytes += len(service) + len(port)
		return "", nil
	case op != Unpublish && op != Lookup:
		return "", fmt.Errorf("%v is not about names", op)
	case !found:
		return "", ErrNoService
	case op == Unpublish:
		delete(n.ports, service)
		n.bytes -= len(service) + len(old)
		return "", nil
	}
	return old, nil
}

// Has tells whether a service is published.
func (n *Names) Has(service string) bool {
	_, found := n.ports[service]
	return found
}

// readable reports an error if a port cannot be told to a PMI-1 client, which reads the
// word after port= and takes that for all of it.
func readable(port string) error {
	switch {
	case strings.Contains(port, "\n"):
		return errLineFeed
	case strings.Contains(port, " "):
		return errBlank
	}
	return nil
}

// name passes a request about a service on to the root. Its reply has form d.
func (s *Server) name(c *client, op Op, d due, service, port []byte, out *Effects) {
	var err error
	switch {
	case len(service) == 0:
		err = errNoName
	case len(service) >= MaxValue:
		err = errLongName
	case op == Publish && len(port) == 0:
		err = errNoPort
	case len(port) >= MaxValue:
		err = errLongPort
	case d.cmd == "":
		err = readable(string(port))
	}
	if err != nil {
		sayName(c.rank, op, d, "", err, out)
		return
	}
	out.ask(c, op, d, service, port)
}
