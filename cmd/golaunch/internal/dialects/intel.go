package dialects

// Intel is Intel MPI's mpiexec.hydra where it has more than MPICH's, by the manual
// page and the developer reference of 2021.
var Intel = Tool{
	name: "mpiexec of Intel MPI", family: "hydra", calls: []string{"mpiexec", "mpirun", "mpiexec.hydra"},
	manual: "Intel MPI 2021", dash: "-", base: &Hydra,
	rows: []row{
		// Number and place of ranks.
		as("perhost grr", "--ppn"),
		means("rr", "--map-by", "node"),
		as("hosts-group", "--hosts"),
		answer("nolocal", 0, answerInclude),
		answer("use-app-topology", 1, "use --map-by comm:FILE, with a file that --profile wrote"),

		// Environment and directory.
		as("gwdir", "--wdir"),
		answer("gpath", 1, "name the program with its directory, or set -x PATH=..."),
		answer("umask gumask", 1, "set it in the shell; golaunch's umask goes along"),
		turns("tune", optional, "`--genv I_MPI_TUNING_BIN=FILE`", func(_ *pasted, v []string) ([]string, string) {
			if len(v) == 0 {
				return nil, "name the file, as in -x I_MPI_TUNING_BIN=FILE"
			}
			return []string{"--genv", "I_MPI_TUNING_BIN=" + v[0]}, ""
		}),
		answer("ilp64", 0, "use -x LD_PRELOAD=libmpi_ilp64.so"),
		answer("trace t", 0, answerTrace),
		answer("trace-imbalance", 0, answerTrace),
		answer("trace-pt2pt", 0, answerTrace),
		answer("trace-collectives", 0, answerTrace),
		answer("mps", 0, answerProfile),
		answer("aps", 0, answerProfile),
		answer("check_mpi check-mpi", 0, "use -x LD_PRELOAD=libVTmc.so"),
		answer("gtool", 1, answerDebug),
		answer("gtoolfile", 1, answerDebug),
		answer("hostos", 1, "golaunch runs on Linux only"),
		pass("noconf", 0, "golaunch reads no files of settings"),

		// How agents are started.
		answer("bootstrap-exec-args", 1, answerSSH),
		pass("branch-count", 1, "--degree is the width of golaunch's tree"),
		pass("pmi-connect", 1, "--cache says which node keeps which keys"),
		pass("pmi-aggregate", 0, "--cache says how keys travel"),
		pass("pmi-noaggregate", 0, "--cache says how keys travel"),
		pass("prefork", 0, "golaunch chooses how it starts programs"),
		pass("cleanup", 0, "golaunch leaves no process behind"),
		pass("tmpdir", 1, "golaunch leaves no files on the hosts"),

		// Output and end.
		value("s", "`--stdin`", func(v []string) ([]string, string) { return []string{"--stdin", v[0]}, "" }),
		pass("ordered-output", 0, "lines of ranks are never mixed; --label says whose each is"),
		answer("print-rank-map", 0, answerPlan),
		pass("silent-abort", 0, "golaunch says in one line which rank has aborted"),

		// Looking inside.
		means("V", "--version"),
		answer("tv", 0, answerDebug),
		answer("tva", 1, answerDebug),
		answer("gdb", 0, answerDebug),
		answer("gdba", 1, answerDebug),
		answer("gdb-ia", 0, answerDebug),
		answer("rdma RDMA dapl DAPL ib IB tmi TMI mx MX psm PSM psm2 PSM2 ofi OFI", 0,
			"choose the network with -x I_MPI_FABRICS=shm:ofi and -x FI_PROVIDER=NAME"),
	},
}
