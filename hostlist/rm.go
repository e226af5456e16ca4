package hostlist

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/job"
)

// Slurm reads an allocation as Slurm gives it: nodes is SLURM_JOB_NODELIST,
// tasks is SLURM_TASKS_PER_NODE ("4(x3),2": four on each of three nodes, two
// on the next) and becomes the slots; without tasks the slots stay open.
func Slurm(nodes, tasks string) ([]job.Host, error) {
	hosts, err := Parse(nodes, "SLURM_JOB_NODELIST")
	if err != nil || tasks == "" {
		return hosts, err
	}
	const pos = "SLURM_TASKS_PER_NODE"
	next := 0
	for item := range strings.SplitSeq(tasks, ",") {
		slots, repeat, err := parseTasks(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", pos, quote(item), err)
		}
		if repeat > len(hosts)-next {
			return nil, fmt.Errorf("%s: %s: counts more nodes than the %d of SLURM_JOB_NODELIST", pos, quote(tasks), len(hosts))
		}
		for range repeat {
			hosts[next].Slots = slots
			next++
		}
	}
	if next != len(hosts) {
		return nil, fmt.Errorf("%s: %s: counts %d nodes, SLURM_JOB_NODELIST has %d", pos, quote(tasks), next, len(hosts))
	}
	return hosts, nil
}

// parseTasks reads "4" or "4(x3)".
func parseTasks(s string) (slots, repeat int, err error) {
	number, times, repeated := strings.Cut(s, "(x")
	if slots, err = parseSlots(number); err != nil || !repeated {
		return slots, 1, err
	}
	times, closed := strings.CutSuffix(times, ")")
	repeat, err = parseSlots(times)
	if err != nil || !closed {
		return 0, 0, errors.New("not of the form 4 or 4(x3)")
	}
	return slots, repeat, nil
}

// PBS reads the file that PBS_NODEFILE or LSB_DJOB_HOSTFILE names: one line
// per slot.
func PBS(r io.Reader, name string) ([]job.Host, error) {
	f, err := ParseFile(r, name)
	if err != nil {
		return nil, err
	}
	for i := range f.Hosts {
		f.Hosts[i].Slots = max(f.Hosts[i].Slots, 1)
	}
	return f.Hosts, nil
}

// LSF reads LSB_MCPU_HOSTS, "host slots host slots ...".
func LSF(counts string) ([]job.Host, error) {
	const pos = "LSB_MCPU_HOSTS"
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

// LSFHosts reads LSB_HOSTS, which names a host once for each of its slots.
func LSFHosts(names string) ([]job.Host, error) {
	const pos = "LSB_HOSTS"
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

// GridEngine reads the file that PE_HOSTFILE names: lines of host, slots,
// queue and processors, the last two of which do not matter here.
func GridEngine(r io.Reader, name string) ([]job.Host, error) {
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
