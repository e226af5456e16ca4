package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/bootstrap"
	"github.com/golaunch/golaunch/bootstrap/registry"
)

// Answers that several words share.
const (
	answerDrop     = "there is nothing to set; leave it out"
	answerPlan     = "--dry-run prints where the ranks go and starts nothing"
	answerApps     = "write the programs on the command line, separated by a lone ':'"
	answerOrder    = "ranks follow the order of the hosts; order them in -H or -f"
	answerInclude  = "name the hosts to use, and only them, in -H or -f"
	answerDebug    = "start the debugger as the program, as in golaunch -n 1 gdb --args ./app"
	answerWithin   = "golaunch places ranks on hosts: --map-by slot fills one after the other, --map-by node takes each in turn"
	answerRankFile = "name the rank file, as in --map-by file:RANKFILE"
	answerRankMap  = "write a rank file, with lines such as 0-3 n001, and use --map-by file:RANKFILE"
	answerInherit  = "ranks inherit the environment; use --env-none and -x NAME to pass only some"
	answerSet      = "give the whole value, as in -x PATH=/opt/bin:$PATH"
	answerExec     = "use --bootstrap exec with --exec-command 'PROGRAM {host} {command}'"
	answerNetwork  = "name the hosts by their addresses on that network, as in -H '10.0.0.[1-4]'"
)

// foreignWords are the words of other launchers, without their dashes. Those
// that are also flags of golaunch's, with the same values, are not listed. One that
// ends with = is a word whose value is attached, where that means another thing.
var foreignWords = map[string]foreign{
	// Number and place of ranks.
	"c":                as("--np", 1),
	"n":                as("--np", 1), // with two dashes
	"ntasks":           as("--np", 1),
	"ntasks-per-node":  as("--ppn", 1),
	"tasks-per-node":   as("--ppn", 1),
	"w":                as("--hosts", 1),
	"nodelist":         as("--hosts", 1),
	"perhost":          as("--ppn", 1),
	"npernode":         as("--ppn", 1),
	"pernode":          meaning("--ppn", "1"),
	"host":             as("--hosts", 1),
	"machinefile":      as("--hostfile", 1),
	"machine-file":     as("--hostfile", 1),
	"map-by":           {values: 1, to: mapBy, also: true},
	"nooversubscribe":  meaning(),
	"rank-by":          {values: 1, to: rankBy, also: true},
	"rankmap":          instead(answerRankMap),
	"rankfile":         {values: 1, to: rankFile},
	"rf":               {values: 1, to: rankFile},
	"rr":               meaning("--map-by", "node"),
	"distribution":     {values: 1, to: distribution},
	"m":                {values: 1, to: distribution},
	"order-nodes":      instead(answerOrder),
	"bynode":           meaning("--map-by", "node"),
	"byslot":           meaning("--map-by", "slot"),
	"nolocal":          instead(answerInclude),
	"skip-launch-node": instead(answerInclude),
	"usize":            instead(answerDrop),
	"soft":             instead("give one number of ranks with -n"),

	// Environment and directory.
	"genv":        {values: 1, to: assign("--genv"), more: wantsValue},
	"env":         {values: 1, to: assign("--env"), more: wantsValue},
	"genvlist":    {values: 1, to: genvList},
	"envlist":     instead(answerInherit),
	"genvall":     meaning(),
	"envall":      meaning(),
	"genvnone":    meaning("--env-none"),
	"envnone":     instead(answerInherit),
	"export":      {values: 0, to: exportList, more: wantsExport}, // without a value mpirun_rsh's
	"export=":     {values: 1, to: exportList},                    // srun's
	"export-all":  meaning(),
	"set-env":     as("--env", 1),
	"unset-env":   instead("take it from golaunch, as in env -u NAME golaunch"),
	"prepend-env": instead(answerSet),
	"append-env":  instead(answerSet),
	"mca":         {values: 2, to: parameter},
	"gmca":        {values: 2, to: parameter},
	"omca":        {values: 2, to: parameter},
	"mpi":         instead("PMI-1 and PMI-2 are both served, whichever a program speaks; leave it out"),
	"pmixmca":     instead("golaunch does not speak PMIx; leave it out"),
	"prtemca":     instead("golaunch is not PRRTE; leave it out"),
	"am":          instead("set Open MPI's parameters one by one with -x OMPI_MCA_name=value"),
	"tune":        instead("set Open MPI's parameters one by one with -x OMPI_MCA_name=value"),
	"wd":          as("--wdir", 1),
	"dir":         as("--wdir", 1),
	"chdir":       as("--wdir", 1),
	"path":        instead("name the program with its directory, or set -x PATH=..."),
	"prefix":      instead("set -x PATH=... and -x LD_LIBRARY_PATH=..."),
	"configfile":  instead(answerApps),
	"config":      instead(answerApps),
	"app":         instead(answerApps),

	// How agents are started.
	"launcher":                     {values: 1, to: bootstrapWord},
	"rmk":                          instead("the resource manager's hosts are found without; leave it out"),
	"ssh":                          meaning("--bootstrap", "ssh"),
	"rsh":                          instead("use --bootstrap ssh"),
	"fastssh":                      instead("agents start each other in any case; leave it out"),
	"launcher-exec":                instead(answerExec),
	"bootstrap-exec":               instead(answerExec),
	"enable-x":                     instead(answerDrop),
	"disable-x":                    instead(answerDrop),
	"iface":                        instead(answerNetwork),
	"localhost":                    instead(answerDrop),
	"nameserver":                   instead(answerDrop),
	"demux":                        instead(answerDrop),
	"allow-run-as-root":            meaning(),
	"disable-hostname-propagation": instead(answerDrop),
	"preload-binary":               instead("use --stage PROGRAM, which runs the copy"),
	"preload-files":                instead("use --stage FILE for each; ranks find them in $GOLAUNCH_STAGE_DIR"),

	// Devices; binding is in bindingWords.
	"topolib":           instead(answerDrop),
	"use-hwthread-cpus": instead("say how many ranks a host holds with host:N or --ppn"),
	"gpus-per-proc":     instead("choose the device in the program or in a script around it, by its local rank"),

	// Output and end.
	"s":                      as("--stdin", 1),
	"prepend-rank":           meaning("--label"),
	"tag-output":             meaning("--label"),
	"prepend-pattern":        instead("--label puts [rank] in front of every line"),
	"timestamp-output":       instead("pipe the output through ts"),
	"outfile-pattern":        as("--out", 1),
	"output":                 as("--out", 1),
	"error":                  as("--err", 1),
	"ordered-output":         instead("lines of ranks are never mixed; --label says whose each is"),
	"errfile-pattern":        as("--err", 1),
	"output-filename":        instead("make DIR and use -o DIR/%r.out -e DIR/%r.err"),
	"merge-stderr-to-stdout": instead("redirect it in the shell: 2>&1"),
	"xml":                    instead("--label marks each line with its rank"),
	"print-all-exitcodes":    instead("golaunch names the ranks that failed without; leave it out"),
	"disable-auto-cleanup":   meaning("--keep-going"),
	"enable-recovery":        meaning("--keep-going"),
	"disable-recovery":       meaning(),

	// Looking inside.
	"V":                  meaning("--version"),
	"info":               meaning("--version"),
	"profile":            meaning("--timing"),
	"show":               instead(answerPlan),
	"print-rank-map":     instead(answerPlan),
	"display":            instead(answerPlan),
	"display-map":        instead(answerPlan),
	"display-allocation": instead(answerPlan),
	"do-not-launch":      meaning("--dry-run"),
	"tv":                 instead(answerDebug),
	"gdb":                instead(answerDebug),
	"debug":              instead(answerDebug),
	"xterm":              instead(answerDebug),
}

// assign is Hydra's NAME VALUE, or NAME=VALUE.
func assign(flag string) func([]string) ([]string, string) {
	return func(v []string) ([]string, string) { return []string{flag, strings.Join(v, "=")}, "" }
}

// wantsValue says that a value follows NAME apart.
func wantsValue(next []string) bool { return !strings.Contains(next[0], "=") }

// wantsExport says that srun's value follows.
func wantsExport(next []string) bool {
	return len(next) > 0 && slices.ContainsFunc(strings.Split(next[0], ","), func(s string) bool {
		return s == "ALL" || s == "NONE" || s == "NIL"
	})
}

// exportList is srun's: ALL is the environment, NONE nothing of it, and else only
// what is listed, NAME or NAME=VALUE.
func exportList(v []string) (flags []string, answer string) {
	if len(v) == 0 {
		return nil, ""
	}
	list := strings.Split(v[0], ",")
	all := slices.Contains(list, "ALL")
	if !all {
		flags = append(flags, "--env-none")
	}
	for _, name := range list {
		_, set := os.LookupEnv(name)
		if strings.Contains(name, "=") || set && !all {
			flags = append(flags, "--genv", name)
		}
	}
	return flags, ""
}

// genvList is Hydra's list of the only variables to pass on.
func genvList(v []string) ([]string, string) {
	flags := []string{"--env-none"}
	for name := range strings.SplitSeq(v[0], ",") {
		if _, set := os.LookupEnv(name); set { // as Hydra, which leaves others out
			flags = append(flags, "--genv", name)
		}
	}
	return flags, ""
}

// parameter is an Open MPI parameter: what is meant for its launcher can't have
// an effect here, so the user is to choose.
func parameter(v []string) ([]string, string) {
	if v[0] == "plm_rsh_agent" || v[0] == "plm_ssh_agent" {
		return nil, fmt.Sprintf("for that use --bootstrap exec --exec-command '%s {host} {command}'", v[1])
	}
	return nil, fmt.Sprintf("for a parameter of the ranks use -x OMPI_MCA_%s=%s", v[0], v[1])
}

func bootstrapWord(v []string) ([]string, string) {
	kind, ok := registry.Find(v[0])
	if ok && !slices.ContainsFunc(kind.Options, func(o bootstrap.Option) bool { return o.Own }) { // else it needs these
		return []string{"--bootstrap", kind.Name}, ""
	}
	names := registry.Names()
	last := len(names) - 1
	return nil, fmt.Sprintf("instead of %s use --bootstrap %s or %s", v[0], strings.Join(names[:last], ", "), names[last])
}
