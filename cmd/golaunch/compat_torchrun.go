package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/bootstrap/registry"
)

// torchrunTool is PyTorch's torchrun, by the flags of torch/distributed/run.py in 2.
var torchrunTool = tool{
	name: "torchrun", family: "torchrun", calls: []string{"torchrun"}, manual: "PyTorch 2", dash: "--", letters: true,
	rows: []row{
		// Number and place of ranks.
		value("nnodes", "`--nodes`; a range is answered", nnodes),
		turns("nproc-per-node nproc_per_node", 1, "`--ppn`, and `OMP_NUM_THREADS=1` for more than one, unless it is set", perNode),
		turns("standalone", 0, "`--bootstrap "+registry.Local().Name+"`: the ranks run on this machine", func(*pasted, []string) ([]string, string) {
			return []string{"--bootstrap", registry.Local().Name}, ""
		}),
		value("node-rank node_rank", "nothing for 0; else answered: "+answerOnce, nodeRank),
		value("numa-binding numa_binding", "`--bind-to`; exclusive is answered", numaBinding),

		// Rendezvous.
		turns("master-addr master_addr", 1, "`--genv MASTER_ADDR=VALUE`", setting("MASTER_ADDR")),
		turns("master-port master_port", 1, "`--genv MASTER_PORT=VALUE`", setting("MASTER_PORT")),
		answer("rdzv-backend rdzv_backend", 1, answerRendezvous),
		answer("rdzv-endpoint rdzv_endpoint", 1, answerRendezvous),
		answer("rdzv-id rdzv_id", 1, answerRendezvous),
		answer("rdzv-conf rdzv_conf", 1, answerRendezvous),
		answer("local-addr local_addr", 1, answerRendezvous),

		// What is started.
		turns("m module", 0, "the program is `python3 -u -m MODULE`", wishPython(asModule)),
		turns("no-python no_python", 0, "the program is started as it is", wishPython(noPython)),
		pass("run-path run_path", 0, "the program is started as python3 -u SCRIPT"),
		pass("use-env use_env", 0, "ranks have LOCAL_RANK in the environment"),
		value("max-restarts max_restarts", "nothing for 0; else answered: "+answerRestart, restarts),
		pass("monitor-interval monitor_interval", 1, "golaunch sees at once that a rank ends"),
		pass("start-method start_method", 1, "golaunch chooses how it starts programs"),
		pass("event-log-handler event_log_handler", 1, "--report FILE has all that is known of the job"),
		turns("role", 1, "`--genv ROLE_NAME=VALUE`", setting("ROLE_NAME")),
		answer("virtual-local-rank virtual_local_rank", 0, answerDevice),

		// Output and end.
		answer("log-dir log_dir", 1, answerOutFiles),
		answer("r redirects", 1, answerOutFiles),
		answer("t tee", 1, answerOutFiles),
		answer("log-line-prefix-template log_line_prefix_template", 1, "--label puts [rank] in front of every line"),
		answer("local-ranks-filter local_ranks_filter", 1, "use -o 'out.%r', and read the files of these ranks"),
		answer("duplicate-stdout-filters duplicate_stdout_filters", 1, answerOutFiles),
		answer("duplicate-stderr-filters duplicate_stderr_filters", 1, answerOutFiles),
		answer("logs-specs logs_specs", 1, answerOutFiles),
		pass("signals-to-handle signals_to_handle", 1, "'golaunch help signals' says which signals reach the ranks"),
		as("shutdown-timeout shutdown_timeout", "--grace"),
		same("h help", "--help", 0),
		answer("print-completion print_completion", 1, "golaunch completion prints golaunch's own"),
	},
}

const answerOnce = "call golaunch once, on one machine: it starts the ranks of all nodes"

// pythonWish is what torchrun starts a program with.
type pythonWish int

const (
	asScript pythonWish = iota
	asModule
	noPython
)

func wishPython(wish pythonWish) func(*pasted, []string) ([]string, string) {
	return func(p *pasted, _ []string) ([]string, string) {
		p.python = wish
		return nil, ""
	}
}

// setting is a flag whose value is that of a variable.
func setting(name string) func(*pasted, []string) ([]string, string) {
	return func(_ *pasted, v []string) ([]string, string) { return []string{"--genv", name + "=" + v[0]}, "" }
}

// nnodes is a number of nodes, or the least and the most of them.
func nnodes(v []string) ([]string, string) {
	least, most, isRange := strings.Cut(v[0], ":")
	if isRange && least != most {
		return nil, fmt.Sprintf("%q: a job has one number of nodes, as in --nodes %s", v[0], most)
	}
	return []string{"--nodes", least}, ""
}

func nodeRank(v []string) ([]string, string) {
	if v[0] == "0" {
		return nil, ""
	}
	return nil, answerOnce
}

// perNode is the number of ranks on each node.
func perNode(p *pasted, v []string) ([]string, string) {
	n, err := strconv.Atoi(v[0])
	if err != nil {
		return nil, fmt.Sprintf("%q: give the number, as in --ppn 8", v[0])
	}
	flags := []string{"--ppn", v[0]}
	if _, set := lookup(p.c.environ, "OMP_NUM_THREADS"); n > 1 && !set {
		p.note("OMP_NUM_THREADS=1 is set for the ranks, as torchrun does where it is not set")
		flags = append(flags, "--genv", "OMP_NUM_THREADS=1")
	}
	return flags, ""
}

// numaBinding is torchrun's word for CPUs.
func numaBinding(v []string) ([]string, string) {
	switch v[0] {
	case "node":
		return []string{"--bind-to", "numa"}, ""
	case "socket":
		return []string{"--bind-to", "socket"}, ""
	case "core-complex":
		return []string{"--bind-to", "l3"}, ""
	}
	return nil, fmt.Sprintf("%q: %s", v[0], answerPerRank)
}

// withPython puts the interpreter before the program, as torchrun does.
func (p *pasted) withPython(program []string) []string {
	if p.python == noPython || len(program) == 0 {
		return program
	}
	if program[0] == "--" && len(program) > 1 {
		program = program[1:]
	}
	python := variable(p.c.environ, "PYTHON_EXEC")
	if python == "" {
		python = "python3"
		if _, err := exec.LookPath(python); err != nil {
			python = "python"
		}
	}
	with := []string{python, "-u"}
	if p.python == asModule {
		with = append(with, "-m")
	}
	p.note("%s: it is started with %s, as torchrun does", program[0], strings.Join(with, " "))
	return append(with, program...)
}
