package hostlist

import (
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// linePerSlot reads a file that names a host once for each of its slots, as
// PBS_NODEFILE does.
func linePerSlot(r io.Reader, name string) ([]job.Host, error) {
	f, err := ParseFile(r, name)
	if err != nil {
		return nil, err
	}
	for i := range f.Hosts {
		f.Hosts[i].Slots = max(f.Hosts[i].Slots, 1)
	}
	return f.Hosts, nil
}

// countsAfter reads a variable of the form "host slots host slots ...", as
// LSB_MCPU_HOSTS is.
func countsAfter(pos, counts string) ([]job.Host, error) {
	fields := strings.Fields(counts)
	if len(fields) == 0 || len(fields)%2 != 0 {
		return nil, fmt.Errorf("%s: %s: not pairs of host and slots", pos, quote(counts))
	}
	var hosts []job.Host
	for i := 0; i < len(fields); i += 2 {
		var err error
		if hosts, err = appendCounted(hosts, fields[i], fields[i+1], pos); err != nil {
			return nil, err
		}
	}
	return merge(hosts)
}

// namePerSlot reads a variable that names a host once for each of its slots, as
// LSB_HOSTS does.
func namePerSlot(pos, names string) ([]job.Host, error) {
	var hosts []job.Host
	for _, name := range strings.Fields(names) {
		var err error
		if hosts, err = appendCounted(hosts, name, "1", pos); err != nil {
			return nil, err
		}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%s: names no host", pos)
	}
	return merge(hosts)
}

// GridEngine returns the hosts of the parallel job of Grid Engine that an environment
// tells of, none outside of one. The error is of the file that PE_HOSTFILE names.
func GridEngine(env Environment) ([]job.Host, error) { return peHosts(env) }

// peHosts reads a parallel job of Grid Engine.
var peHosts = file("PE_HOSTFILE", gridEngine)

// gridEngine reads the file that PE_HOSTFILE names: lines of host, slots,
// queue and processors, the last two of which do not matter here.
func gridEngine(r io.Reader, name string) ([]job.Host, error) {
	var hosts []job.Host
	err := eachLine(r, name, func(pos, line string) error {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			return fmt.Errorf("%s: %s: no number of slots after the host", pos, quote(line))
		}
		var err error
		hosts, err = appendCounted(hosts, fields[0], fields[1], pos)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("%s: names no host", name)
	}
	return merge(hosts)
}

// appendCounted appends one host whose name and slots are given apart.
func appendCounted(hosts []job.Host, name, slots, pos string) ([]job.Host, error) {
	n, err := parseSlots(slots)
	if err != nil {
		return nil, fmt.Errorf("%s: host %s: %w", pos, quote(name), err)
	}
	start := len(hosts)
	if hosts, err = parseList(hosts, name, pos, MaxHosts); err != nil {
		return nil, err
	}
	for i := range hosts[start:] {
		hosts[start+i].Slots = n
	}
	return hosts, nil
}
