package dialects

// MPIRunRSH is MVAPICH2's mpirun_rsh, by its table of flags in 2.3.
var MPIRunRSH = Tool{
	name: "mpirun_rsh", family: "mpirun_rsh", calls: []string{"mpirun_rsh"}, manual: "MVAPICH2 2.3", dash: "-",
	rows: []row{
		same("np", "--np", 1),
		same("ppn", "--ppn", 1),
		same("hostfile", "--hostfile", 1),
		answer("sparehosts", 1, "list them after the others, and say how many they are with --spares"),
		turns("config", 1, "an app for each line of the file", appFile),
		pass("export", 0, "ranks inherit the environment"),
		pass("export-all", 0, "ranks inherit the environment"),
		means("ssh", "--bootstrap", "ssh"),
		answer("rsh", 0, "use --bootstrap ssh"),
		value("launcher", "`--bootstrap`; what golaunch lacks is answered", bootstrapWord),
		pass("fastssh", 0, "agents start each other in any case"),
		pass("legacy", 0, "golaunch has one way to start"),
		answer("sg", 1, "start golaunch under that group, as in sg GROUP 'golaunch ...'"),
		same("help", "--help", 0),
		same("v", "--verbose", 0),
		answer("show", 0, answerPlan),
		answer("tv", 0, answerDebug),
		answer("debug", 0, answerDebug),
		answer("xterm", 0, answerDebug),
		answer("startedByTv", 0, answerDebug),
		answer("dpm", 0, answerSpawn),
		answer("dpmspawn", 1, answerSpawn),
		answer("spawnfile", 1, answerSpawn),
	},
}
