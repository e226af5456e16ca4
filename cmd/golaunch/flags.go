package main

import (
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/launcher"
)

// commandLine is what a command line says. Its Options lack Dir, Env and
// Hosts, which options fills in.
type commandLine struct {
	launcher.Options
	appFlags
	genv     []string
	exclude  []string // lists of hosts
	excluded []job.Host
	relative int // the place of the first host in the allocation
	envNone  bool
	overlap  bool       // slots of other golaunch are used, too
	further  []appFlags // of the apps after the first
	topology string     // a file, a word, topologyAuto or topologyNone; "" is none
	mapFile  string
	placeFlags
	sequence []string // the names of --hosts or --hostfile, one for each mention
	help     bool     // all of it
	usage    bool     // a page of it
	version  bool
	mpi      string // --mpi
	listMPI  bool   // --mpi=list
	rankMap  string // the rank file that Hydra's -rankmap means
	pack     string // what asked srun to fill one host after the other: -m, or a variable
	// rankMapName is what that file is called.
	rankMapName string
	// The launcher's word that --nodes was given by, "" where it is golaunch's own.
	nodesWord string
	lineOf    []*tool  // whose line it is; nil where it is golaunch's own, or not known
	errOwn    bool     // srun's standard error goes where it does without a file
	asked     []*tool  // those with a command of the name by which the line begins
	timed     bool     // Open MPI's --timestamp-output
	calledBy  string   // the name by which the line begins, where it is a launcher's
	notes     []string // what -v tells of the words of other launchers

	flags *pflag.FlagSet
	given map[string]bool // flags on the command line, not of variables
	// The file of --config, and the flags that it has set.
	configFile string
	configured map[string]bool
	environ    []string
}

// appFlags are the flags that each app may have of its own.
type appFlags struct {
	np   int
	env  []string
	wdir string
	// Hosts of the job, for the first app, or of the app's own.
	hosts    []string
	hostfile string
}

// The groups of the help, in order.
const (
	groupJob   = "Job"
	groupHosts = "Hosts"
	groupPlace = "Placement"
	groupTree  = "Tree"
	groupIO    = "I/O"
	groupDebug = "Debug"
	groupNone  = "Flags" // of commands with few
)

var groups = []string{groupJob, groupHosts, groupPlace, groupTree, groupIO, groupDebug}

// exclusive are flags of which one on the command line sets aside the
// environment variables of the others. --nodes takes of the hosts that variables
// name: it is set aside by hosts, and sets none aside.
var exclusive = [][]string{
	{"env-none", "env-from"}, {"hosts", "hostfile"}, {"quiet", "verbose"}, {"degree", "degree-rule"}, {"map-by", "metis-file"},
	{"mpi", "open-mpi"}, {"mpi", "pmix"}, {"mpi", "mpich-fix"}, {"mpi", "no-mpich-fix"}, {"open-mpi", "pmix"}, {"mpich-fix", "no-mpich-fix"},
}

// newCommandLine returns a command line with the defaults, and its flags.
func newCommandLine(variables []string) *commandLine {
	c := &commandLine{Options: launcher.DefaultOptions(), given: map[string]bool{}, configured: map[string]bool{}, environ: variables}
	f := flags.New("run")
	c.flags = f
	c.appFlags.define(f)
	flags.Group(f, groupJob, "np", "env", "wdir")

	f.Var(flags.List(&c.genv), "genv", "set `VARIABLE` as --env does, but for every app")
	f.BoolVar(&c.envNone, "env-none", false, "ranks inherit no environment, only what --env and --genv set")
	f.Var(flags.OneOf((*string)(&c.Launch.EnvFrom), flags.Texts(environ.Froms())), "env-from", "environment of ranks, `WHOSE`: "+flags.Either(environ.Froms()))
	f.Var(flags.Time(&c.Ending.Timeout), "timeout", "end the job after `TIME`, with exit status 124; 0 is never")
	f.Var(flags.Time(&c.Start.StallAfter), "stall-after", "name who keeps others waiting after `TIME`; 0 is never")
	f.Var(flags.Time(&c.Ending.Grace), "grace", "`TIME` between SIGTERM and SIGKILL when the job is ended")
	f.Var(flags.Count(&c.Ending.Restarts, 0, 1000), "restarts", "start the job again, up to `N` times, if a rank or a node fails")
	f.BoolVar(&c.Ending.KeepGoing, "keep-going", false, "others run on when a rank fails; lost nodes and failed starts end the job")
	f.Var(flags.Text(&c.Launch.Iface), "iface", "have ranks talk over interface `NAME|SUBNET`, as eth1 or 10.1.0.0/16")
	c.defineMPI(f)
	f.Var(flags.Text(&c.Launch.PMIVersion), "pmi", "grant PMI `VERSION` 1.1, or 1.2, which has barriers of groups")
	f.BoolVar(&c.Launch.PMGR, "pmgr", false, "serve PMGR_COLLECTIVE (MVAPICH 1), too, at a port of each host's own")
	flags.Group(f, groupJob, "genv", "env-none", "env-from", "timeout", "stall-after", "grace", "restarts", "keep-going", "iface", "pmi", "pmgr")

	c.defineHosts(f)
	c.definePlace(f)

	f.Var(flags.Count(&c.Tree.Degree, 1, math.MaxInt32), "degree", "have every node start up to `K` others; else by --degree-rule")
	f.Var(flags.Text(&c.Tree.DegreeRule), "degree-rule", "`RULE` for the degree: auto, or scela as published")
	f.Var(flags.Time(&c.Start.LostAfter), "lost-after", "count a node as lost after `TIME` of silence")
	f.Var(flags.Text((*string)(&c.Launch.Cache)), "cache", "PMI `POLICY`: "+flags.Either(cache.Policies()))
	f.Var(flags.Size(&c.Launch.CacheBytes), "cache-bytes", "let a node cache up to `SIZE` (K, M, G) of keys that other nodes keep")
	flags.Group(f, groupTree, "degree", "degree-rule", "lost-after", "cache", "cache-bytes")

	f.VarP(stdinValue(&c.Input.Stdin), "stdin", "i", "who reads standard input: `RANK`, all or none")
	f.BoolVar(&c.Input.PTY, "pty", false, "give rank 0 a terminal, at which yours types, as srun --pty and ssh -t do")
	f.BoolVar(&c.Launch.Unbuffered, "unbuffered", false, "standard output is a terminal (isatty is true), so no line is held back")
	f.VarP(labelValue(&c.Output.Label), "label", "l", "put [rank] before each line; =host: [rank@host]; ='%h %r: ': host and rank")
	f.Lookup("label").NoOptDefVal = launcher.LabelRank
	f.BoolVar(&c.Output.Fold, "fold", false, "show equal output once, when all have ended, and who wrote it")
	f.VarP(flags.Text(&c.Output.OutPattern), "out", "o", "write output to files `PATTERN`; %r is the rank, %h the host, %j the job")
	f.VarP(flags.Text(&c.Output.ErrPattern), "err", "e", "write standard error to files `PATTERN`")
	f.Var(flags.Text(&c.Output.LogDir), "log-dir", "write output of each rank to `DIR`/attempt-0/RANK.out and RANK.err")
	f.BoolVar(&c.Output.Tee, "tee", false, "show output that goes to files, too")
	f.Var(flags.Text(&c.Output.Show), "show", "show output of `RANKS` alone, as in 0,4-7 or local:0; files have that of all")
	f.Var(flags.Size(&c.Output.LineMax), "line-max", "keep lines up to `SIZE` in memory (K, M, G)")
	flags.Group(f, groupIO, "stdin", "pty", "unbuffered", "label", "fold", "out", "err", "log-dir", "tee", "show", "line-max")

	f.BoolVar(&c.Report.DryRun, "dry-run", false, "print the plan and start nothing")
	f.CountVarP(&c.Start.Verbose, "verbose", "v", "tell more, up to three times")
	f.BoolVarP(&c.Report.Quiet, "quiet", "q", false, "say nothing but why the job failed")
	f.BoolVar(&c.Report.Timing, "timing", false, "print how long each phase took")
	f.BoolVar(&c.Report.Stats, "stats", false, "print what the agents sent, cached and looked up, by level of the tree")
	f.Var(flags.Text(&c.Report.File), "report", "write all that is known of the job to `FILE` (- is standard output), as JSON")
	f.Var(flags.Text(&c.Report.TraceFile), "trace", "write when each step took place on each node to `FILE`, for Perfetto")
	f.Var(flags.Text(&c.Report.ProfileFile), "profile", "write who sent whom how much in MPI to `FILE`, for --map-by comm:FILE")
	f.Var(flags.OneOf((*string)(&c.Launch.Profile), flags.Texts(profile.Quantities())), "profile-what", "count `WHAT`: "+flags.Either(profile.Quantities()))
	f.Var(flags.OneOf((*string)(&c.Launch.ProfileFrom), flags.Texts(profile.Triggers())), "profile-from", "begin to count at `WHEN`: "+flags.Either(profile.Triggers()))
	f.Var(flags.Text(&c.configFile), "config", "read further flags from `FILE`, one per line; the command line counts more")
	f.BoolVar(&c.version, "version", false, "print the version")
	f.BoolVarP(&c.usage, "usage", "h", false, "print the flags that are used most")
	f.BoolVar(&c.help, "help", false, "print this help")
	flags.Group(f, groupDebug, "dry-run", "verbose", "quiet", "timing", "stats", "report", "trace", "profile", "profile-what", "profile-from", "config", "version", "usage", "help")

	describeFlags(f)
	return c
}

// defineHosts are the flags that say where a job runs, and how it comes there.
func (c *commandLine) defineHosts(f *pflag.FlagSet) {
	f.Var(flags.Text(&c.Boot.Bootstrap), "bootstrap", "agents by `WAY`: "+strings.Join(registry.Names(), "|"))
	c.defineBootstraps(f)
	f.Var(flags.List(&c.exclude), "exclude", "use all `HOSTS` but these")
	f.Var(flags.Count(&c.Hosts.Nodes, 1, launcher.MaxForkNodes), "nodes", "use `N` of the hosts; without any, N nodes of this machine ("+registry.Local().Name+")")
	f.BoolVar(&c.overlap, "overlap", false, "in an allocation, use slots and cores that other golaunch use, too")
	f.Var(flags.Time(&c.Start.ConnectTimeout), "connect-timeout", "give a host up after `TIME` without answer")
	f.BoolVar(&c.Hosts.Wait, "wait", false, "wait for late hosts and unknown names until --connect-timeout")
	f.BoolVar(&c.Hosts.AllowDeadNodes, "allow-dead-nodes", false, "go on without unreachable hosts: unused ones, or free slots, replace them")
	f.Var(flags.Count(&c.Hosts.Spares, 0, launcher.MaxRanks), "spares", "start agents on `N` more hosts, to take the ranks of dead ones")
	f.BoolVar(&c.Hosts.Prelaunch, "prelaunch", false, "start agents on hosts without ranks too, for worlds spawned later")
	f.BoolVar(&c.Boot.CopyAgent, "copy-agent", false, "copy the agent to the hosts even if they have golaunch in the same place")
	f.Var(flags.Text(&c.Start.AgentPath), "agent-path", "the hosts have golaunch at `PATH`: start that, without a shell and a copy")
	f.BoolVar(&c.Start.KeepAgent, "keep-agent", false, "leave the agent on the hosts for the next job")
	f.Var(flags.List(&c.Boot.Stage), "stage", "bring `FILE` to the hosts, to $GOLAUNCH_STAGE_DIR; PROGRAM too, if it is one")
	flags.Group(f, groupHosts, "hosts", "hostfile", "exclude", "bootstrap", "nodes", "overlap", "connect-timeout", "wait", "allow-dead-nodes", "spares", "prelaunch", "copy-agent", "agent-path", "keep-agent", "stage")
}

// describeFlags says of the flags above what usage, completion and variables need to know.
func describeFlags(f *pflag.FlagSet) {
	flags.Mark(f, flags.RepeatKey, "genv", "exclude", "stage", "verbose")
	flags.Mark(f, flags.NoVariable, "env", "genv", "stage", "pty", "version", "usage", "help")
	flags.Mark(f, flags.FilesKey, "stage", "out", "err", "log-dir", "report", "trace", "profile", "config")
	flags.Choices(f, "bootstrap", registry.Names()...)
	flags.Choices(f, "env-from", environ.Froms()...)
	flags.Tell(f, "env-from", environ.From.Help, environ.Froms())
	flags.Choices(f, "degree-rule", launcher.DegreeAuto, launcher.DegreeScELA)
	flags.Choices(f, "cache", cache.Policies()...)
	flags.Tell(f, "cache", cache.Policy.Help, cache.Policies())
	flags.Choices(f, "pmi", "1.1", "1.2")
	flags.Choices(f, "profile-what", profile.Quantities()...)
	flags.Tell(f, "profile-what", profile.Quantity.Help, profile.Quantities())
	flags.Choices(f, "profile-from", profile.Triggers()...)
	flags.Tell(f, "profile-from", profile.Trigger.Help, profile.Triggers())
	flags.Choices(f, "stdin", "all", "none")
}

// define adds the flags of one app to f.
func (a *appFlags) define(f *pflag.FlagSet) {
	f.VarP(flags.Count(&a.np, 1, launcher.MaxRanks), "np", "n", "number `N` of ranks; else all slots, or one per host")
	f.VarP(flags.List(&a.env), "env", "x", "set `NAME=VALUE`; NAME alone: its value here, even if normally withheld")
	f.VarP(flags.Text(&a.wdir), "wdir", "", "working directory `DIR` of the ranks")
	f.VarP(flags.List(&a.hosts), "hosts", "H", "hosts to use; `LIST` as in 'a,b:2,n[001-128]:4', where :4 are slots")
	f.VarP(flags.Text(&a.hostfile), "hostfile", "f", "`FILE` with one host per line: host[:N], host slots=N, user=, port=")
	flags.Mark(f, flags.AppKey, "np", "env", "wdir", "hosts", "hostfile")
	flags.Mark(f, flags.RepeatKey, "env", "hosts")
	flags.Mark(f, flags.FilesKey, "hostfile")
	flags.Mark(f, flags.DirsKey, "wdir")
}

// defineBootstraps adds the flags that bootstraps have of their own.
func (c *commandLine) defineBootstraps(f *pflag.FlagSet) {
	c.Boot.Values = bootstrap.Values{}
	for _, kind := range registry.All() {
		for _, o := range kind.Options {
			f.Var(flags.Named(c.Boot.Values, o.Name, o.Repeat), o.Name, o.Help)
			flags.Group(f, groupHosts, o.Name)
			if o.Repeat {
				flags.Mark(f, flags.RepeatKey, o.Name)
			}
			if o.File {
				flags.Mark(f, flags.FilesKey, o.Name)
			}
			if o.Choices != nil {
				flags.Choices(f, o.Name, o.Choices...)
			}
		}
	}
}
