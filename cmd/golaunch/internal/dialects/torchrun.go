package dialects

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
)

// Torchrun is PyTorch's torchrun, by the flags of torch/distributed/run.py in 2.
var Torchrun = Tool{
	name: "torchrun", family: "torchrun", calls: []string{"torchrun"}, manual: "PyTorch 2", dash: "--", letters: true, last: true,
	rows: []row{
		// Number and place of ranks.
		value("nnodes", "`--nodes`; a range is answered; more than one want hosts", nnodes),
		turns("nproc-per-node nproc_per_node", 1, "`--ppn`; gpu, cpu and auto count those of this machine; `OMP_NUM_THREADS=1` for more than one, unless it is set", perNode),
		turns("standalone", 0, "`--bootstrap "+registry.Local().Name+"`: the ranks run on this machine", func(p *pasted, _ []string) ([]string, string) {
			p.standalone = true
			return []string{"--bootstrap", registry.Local().Name}, ""
		}),
		value("node-rank node_rank", "nothing for 0; else answered: "+answerOnce, nodeRank),
		value("numa-binding numa_binding", "`--bind-to`; exclusive is answered", numaBinding),

		// Rendezvous.
		turns("master-addr master_addr", 1, "`--genv MASTER_ADDR=VALUE`", setting("MASTER_ADDR")),
		value("master-port master_port", "`--genv MASTER_PORT=VALUE`", masterPort),
		pass("rdzv-backend rdzv_backend", 1, passMeeting),
		pass("rdzv-endpoint rdzv_endpoint", 1, passMeeting),
		turns("rdzv-id rdzv_id", 1, "`--genv TORCHELASTIC_RUN_ID=VALUE`", setting("TORCHELASTIC_RUN_ID")),
		pass("rdzv-conf rdzv_conf", 1, "--connect-timeout says how long hosts are waited for"),
		pass("local-addr local_addr", 1, passMeeting),

		// What is started.
		turns("m module", 0, "the program is `python3 -u -m MODULE`", wishPython(asModule)),
		turns("no-python no_python", 0, "the program is started as it is", wishPython(noPython)),
		pass("run-path run_path", 0, "the program is started as python3 -u SCRIPT"),
		pass("use-env use_env", 0, "ranks have LOCAL_RANK in the environment"),
		turns("max-restarts max_restarts", 1, "`--restarts`, of the whole job", restarts),
		pass("monitor-interval monitor_interval", 1, "golaunch sees at once that a rank ends"),
		pass("start-method start_method", 1, "golaunch chooses how it starts programs"),
		pass("event-log-handler event_log_handler", 1, "--report FILE has all that is known of the job"),
		turns("role", 1, "`--genv ROLE_NAME=VALUE`", setting("ROLE_NAME")),
		answer("virtual-local-rank virtual_local_rank", 0, answerDevice),

		// Output and end.
		as("log-dir log_dir", "--log-dir"),
		turns("r redirects", 1, "nothing: --log-dir has both streams of all ranks", redirects),
		value("t", "`--tee`, but for 0", tee),
		value("tee", "`--tee`, but for 0", tee).where(isStreams).first(),
		answer("log-line-prefix-template log_line_prefix_template", 1, "--label puts [rank] in front of every line"),
		value("local-ranks-filter local_ranks_filter", "`--show local:RANKS`", func(v []string) ([]string, string) {
			return []string{"--show", "local:" + v[0]}, ""
		}),
		answer("duplicate-stdout-filters duplicate_stdout_filters", 1, answerOutFiles),
		answer("duplicate-stderr-filters duplicate_stderr_filters", 1, answerOutFiles),
		answer("logs-specs logs_specs", 1, answerOutFiles),
		pass("signals-to-handle signals_to_handle", 1, "'golaunch help signals' says which signals reach the ranks"),
		as("shutdown-timeout shutdown_timeout", "--grace"),
		same("h", "-h", 0),
		same("help", "--help", 0),
		answer("print-completion print_completion", 1, "golaunch completion prints golaunch's own"),
	},
}

const answerLog = "name the directory, as in --log-dir DIR"

// redirects are the streams that go to files; whether there is a directory for them is
// checked once the line is read.
func redirects(p *pasted, v []string) ([]string, string) {
	if p.redirects = v[0] != "0"; p.redirects {
		p.note("--log-dir has both streams of all ranks")
	}
	return nil, ""
}

// isStreams tells whether a value names streams, of all ranks, as 3 does, or of some, as
// 0:1,1:3: golaunch's own --tee has none.
func isStreams(w word, next []string) bool {
	return valueIs(func(value string) bool {
		for item := range strings.SplitSeq(value, ",") {
			rank, streams, some := strings.Cut(item, ":")
			if !some {
				rank, streams = "0", item
			}
			if _, err := strconv.ParseUint(rank, 10, 31); err != nil || len(streams) != 1 || !strings.Contains("0123", streams) {
				return false
			}
		}
		return true
	}, w, next)
}

// tee are the streams that go to files and to the terminal.
func tee(v []string) ([]string, string) {
	if v[0] == "0" {
		return nil, ""
	}
	return []string{"--tee"}, ""
}

const answerOnce = "call golaunch once, on one machine: it starts the ranks of all nodes"

// pythonWish is the interpreter that torchrun starts a program with.
type pythonWish int

const (
	asScript pythonWish = iota
	asModule
	noPython
)

func wishPython(wish pythonWish) func(*pasted, []string) ([]string, string) {
	return func(p *pasted, _ []string) ([]string, string) {
		if p.python != asScript && p.python != wish {
			return nil, "a module is started by Python: leave out -m or --no-python"
		}
		p.python = wish
		return nil, ""
	}
}

// setting is a flag whose value is that of a variable.
func setting(name string) func(*pasted, []string) ([]string, string) {
	return func(_ *pasted, v []string) ([]string, string) { return []string{"--genv", name + "=" + v[0]}, "" }
}

// masterPort is the port of rank 0.
func masterPort(v []string) ([]string, string) {
	if n, err := strconv.ParseUint(v[0], 10, 16); err != nil || n == 0 {
		return nil, fmt.Sprintf("%q is not a port, 1 to 65535; without it golaunch takes one that is free", v[0])
	}
	return []string{"--genv", "MASTER_PORT=" + v[0]}, ""
}

// nnodes is a number of nodes, or the least and the most of them.
func nnodes(v []string) ([]string, string) {
	least, most, isRange := strings.Cut(v[0], ":")
	if isRange && least != most {
		return nil, "a job has one number of nodes, as in --nnodes " + most
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
		var answer string
		if n, answer = p.devices(v[0]); answer != "" {
			return nil, answer
		}
	}
	flags := []string{"--ppn", strconv.Itoa(n)}
	if _, set := environ.Lookup(p.Environ, "OMP_NUM_THREADS"); n > 1 && !set {
		p.note("OMP_NUM_THREADS=1 is set for the ranks, as torchrun does where it is not set")
		flags = append(flags, "--genv", "OMP_NUM_THREADS=1")
	}
	return flags, ""
}

// deviceCount holds the devices that torchrun's --nproc-per-node counts on this machine, gpu or
// cpu, and their number; what is "" for a plain number.
type deviceCount struct {
	what string
	n    int
}

// devices is how many GPUs or CPUs this machine has, as one of torchrun's words for a
// number of ranks asks for them. Those of other hosts are not known.
func (p *pasted) devices(what string) (n int, answer string) {
	gpus := p.GPUs()
	switch {
	case what == "auto" && gpus > 0:
		what = "gpu"
	case what == "auto":
		what = "cpu"
	}
	switch what {
	case "gpu":
		n = gpus
	case "cpu":
		n = p.CPUs()
	default:
		return 0, "it is a number, gpu, cpu or auto"
	}
	if n == 0 {
		return 0, "this machine has none; give the number of ranks, as in --nproc-per-node 8"
	}
	p.counted = deviceCount{what, n}
	p.note("%d ranks on each host, as this machine has so many %ss", n, strings.ToUpper(what))
	return n, ""
}

// checkTorchrun answers what of torchrun's line only the whole of it shows to be wrong.
func (p *pasted) checkTorchrun(flags []string) {
	if p.redirects && valueOf(flags, "log-dir") == "" {
		p.answers = append(p.answers, "--redirects: "+answerLog)
	}
	nodes := valueOf(flags, "nodes")
	elsewhere := nodes != "" && nodes != "1" || valueOf(flags, "hosts") != "" || valueOf(flags, "hostfile") != ""
	if p.standalone && elsewhere {
		p.answers = append(p.answers, "--standalone: it is one node, this machine: leave it out, or the other nodes")
	}
	if p.counted.what != "" && elsewhere {
		p.answers = append(p.answers, fmt.Sprintf("--nproc-per-node: the number of other hosts' %ss is not known before they are reached; give it, as in --nproc-per-node %d", strings.ToUpper(p.counted.what), p.counted.n))
	}
}

// numaBinding is torchrun's word for CPUs.
func numaBinding(v []string) ([]string, string) {
	switch v[0] {
	case "node":
		return []string{"--bind-to", "gpu"}, ""
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
	python := p.Variable("PYTHON_EXEC")
	if python == "" {
		python = "python3"
		if !p.HasProgram(python) {
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
