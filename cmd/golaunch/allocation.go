package main

import (
	"fmt"
	"io"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
)

// allocation returns the hosts that a resource manager has given to the job
// golaunch runs in, none outside of one. The error says how to do without.
func allocation(w io.Writer, environ []string) ([]job.Host, error) {
	hosts, err := readAllocation(w, func(name string) string { return variable(environ, name) })
	if err != nil {
		return nil, fmt.Errorf("%w; name the hosts with --hosts instead", err)
	}
	return hosts, nil
}

func readAllocation(w io.Writer, getenv func(string) string) (hosts []job.Host, err error) {
	if nodes := getenv("SLURM_JOB_NODELIST"); nodes != "" {
		return hostlist.Slurm(nodes, getenv("SLURM_TASKS_PER_NODE"))
	}
	for _, f := range []struct {
		variable string
		read     func(io.Reader, string) ([]job.Host, error)
	}{
		{"PBS_NODEFILE", hostlist.PBS},
		{"LSB_DJOB_HOSTFILE", hostlist.PBS},
		{"PE_HOSTFILE", hostlist.GridEngine},
	} {
		name := getenv(f.variable)
		if name == "" {
			continue
		}
		err = withFile(w, name, func(r io.Reader) (err error) {
			hosts, err = f.read(r, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.variable, err)
		}
		return hosts, nil
	}
	if counts := getenv("LSB_MCPU_HOSTS"); counts != "" {
		return hostlist.LSF(counts)
	}
	if names := getenv("LSB_HOSTS"); names != "" {
		return hostlist.LSFHosts(names)
	}
	return operatorHosts(w, getenv)
}

// operatorHosts are the hosts of the file that an operator names.
func operatorHosts(w io.Writer, getenv func(string) string) ([]job.Host, error) {
	for _, o := range hostlist.Operators {
		name := getenv(o.Hosts)
		if name == "" {
			continue
		}
		var file hostlist.File
		err := withFile(w, name, func(r io.Reader) (err error) {
			file, err = hostlist.ParseFile(r, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Hosts, err)
		}
		return file.Hosts, nil
	}
	return nil, nil
}
