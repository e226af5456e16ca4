package dialects

import (
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/environ"
)

// OpenMPI is Open MPI's mpirun, by its manual page and help of 4.1, and by the
// manual page of 5.0 and the help of its launcher, PRRTE 3.0.
var OpenMPI = Tool{
	name: "mpirun of Open MPI", family: "openmpi",
	calls:  []string{"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.openmpi", "orterun", "prterun", "prun", "oshrun"},
	manual: "Open MPI 4.1, 5.0 (PRRTE 3.0)", dash: "--",
	rows: []row{
		// Number and place of ranks.
		as("c np n", "--np"),
		same("N", "--ppn", 1),
		as("npernode", "--ppn"),
		means("pernode", "--ppn", "1"),
		answer("npersocket", 1, answerSpread),
		same("H", "--hosts", 1),
		as("host", "--hosts"),
		same("hostfile", "--hostfile", 1),
		as("machinefile default-hostfile", "--hostfile"),
		answer("add-host add-hostfile", 1, "name all hosts in -H or -f; --spares keeps some free"),
		turns("map-by", 1, "`--map-by`, `--ppn`, `--oversubscribe`, `--bind-to`; socket, numa and l3cache bind ranks to these, PE=N to N cores; other parts of a host are answered: "+AnswerWithin, mapByElements).asWell(),
		value("ppr", "`--ppn`", func(v []string) ([]string, string) { return mapBy([]string{"ppr:" + v[0]}) }),
		value("rank-by", "`--rank-by`", rankBy).asWell(),
		value("rankfile rf", "`--map-by file:FILE`", rankFile),
		means("bynode", "--map-by", "node"),
		means("byslot", "--map-by", "slot"),
		means("bycore", "--map-by", "slot"),
		answer("nolocal", 0, answerInclude),
		same("oversubscribe", "--oversubscribe", 0),
		pass("nooversubscribe", 0, "more ranks than slots are refused in any case"),
		answer("use-hwthread-cpus", 0, answerSlots),
		turns("app", 1, "an app for each line of the file", appFile),

		// Binding.
		same("bind-to", "--bind-to", 1),
		means("bind-to-core", "--bind-to", "core"),
		means("bind-to-socket", "--bind-to", "socket"),
		means("bind-to-none", "--bind-to", "none"),
		same("report-bindings", "--report-bindings", 0),
		answer("cpu-set cpu-list slot-list", 1, answerCPUSet),
		turns("cpus-per-proc cpus-per-rank", 1, "`--bind-to core:N`", cpusPerRank),
		answer("cf cartofile", 1, "golaunch finds the CPUs of each host itself; leave it out"),

		// Environment and directory.
		turns("x", 1, "`--env`; a variable that is not set is left out", setHere).first(),
		as("set-env", "--env"),
		answer("unset-env", 1, "take it from golaunch, as in env -u NAME golaunch"),
		answer("prepend-env append-env", 2, answerSet),
		turns("mca omca", 2, "`--env OMPI_MCA_KEY=VALUE`; what is for the launcher becomes its flag, btl_tcp_if_include `--iface`", mca("--env")),
		turns("gmca gomca", 2, "`--genv OMPI_MCA_KEY=VALUE`, or as `--mca`", mca("--genv")),
		turns("pmixmca", 2, "`--env PMIX_MCA_KEY=VALUE`", pmixMCA("--env")),
		turns("gpmixmca", 2, "`--genv PMIX_MCA_KEY=VALUE`", pmixMCA("--genv")),
		turns("prtemca", 2, "golaunch's flag where there is one, as with --mca; else passed over: golaunch is not PRRTE, whose parameters these are", prteMCA),
		answer("am tune", 1, answerMCAFile),
		same("wdir", "--wdir", 1),
		as("wd", "--wdir"),
		answer("set-cwd-to-session-dir", 0, "use --wdir DIR"),
		answer("path", 1, "name the program with its directory, or set -x PATH=..."),
		answer("prefix", 1, "set -x PATH=... and -x LD_LIBRARY_PATH=..."),
		pass("noprefix", 0, "golaunch sets no paths"),
		turns("s preload-binary", 0, "`--stage` for the program", func(p *pasted, _ []string) ([]string, string) {
			p.stage = true
			return nil, ""
		}),
		answer("preload-files", 1, "use --stage FILE for each; ranks find them in $GOLAUNCH_STAGE_DIR"),
		pass("personality", 1, "golaunch sees which MPI library a program has"),
		answer("pset", 1, "golaunch names no sets of processes: leave it out, and choose by rank"),
		answer("index-argv-by-rank", 0, "ranks know their number by PMI_RANK and RANK"),

		// How agents are started.
		pass("allow-run-as-root", 0, "golaunch runs as root, too"),
		answer("with-ft", 1, "golaunch tells Open MPI of no failures: leave it out; --keep-going lets the other ranks go on"),
		answer("memory-alloc-kinds", 1, "set it for Open MPI, as in -x OMPI_MCA_mpi_memory_alloc_kinds=LIST"),
		answer("app-prefix", 1, "set the paths for the ranks, as in -x OPAL_PREFIX=DIR -x PATH=... -x LD_LIBRARY_PATH=..."),
		answer("launch-agent", 1, "golaunch brings its agent; --copy-agent copies it in any case"),
		answer("dvm dvm-uri hnp", 1, answerDVM),
		answer("ompi-server", 1, answerDVM),
		pass("no-ready-msg", 0, answerDVM),
		answer("terminate", 0, answerDVM),
		answer("singleton", 1, answerDVM),
		answer("keepalive", 1, answerDVM),
		pass("max-vm-size", 1, "agents start on the hosts that have ranks"),
		pass("novm", 0, "agents start on the hosts that have ranks"),
		pass("do-not-resolve", 0, "golaunch resolves names in parallel"),
		pass("use-regexp", 0, "lists of hosts are folded in any case"),
		pass("fwd-mpirun-port", 0, "golaunch listens at no port"),
		pass("enable-instant-on-support", 0, "golaunch chooses how it starts"),
		pass("set-sid", 0, "agents leave the session in any case"),
		value("tmpdir", "`--genv OMPI_MCA_orte_tmpdir_base=DIR`: where ranks of Open MPI 4 have their files", func(v []string) ([]string, string) {
			return []string{"--genv", "OMPI_MCA_orte_tmpdir_base=" + v[0]}, ""
		}),
		pass("leave-session-attached", 0, "what agents say comes back in any case"),

		// Input, output, end.
		same("stdin", "--stdin", 1),
		means("tag-output", "--label"),
		turns("timestamp-output", 0, "`--label='%t '`, with --tag-output `'%t [%r] '`", withTime),
		turns("output", 1, "`--label` for tag and timestamp, `--log-dir`, `--tee` for dir, `--out`, `--err`, `--tee` for file, the latter but for :nocopy; else answered", outputDirectives).where(isDirective),
		value("output-filename output-directory", "`--log-dir`, and `--tee` but for :nocopy; files are DIR/attempt-0/RANK.out and RANK.err", logDir),
		answer("merge-stderr-to-stdout", 0, answerMerge),
		value("stream-buffering", "`--genv OMPI_MCA_ompi_stream_buffering=N`, and `OMPI_MCA_ess_base_stream_buffering=N` of Open MPI 4: MPI_Init sets the buffering of standard output", streamBuffering),
		answer("xml", 0, "--label marks each line with its rank"),
		answer("xml-file", 1, "--label marks each line with its rank"),
		same("timeout", "--timeout", 1),
		as("spawn-timeout", "--connect-timeout"),
		means("enable-recovery", "--keep-going"),
		means("continuous", "--keep-going"),
		pass("disable-recovery", 0, "a rank that fails ends the job"),
		turns("max-restarts", 1, "`--restarts`, of the whole job", restarts),
		value("runtime-options rtos", "`--keep-going`, `--timeout`; else answered", runtimeOptions),
		passFor("forward-signals", 1, "golaunch passes these on", "golaunch passes on INT, QUIT, USR1, USR2, ALRM, VTALRM, XCPU and CONT; TERM and HUP end the ranks", forwarded),
		pass("report-child-jobs-separately", 0, "the exit status is that of the rank that failed first"),

		// Looking inside.
		same("v verbose", "--verbose", 0),
		same("q quiet", "--quiet", 0),
		same("h", "-h", 0),
		same("help", "--help", 0),
		means("V version", "--version"),
		means("do-not-launch", "--dry-run"),
		answer("display", 1, answerPlan),
		answer("display-map", 0, answerPlan),
		answer("display-allocation", 0, answerPlan),
		answer("display-devel-map display-diffable-map display-devel-allocation display-topo", 0, answerPlan),
		answer("show-progress", 0, "golaunch names who keeps others waiting, --stall-after says when"),
		answer("output-proctable", optional, "--report FILE has host and process of each rank"),
		answer("report-pid report-uri report-events", 1, "--report FILE has all that is known of the job"),
		answer("get-stack-traces report-state-on-timeout", 0, "at the end of --timeout golaunch names who keeps others waiting"),
		means("d debug-devel", "--verbose"),
		means("debug-daemons", "--verbose"),
		means("debug-daemons-file", "--verbose"),
		answer("tv debug", 0, answerDebug),
		answer("debugger", 1, answerDebug),
		answer("stop-on-exec stop-in-init stop-in-app", optional, answerDebug),
		answer("xterm", 1, answerDebug),
	},
}

// streamBuffering reads the buffering of a program's output: 0 not at all, 1 up to
// the end of a line, 2 as to a file.
func streamBuffering(v []string) ([]string, string) {
	if v[0] != "0" && v[0] != "1" && v[0] != "2" {
		return nil, "it is 0 (not at all), 1 (up to the end of a line) or 2 (as to a file)"
	}
	return []string{"--genv", "OMPI_MCA_ompi_stream_buffering=" + v[0], "--genv", "OMPI_MCA_ess_base_stream_buffering=" + v[0]}, ""
}

// forwarded tells whether golaunch passes all signals of a list on.
func forwarded(v []string) bool {
	for word := range strings.SplitSeq(strings.ToUpper(v[0]), ",") {
		switch strings.TrimPrefix(strings.TrimSpace(word), "SIG") {
		case "", "NONE", "ALL", "INT", "TERM", "HUP", "QUIT", "USR1", "USR2", "ALRM", "VTALRM", "XCPU", "TSTP", "CONT":
		default:
			return false
		}
	}
	return true
}

// restarts reads the number of restarts.
func restarts(p *pasted, v []string) ([]string, string) {
	p.note("all ranks start again, not one alone")
	return []string{"--restarts", v[0]}, ""
}

// directives are the values of PRRTE's --output, where srun's takes a file.
var directives = []string{
	"tag", "tag-detailed", "tag-fullname", "rank", "timestamp", "xml", "json", "raw", "merge", "merge-stderr-to-stdout", "dir", "directory", "file", "filename",
}

// isDirective tells whether a value is PRRTE's.
func isDirective(w word, next []string) bool {
	return valueIs(func(value string) bool {
		first, _, _ := strings.Cut(value, ",")
		first, _, _ = strings.Cut(first, "=")
		return slices.ContainsFunc(directives, func(d string) bool { return strings.EqualFold(first, d) })
	}, w, next)
}

// noDirective tells whether a value is a file's name.
func noDirective(w word, next []string) bool { return !isDirective(w, next) }

// outputDirectives are PRRTE's words for output.
func outputDirectives(p *pasted, v []string) (flags []string, answer string) {
	for word := range strings.SplitSeq(v[0], ",") {
		name, value, _ := strings.Cut(word, "=")
		switch strings.ToLower(name) {
		case "tag", "tag-detailed", "tag-fullname", "rank":
			flags = append(flags, "--label")
		case "raw":
		case "timestamp":
			p.Timed = true
		case "merge", "merge-stderr-to-stdout":
			return nil, answerMerge
		case "dir", "directory":
			more, answer := logDir([]string{value})
			if answer != "" {
				return nil, answer
			}
			flags = append(flags, more...)
		case "file", "filename":
			name, tee, answer := shownToo(value)
			if answer != "" {
				return nil, answer
			}
			name = strings.ReplaceAll(name, "%", "%%")
			flags = append(append(flags, "--out", name+".%r.out", "--err", name+".%r.err"), tee...)
		default:
			return nil, "--label marks each line with its rank"
		}
	}
	return flags, ""
}

// withTime puts the time in front of every line.
func withTime(p *pasted, _ []string) ([]string, string) {
	p.Timed = true
	return nil, ""
}

// shownToo is the name of a file or a directory, and the flag by which its output is shown
// as well, unless :nocopy follows the name.
func shownToo(value string) (name string, tee []string, answer string) {
	name, words, _ := strings.Cut(value, ":")
	tee = []string{"--tee"}
	for word := range strings.SplitSeq(words, ",") {
		switch strings.ToLower(word) {
		case "", "copy":
		case "nocopy":
			tee = nil
		default:
			return "", nil, word + ": " + answerOutFiles
		}
	}
	if name == "" {
		return "", nil, answerLog
	}
	return name, tee, ""
}

// logDir is a directory for the output of all ranks.
func logDir(v []string) ([]string, string) {
	name, tee, answer := shownToo(v[0])
	if answer != "" {
		return nil, answer
	}
	return append([]string{"--log-dir", name}, tee...), ""
}

// runtimeOptions are PRRTE's words for the end of a job.
func runtimeOptions(v []string) (flags []string, answer string) {
	for word := range strings.SplitSeq(v[0], ",") {
		name, value, _ := strings.Cut(strings.ToLower(word), "=")
		switch name {
		case "abort-nonzero-status", "error-nonzero-status":
			if value == "false" || value == "0" {
				flags = append(flags, "--keep-going")
			}
		case "recoverable", "continuous":
			flags = append(flags, "--keep-going")
		case "timeout":
			flags = append(flags, "--timeout", value)
		case "donotlaunch":
			flags = append(flags, "--dry-run")
		default:
			return nil, word + ": golaunch has --keep-going, --timeout and --dry-run"
		}
	}
	return flags, ""
}

// setHere passes a variable on, if there is one of that name.
func setHere(p *pasted, v []string) (flags []string, answer string) {
	if _, set := environ.Lookup(p.Environ, v[0]); !set && !strings.Contains(v[0], "=") {
		p.note("%s is not set here", v[0])
		return nil, ""
	}
	return []string{"--env", v[0]}, ""
}
