package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

// leaveOut takes those hosts out of all apps' that --exclude names.
func (c *commandLine) leaveOut(w io.Writer, o *launcher.Options) error {
	if len(c.exclude) == 0 {
		return nil
	}
	var err error
	list := strings.Join(c.exclude, ",")
	if c.excluded, err = hostlist.Parse(list, "--exclude"); err != nil {
		if strings.Contains(list, "/") {
			err = fmt.Errorf("%w; for a file of hosts say --exclude \"$(paste -sd, FILE)\"", err)
		}
		return err
	}
	all := slices.Clone(o.Hosts.List)
	for _, a := range o.Programs.Apps {
		all = append(all, a.Hosts...)
	}
	if len(all) == 0 && !c.given["exclude"] {
		return nil // a standing setting
	}
	if len(all) == 0 {
		return errors.New("--exclude: no hosts are named, and this is no allocation; name the hosts with -H or -f")
	}
	for _, h := range c.excluded {
		if !named(all, h.Name) && !c.beginsWith(&srunTool) { // whose -w names some of the allocation
			c.tell(w, 0, "--exclude: %s is none of the hosts", h.Name)
		}
	}
	if o.Hosts.List, err = without(o.Hosts.List, c.excluded); err != nil {
		return err
	}
	for i := range o.Programs.Apps {
		if o.Programs.Apps[i].Hosts, err = without(o.Programs.Apps[i].Hosts, c.excluded); err != nil {
			return err
		}
	}
	c.sequence = slices.DeleteFunc(c.sequence, func(name string) bool { return named(c.excluded, name) })
	return nil
}

// without are those hosts that are not left out.
func without(hosts, out []job.Host) ([]job.Host, error) {
	left := slices.DeleteFunc(slices.Clone(hosts), func(h job.Host) bool { return named(out, h.Name) })
	if len(left) == 0 && len(hosts) > 0 {
		return nil, fmt.Errorf("--exclude: it leaves none of %s", count(len(hosts), "host"))
	}
	return left, nil
}

// named tells whether a host of a name is among some.
func named(hosts []job.Host, name string) bool {
	return slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Name == name })
}
