package dialects

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/network/placement"
)

// Hydra is MPICH's mpiexec, Hydra, by its help and its table of flags in 4.
var Hydra = Tool{
	name: "mpiexec of MPICH", family: "hydra", calls: []string{"mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich"},
	manual: "MPICH 4", dash: "-",
	rows: []row{
		// Number and place of ranks.
		same("n np", "--np", 1),
		same("ppn", "--ppn", 1),
		same("f hostfile", "--hostfile", 1),
		as("machinefile machine-file", "--hostfile"),
		same("hosts", "--hosts", 1),
		as("host hostlist machines machinelist", "--hosts"),
		turns("machine", 1, "`--hosts`; a file becomes `--hostfile`", machineOf),
		turns("rankmap", 1, "`--map-by file:`, of the ranks that the value lists", rankMap),
		answer("order-nodes", 1, answerOrder),
		answer("skip-launch-node", 0, answerInclude),
		passFor("usize", 1, "MPI_UNIVERSE_SIZE is the slots of the job's hosts", "MPI_UNIVERSE_SIZE is the slots of the job's hosts: say how many these are, as in -H a:8,b:8",
			func(v []string) bool { return strings.EqualFold(v[0], "SYSTEM") }),
		answer("soft", 1, "give one number of ranks with -n"),
		turns("configfile", 1, "an app for each line of the file", appFile),
		value("map-by", "`--map-by`, `--ppn`, `--bind-to`; socket, numa and l3cache bind ranks to these, other parts of a host are answered: "+AnswerWithin, mapBy).asWell(),
		same("bind-to", "--bind-to", 1),
		value("binding", "`--bind-to`", BindTo),
		answer("membind", 1, answerMemory),

		// Environment and directory.
		turns("genv", pair, "`--genv NAME=VALUE`", assign("--genv")),
		turns("env", pair, "`--env NAME=VALUE`", assign("--env")),
		turns("genvlist", 1, "`--env-none`, `--genv` for each name that is set", genvList),
		answer("envlist", 1, answerInherit),
		pass("genvall", 0, "ranks inherit the environment"),
		pass("envall", 0, "ranks inherit the environment"),
		means("genvnone", "--env-none"),
		answer("envnone", 0, answerInherit),
		same("wdir", "--wdir", 1),
		answer("path", 1, "name the program with its directory, or set -x PATH=..."),
		pass("hybrid-hosts", 0, "golaunch needs no paths that hosts share"),

		// How agents are started.
		value("launcher", "`--bootstrap`; what golaunch lacks is answered", bootstrapWord),
		same("bootstrap", "--bootstrap", 1),
		answer("launcher-exec bootstrap-exec", 1, answerExec),
		pass("rmk", 1, "the resource manager's hosts are found without"),
		answer("enable-x", 0, "set up X11 with ssh -X, and pass it on with -x DISPLAY"),
		pass("disable-x", 0, "golaunch forwards no X11"),
		same("iface", "--iface", 1),
		pass("localhost", 1, "golaunch tells agents no name of this machine"),
		answer("nameserver", 1, "golaunch keeps the names of MPI_Publish_name for each job: start both programs in one, as in golaunch -n 1 ./server : -n 1 ./client"),
		pass("demux", 1, "golaunch chooses how it waits for output"),
		pass("topolib", 1, "golaunch reads the CPUs of a host itself"),
		pass("enable-hostname-propagation", 0, "golaunch tells ranks the address by which others reach their host"),
		answer("disable-hostname-propagation", 0, "golaunch tells ranks the address by which others reach their host; set another with -x MPIR_CVAR_CH3_INTERFACE_HOSTNAME=NAME"),
		value("g gpus-per-proc", "`--gpus-per-rank`", gpusPerRank),
		answer("gpu-subdevs-per-proc", 1, answerDevice),
		same("pmi-port", "--pmi-port", 0),
		answer("pmi_args pmi-args", 4, "only MPI libraries call it, as the first flag"),

		// Output and end.
		same("l", "--label", 0),
		means("prepend-rank", "--label"),
		value("prepend-pattern", "`--label`; %r is the rank, %h the host; others are answered", labelPattern),
		as("outfile-pattern outfile", "--out"),
		as("errfile-pattern errfile", "--err"),
		as("output-from", "--show"),
		means("disable-auto-cleanup", "--keep-going"),
		pass("enable-auto-cleanup", 0, "a rank that fails ends the others"),
		pass("print-all-exitcodes", 0, "golaunch names the ranks that failed without"),

		// Looking inside.
		same("v verbose", "--verbose", 0),
		means("debug", "--verbose"),
		same("h", "-h", 0),
		same("help", "--help", 0),
		same("version", "--version", 0),
		means("info", "--version"),
		means("profile", "--timing"),
	},
}

// assign is Hydra's NAME VALUE, or NAME=VALUE.
func assign(flag string) func(*pasted, []string) ([]string, string) {
	return func(_ *pasted, v []string) ([]string, string) { return []string{flag, strings.Join(v, "=")}, "" }
}

// labelPattern is Hydra's label of a line.
func labelPattern(v []string) ([]string, string) {
	for i := 0; i < len(v[0]); i++ {
		if v[0][i] != '%' {
			continue
		}
		if i++; i == len(v[0]) || v[0][i] != 'r' && v[0][i] != 'h' {
			return nil, "it has %r for the rank and %h for the host, and nothing else"
		}
	}
	return []string{"--label=" + v[0]}, ""
}

// genvList is Hydra's list of the only variables to pass on.
func genvList(p *pasted, v []string) ([]string, string) {
	flags := []string{"--env-none"}
	for name := range strings.SplitSeq(v[0], ",") {
		if _, set := environ.Lookup(p.Environ, name); set { // as Hydra, which leaves others out
			flags = append(flags, "--genv", name)
		}
	}
	return flags, ""
}

// machineOf is a list of hosts, or, as Intel MPI has it, a file of them.
func machineOf(p *pasted, v []string) ([]string, string) {
	if p.IsFile(v[0]) {
		return []string{"--hostfile", v[0]}, ""
	}
	return hostsOrFile(v)
}

// mostMapped bounds the ranks of a -rankmap.
const mostMapped = 1 << 20

// RankMapName is the name of the rank file of -rankmap.
const RankMapName = "-rankmap"

// rankMap is a list of the host of each rank, by number: 0,1,1, or (first,hosts,ranks)
// for blocks. It becomes a rank file that is in no file.
func rankMap(p *pasted, v []string) ([]string, string) {
	wrong := fmt.Sprintf("%q: it is a list as 0,1,1, or of blocks as (0,2,4); or %s", v[0], answerRankMap)
	text := strings.TrimSpace(v[0])
	if inner, ok := strings.CutPrefix(text, "(vector,"); ok && strings.HasSuffix(inner, ")") {
		text = strings.TrimSuffix(inner, ")")
	}
	var b strings.Builder
	rank := 0
	put := func(host, n int) bool {
		if n < 1 || rank+n > mostMapped || host < 0 {
			return false
		}
		for range n {
			fmt.Fprintf(&b, "rank %d=+n%d\n", rank, host)
			rank++
		}
		return true
	}
	for text != "" {
		var item string
		block := text[0] == '('
		if block {
			i := strings.IndexByte(text, ')')
			if i < 0 {
				return nil, wrong
			}
			item, text = text[1:i], text[i+1:]
			if text != "" && text[0] != ',' {
				return nil, wrong
			}
			text = strings.TrimPrefix(text, ",")
		} else {
			item, text, _ = strings.Cut(text, ",")
		}
		numbers := []int{}
		for field := range strings.SplitSeq(item, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(field))
			if err != nil || n < 0 || n > mostMapped {
				return nil, wrong
			}
			numbers = append(numbers, n)
		}
		switch {
		case !block && !put(numbers[0], 1), block && len(numbers) != 3:
			return nil, wrong
		case !block:
			continue
		}
		for i := range numbers[1] {
			if !put(numbers[0]+i, numbers[2]) {
				return nil, wrong
			}
		}
	}
	if rank == 0 {
		return nil, wrong
	}
	p.RankMap = b.String()
	return []string{"--map-by", placement.File + RankMapName}, ""
}
