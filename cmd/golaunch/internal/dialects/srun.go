package dialects

import (
	"slices"
	"strings"
)

// Srun is Slurm's srun, by its manual pages of 22.05 and 24.11.
var Srun = Tool{
	name: "srun", family: "srun", calls: []string{"srun"}, manual: "Slurm 22.05, 24.11", dash: "--", letters: true, last: true,
	rows: slices.Concat([]row{
		// Number and place of ranks.
		as("n ntasks", "--np"),
		value("N nodes", "`--nodes`", nodesOf).first(),
		turns("c cpus-per-task", 1, "`SLURM_CPUS_PER_TASK` for the ranks; with --cpu-bind=cores or threads `--bind-to hwthread:N`; else they share the CPUs of their host", cpusPerTask),
		as("ntasks-per-node tasks-per-node", "--ppn"),
		value("w nodelist", "`--hosts`; a value with a / is a file, and becomes `--hostfile`", hostsOrFile),
		as("F nodefile", "--hostfile"),
		same("exclude", "--exclude", 1),
		as("x", "--exclude").first().where(func(w word, next []string) bool {
			return w.attached && w.long || valueIs(func(value string) bool { return !strings.Contains(value, "=") }, w, next)
		}),
		turns("m distribution", 1, "`--map-by`; plane=SIZE `--rank-by plane:SIZE`; arbitrary `--map-by seq`; words for sockets and cores are left to --bind-to", distribution),
		means("O overcommit", "--oversubscribe"),
		same("oversubscribe", "--oversubscribe", 0),
		pass("s", 0, "hosts are shared as the allocation says"),
		turns("r relative", 1, "the hosts of the allocation from the N-th on, of which the first is 0; elsewhere answered: "+answerInclude, relative),
		pass("ntasks-per-core", 1, "the slots of a host say how many ranks it holds"),
		answer("ntasks-per-socket", 1, answerSpread),
		answer("ntasks-per-gpu", 1, answerSlots),
		answer("spread-job", 0, answerSpread),
		answer("use-min-nodes", 0, answerInclude),
		turns("het-group", 1, "`--hosts`: those of these components of a heterogeneous job; ranks are for each", hetGroups),
		turns("multi-prog", 0, "an app for each line of the file", func(p *pasted, _ []string) ([]string, string) {
			p.MultiProg = true
			return nil, ""
		}),

		// Binding.
		value("cpu-bind cpu_bind", "`--bind-to`, `--report-bindings`", cpuBind),
		value("mem-bind", "nothing for local, none and words of -v's; else answered: "+answerMemory, memBind),
		passFor("hint", 1, "ranks are bound only as --bind-to says", answerThreads, func(v []string) bool { return v[0] == "multithread" }),
		answer("threads-per-core", 1, answerThreads),
		answer("accel-bind", 1, answerDevice),
		answer("gpu-bind", 1, answerDevice),
		value("gpus-per-task", "`--gpus-per-rank` for a number; else answered: "+answerDevice, gpusPerRank),
		answer("tres-bind", 1, answerDevice),
		answer("tres-per-task", 1, answerDevice),

		// Environment and directory.
		as("D chdir", "--wdir"),
		turns("export", 1, "`--env-none` unless ALL is in it, and `--genv` for each variable", exportList).where(fitsExport),
		pass("E preserve-env", 0, "Slurm's variables of the allocation stay as they are"),
		passFor("propagate", optional, "resource limits always go along", answerLimits, func(v []string) bool { return len(v) == 0 || v[0] == "ALL" }),
		turns("mpi", 1, "`--mpi`; what golaunch has no word for is `--mpi auto`, pmix with a version `--mpi pmix`", mpiOf).onlyHere(hasSrunMPI),
		pass("resv-ports", optional, "golaunch needs no ports of the nodes"),
		answer("prolog", 1, answerScript),
		answer("epilog", 1, answerScript),
		answer("task-prolog", 1, answerScript),
		answer("task-epilog", 1, answerScript),
		turns("bcast", optional, "`--stage` for the program", func(p *pasted, _ []string) ([]string, string) {
			p.stage = true
			return nil, ""
		}),
		pass("bcast-exclude", 1, "golaunch brings no libraries with the program"),
		pass("compress", optional, "golaunch compresses nothing"),
		turns("send-libs", optional, "nothing for no; else answered: "+answerLibraries, sendLibs),
		answer("container", 1, "use --bootstrap podman or docker, or start the runtime as the program"),
		answer("container-id", 1, "use --bootstrap podman or docker, or start the runtime as the program"),
		answer("x11", optional, "set up X11 with ssh -X, and pass it on with -x DISPLAY"),
		turns("pty", optional, "`--pty`; =0 too, another descriptor is answered: "+answerPTY, ptyOf).first(),

		// Input, output, end.
		turns("o output", 1, "`--out`; %t becomes %r, %N becomes %h, %j is the Slurm job's number; none is `/dev/null`; a rank's number is `--show`; without -e it has both streams", patternFor("--out")).asWell().where(noDirective),
		turns("e error", 1, "`--err`; as -o; none is `/dev/null`", patternFor("--err")).asWell(),
		turns("i input", 1, "`--stdin`; a file is answered: "+answerInput, inputOf).asWell(),
		same("l label", "--label", 0),
		same("u unbuffered", "--unbuffered", 0),
		value("open-mode", "nothing for truncate; else answered: "+answerAppend, openMode),
		value("t time", "`--timeout`; 10 is ten minutes, 1:30:00 is 90 minutes", slurmTime),
		value("W", "nothing for 0; else answered: "+answerWait, waitOf),
		value("wait", "nothing for 0; else answered: "+answerWait, waitOf).where(isSeconds).first(),
		turns("K kill-on-bad-exit", optional, "nothing: a rank that fails ends the job; with 0 `--keep-going`", killOnBadExit),
		turns("k no-kill", optional, "nothing for off; else answered: "+answerLost, noKill),
		pass("X disable-status", 0, "the first Ctrl-C goes to the ranks, the second ends them"),
		pass("quit-on-interrupt", 0, "a second Ctrl-C ends the ranks"),
		passFor("oom-kill-step", optional, "a rank that is killed ends the job", "--keep-going lets the others go on when a rank fails, for whatever cause",
			func(v []string) bool { return len(v) == 0 || v[0] == "1" }),
		answer("signal", 1, "golaunch sends SIGTERM at the end of --timeout, and SIGKILL --grace later"),
		pass("msg-timeout", 1, "--lost-after says when a silent node counts as lost"),
		pass("slurmd-debug", 1, "there is no slurmd between; -v has golaunch tell more"),
		pass("treewidth", 1, "--degree is the width of golaunch's tree"),

		// Looking inside.
		same("v verbose", "--verbose", 0),
		means("Q quiet", "--quiet"),
		same("h", "-h", 0),
		same("help", "--help", 0),
		same("usage", "--usage", 0),
		means("V version", "--version"),
		answer("test-only", 0, answerPlan),
		pass("acctg-freq", 1, "golaunch keeps no accounts; --report FILE has what each rank used"),
		answer("profile", 1, answerReport).first(),

		// The allocation.
		pass("exclusive", optional, "the hosts of the allocation are used as they are"),
		same("overlap", "--overlap", 0),
		pass("exact", 0, "golaunch reserves slots, and what ranks are bound to"),
		turns("I immediate", optional, "nothing: "+waits, immediate),
		pass("no-shell", 0, "golaunch starts programs only"),
		turns("jobid", 1, "nothing for the allocation's own; else answered: "+answerJob, ownJob),
		pass("external-launcher", 0, "golaunch starts agents by itself"),
		pass("stepmgr", 0, "golaunch makes no steps"),
		answer("Z no-allocate", 0, "name the hosts in -H or -f"),
		allocation("q qos", 1).first().where(func(w word, next []string) bool {
			return w.attached || !strings.Contains(next[0], "/") // golaunch's -q, and a program
		}),
		turns("J job-name", 1, "`--genv SLURM_JOB_NAME=NAME`; nothing in an allocation, which has one", jobName),
		answer("cpu-freq", 1, "golaunch sets no frequencies: have a script do it that starts the program, or the job's prolog"),
		pass("comment", 1, "golaunch keeps no accounts"),
		pass("wckey", 1, "golaunch keeps no accounts"),
		same("H", "--hosts", 1),
		answer("gid uid", 1, "ranks run as who starts golaunch: start it as that user, as in sudo -u"),
		pass("T threads", 1, "golaunch chooses how many hosts it starts at a time"),
	}, allocations(1,
		"A account", "p partition", "C constraint", "cluster-constraint", "M clusters", "G gpus", "gpus-per-node", "gpus-per-socket",
		"cpus-per-gpu", "gpu-freq", "gres", "gres-flags", "mem", "mem-per-cpu", "mem-per-gpu", "mincpus", "tmp", "B extra-node-info",
		"cores-per-socket", "sockets-per-node", "S core-spec", "thread-spec", "switches", "segment", "prefer", "L licenses",
		"reservation", "extra", "network", "power", "bb", "bbf", "b begin", "deadline", "delay-boot", "d dependency", "mail-type",
		"mail-user", "mcs-label", "priority", "time-min",
	), allocations(0, "contiguous", "hold", "reboot"), allocations(optional, "nice")),
}

// allocations are flags that ask Slurm for hosts, each with so many values.
func allocations(values int, names ...string) []row {
	rows := make([]row, len(names))
	for i, name := range names {
		rows[i] = allocation(name, values)
	}
	return rows
}

// allocation is a flag that asks Slurm for hosts: in an allocation it has been carried
// out.
func allocation(names string, values int) row {
	const where = "it is for salloc or sbatch: give it there, and start golaunch in the allocation"
	return row{
		names: names, values: values, verb: passes, text: "in an allocation, which has it or has it not; else answered: " + where,
		to: func(p *pasted, _ []string) ([]string, string) {
			if !p.InSlurm() {
				return nil, where
			}
			p.note("the allocation has it or has it not")
			return nil, ""
		},
	}
}
