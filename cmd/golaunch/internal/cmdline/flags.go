package cmdline

import (
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/placement/mapping"
)

// The groups of the help.
const (
	groupJob   = "Job"
	groupHosts = "Hosts"
	groupPlace = "Placement"
	groupTree  = "Tree"
	groupIO    = "I/O"
	groupDebug = "Debug"
)

// Groups returns the groups of the help, in order.
func Groups() []string {
	return []string{groupJob, groupHosts, groupPlace, groupTree, groupIO, groupDebug}
}

// Flags returns the flags of run, with their defaults.
func Flags() *pflag.FlagSet {
	v := newValues()
	return v.flags()
}

// AppFlags returns the flags that each app may have of its own.
func AppFlags() *pflag.FlagSet { return new(appValues).flags() }

// flags returns the flags of run, which set v.
func (v *values) flags() *pflag.FlagSet {
	t := &flags.Table{Set: flags.New("run")}
	v.appValues.define(t)
	v.defineJob(t)
	v.defineHosts(t)
	v.definePlacement(t)
	v.defineTree(t)
	v.defineIO(t)
	v.defineDebug(t)
	return t.Set
}

// flags returns those of one app, which set a.
func (a *appValues) flags() *pflag.FlagSet {
	t := &flags.Table{Set: flags.New("app")}
	a.define(t)
	return t.Set
}

func (a *appValues) define(t *flags.Table) {
	t.Group = groupJob
	t.Value(flags.Count(&a.np, 1, launcher.MaxRanks), "np", "n", "number `N` of ranks; else all slots, or one per host", flags.PerApp)
	t.Value(flags.List(&a.env), "env", "x", "set `NAME=VALUE`; NAME alone: its value here, even if normally withheld", flags.PerApp, flags.Repeats, flags.LineAlone)
	t.Value(flags.Text(&a.wdir), "wdir", "", "working directory `DIR` of the ranks", flags.PerApp, flags.IsDir)
	t.Group = groupHosts
	t.Value(flags.List(&a.hosts), "hosts", "H", "hosts to use; `LIST` as in 'a,b:2,n[001-128]:4', where :4 are slots", flags.PerApp, flags.Repeats)
	t.Value(flags.Text(&a.hostfile), "hostfile", "f", "`FILE` with one host per line: host[:N], host slots=N, user=, port=", flags.PerApp, flags.IsFile)
}

func (v *values) defineJob(t *flags.Table) {
	t.Group = groupJob
	t.Value(flags.List(&v.genv), "genv", "", "set `VARIABLE` as --env does, but for every app", flags.Repeats, flags.LineAlone)
	t.Yes(&v.envNone, "env-none", "", "ranks inherit no environment, only what --env and --genv set")
	t.Value(flags.OneOf((*string)(&v.Launch.EnvFrom), flags.Texts(environ.Froms())), "env-from", "", "environment of ranks, `WHOSE`: "+flags.Either(environ.Froms()),
		flags.Told(environ.From.Help, environ.Froms()))
	t.Value(flags.Time(&v.Ending.Timeout), "timeout", "", "end the job after `TIME`, with exit status 124; 0 is never")
	t.Value(flags.Time(&v.Start.StallAfter), "stall-after", "", "name who keeps others waiting after `TIME`; 0 is never")
	t.Value(flags.Time(&v.Ending.Grace), "grace", "", "`TIME` between SIGTERM and SIGKILL when the job is ended")
	t.Value(flags.Count(&v.Ending.Restarts, 0, 1000), "restarts", "", "start the job again, up to `N` times, if a rank or a node fails")
	t.Yes(&v.Ending.KeepGoing, "keep-going", "", "others run on when a rank fails; lost nodes and failed starts end the job")
	t.Value(flags.Text(&v.Launch.Iface), "iface", "", "have ranks talk over interface `NAME|SUBNET`, as eth1 or 10.1.0.0/16")
	v.defineMPI(t)
	t.Value(flags.Text(&v.Launch.PMIVersion), "pmi", "", "grant PMI `VERSION` 1.1, or 1.2, which has barriers of groups", flags.Choices("1.1", "1.2"))
	t.Yes(&v.Launch.PMGR, "pmgr", "", "serve PMGR_COLLECTIVE (MVAPICH 1), too, at a port of each host's own")
}

// defineHosts adds the flags for the hosts of a job, and the way there.
func (v *values) defineHosts(t *flags.Table) {
	t.Group = groupHosts
	t.Value(flags.Text(&v.Boot.Bootstrap), "bootstrap", "", "agents by `WAY`: "+strings.Join(registry.Names(), "|"), flags.Choices(registry.Names()...))
	for _, kind := range registry.All() {
		for _, o := range kind.Options {
			var more []flags.About
			if o.Repeat {
				more = append(more, flags.Repeats)
			}
			if o.File {
				more = append(more, flags.IsFile)
			}
			if o.Choices != nil {
				more = append(more, flags.Choices(o.Choices...))
			}
			t.Value(flags.Named(v.Boot.Values, o.Name, o.Repeat), o.Name, "", o.Help, more...)
		}
	}
	t.Value(flags.List(&v.exclude), "exclude", "", "use all `HOSTS` but these", flags.Repeats)
	t.Value(flags.Count(&v.Hosts.Nodes, 1, launcher.MaxForkNodes), "nodes", "", "use `N` of the hosts; without any, N nodes of this machine ("+registry.Local().Name+")")
	t.Yes(&v.overlap, "overlap", "", "in an allocation, use slots and cores that other golaunch use, too")
	t.Value(flags.Time(&v.Start.ConnectTimeout), "connect-timeout", "", "give a host up after `TIME` without answer")
	t.Yes(&v.Hosts.Wait, "wait", "", "wait for late hosts and unknown names until --connect-timeout")
	t.Yes(&v.Hosts.AllowDeadNodes, "allow-dead-nodes", "", "go on without unreachable hosts: unused ones, or free slots, replace them")
	t.Value(flags.Count(&v.Hosts.Spares, 0, launcher.MaxRanks), "spares", "", "start agents on `N` more hosts, to take the ranks of dead ones")
	t.Yes(&v.Hosts.Prelaunch, "prelaunch", "", "start agents on hosts without ranks too, for worlds spawned later")
	t.Yes(&v.Boot.CopyAgent, "copy-agent", "", "copy the agent to the hosts even if they have golaunch in the same place")
	t.Value(flags.Text(&v.Start.AgentPath), "agent-path", "", "the hosts have golaunch at `PATH`: start that, without a shell and a copy")
	t.Yes(&v.Start.KeepAgent, "keep-agent", "", "leave the agent on the hosts for the next job")
	t.Value(flags.List(&v.Boot.Stage), "stage", "", "bring `FILE` to the hosts, to $GOLAUNCH_STAGE_DIR; PROGRAM too, if it is one", flags.Repeats, flags.LineAlone, flags.IsFile)
}

func (v *values) definePlacement(t *flags.Table) {
	t.Group = groupPlace
	t.Value(flags.Count(&v.Placement.PPN, 1, launcher.MaxRanks), "ppn", "N", "`N` ranks per host")
	t.Yes(&v.Placement.Oversubscribe, "oversubscribe", "", "allow more ranks than slots, or than --bind-to has cores for")
	t.Value(ruleValue(&v.mapBy), "map-by", "", "place by `RULE`: "+flags.Either(placement.Forms()), flags.Told(placement.Help, placement.Names()))
	t.Value(orderValue(&v.rankBy), "rank-by", "", "number ranks there by `ORDER`: "+flags.Either(append(placement.Orders(), placement.Plane+"N")),
		flags.Told(placement.OrderHelp, placement.Orders()))
	t.Value(flags.OneOf(&v.metric, flags.Texts(mapping.Metrics())), "metric", "", "choose among the maps of comm:GRAPH by `METRIC`: "+flags.Either(mapping.Metrics()),
		flags.Told(mapping.Metric.Help, mapping.Metrics()))
	t.Value(flags.Text(&v.metisFile), "metis-file", "", "place ranks by the communication graph in `FILE`, as --map-by comm:FILE", flags.IsFile)
	t.Yes(&v.Placement.Wish.AvoidConflicts, "avoid-path-conflict", "", "of more hosts than needed, take some that share no link, by --topology")
	t.Value(bindValue(&v.Start.BindTo), "bind-to", "", "bind to `WHAT`: none|core[:N]|hwthread|socket|numa|l3|gpu|cpu-list:0-3,8",
		flags.Told(binding.Kind.Help, binding.Words()))
	t.Yes(&v.Launch.ReportBindings, "report-bindings", "", "say to which CPUs each rank is bound")
	t.Value(flags.Count(&v.Launch.GPUsPerRank, 1, launcher.MaxGPUs), "gpus-per-rank", "", "give each rank `N` GPUs of its host for itself, by CUDA_VISIBLE_DEVICES")
	t.Value(flags.Text(&v.topology), "topology", "", "order hosts by their network: `FILE`, a word as torus:8x8x8, auto or none", flags.IsFile)
	t.Value(flags.Text(&v.mapFile), "map", "", "`FILE` of lines 'n001 h0': a host, its GUID, LID or name in the network", flags.IsFile)
}

func (v *values) defineTree(t *flags.Table) {
	t.Group = groupTree
	t.Value(flags.Count(&v.Tree.Degree, 1, math.MaxInt32), "degree", "", "have every node start up to `K` others; else by --degree-rule")
	t.Value(flags.Text(&v.Tree.DegreeRule), "degree-rule", "", "`RULE` for the degree: auto, or scela as published", flags.Choices(launcher.DegreeAuto, launcher.DegreeScELA))
	t.Value(flags.Time(&v.Start.LostAfter), "lost-after", "", "count a node as lost after `TIME` of silence")
	t.Value(flags.Text((*string)(&v.Launch.Cache)), "cache", "", "PMI `POLICY`: "+flags.Either(cache.Policies()), flags.Told(cache.Policy.Help, cache.Policies()))
	t.Value(flags.Size(&v.Launch.CacheBytes), "cache-bytes", "", "let a node cache up to `SIZE` (K, M, G) of keys that other nodes keep")
}

func (v *values) defineIO(t *flags.Table) {
	t.Group = groupIO
	t.Value(stdinValue(&v.Input.Stdin), "stdin", "i", "who reads standard input: `RANK`, all or none", flags.Choices("all", "none"))
	t.Yes(&v.Input.PTY, "pty", "", "give rank 0 a terminal, at which yours types, as srun --pty and ssh -t do", flags.LineAlone)
	t.Yes(&v.Launch.Unbuffered, "unbuffered", "", "standard output is a terminal (isatty is true), so no line is held back")
	t.Value(labelValue(&v.Output.Label), "label", "l", "put [rank] before each line; =host: [rank@host]; ='%h %r: ': host and rank", flags.Else(launcher.LabelRank))
	t.Yes(&v.Output.Fold, "fold", "", "show equal output once, when all have ended, and who wrote it")
	t.Value(flags.Text(&v.Output.OutPattern), "out", "o", "write output to files `PATTERN`; %r is the rank, %h the host, %j the job", flags.IsFile)
	t.Value(flags.Text(&v.Output.ErrPattern), "err", "e", "write standard error to files `PATTERN`", flags.IsFile)
	t.Value(flags.Text(&v.Output.LogDir), "log-dir", "", "write output of each rank to `DIR`/attempt-0/RANK.out and RANK.err", flags.IsFile)
	t.Yes(&v.Output.Tee, "tee", "", "show output that goes to files, too")
	t.Value(flags.Text(&v.Output.Show), "show", "", "show output of `RANKS` alone, as in 0,4-7 or local:0; files have that of all")
	t.Value(flags.Size(&v.Output.LineMax), "line-max", "", "keep lines up to `SIZE` in memory (K, M, G)")
}

func (v *values) defineDebug(t *flags.Table) {
	t.Group = groupDebug
	t.Yes(&v.Report.DryRun, "dry-run", "", "print the plan and start nothing")
	t.Times(&v.Start.Verbose, "verbose", "v", "tell more, up to three times", flags.Repeats)
	t.Yes(&v.Report.Quiet, "quiet", "q", "say nothing but why the job failed")
	t.Yes(&v.Report.Timing, "timing", "", "print how long each phase took")
	t.Yes(&v.Report.Stats, "stats", "", "print what the agents sent, cached and looked up, by level of the tree")
	t.Value(flags.Text(&v.Report.File), "report", "", "write all that is known of the job to `FILE` (- is standard output), as JSON", flags.IsFile)
	t.Value(flags.Text(&v.Report.TraceFile), "trace", "", "write when each step took place on each node to `FILE`, for Perfetto", flags.IsFile)
	t.Value(flags.Text(&v.Report.ProfileFile), "profile", "", "write who sent whom how much in MPI to `FILE`, for --map-by comm:FILE", flags.IsFile)
	t.Value(flags.OneOf((*string)(&v.Launch.Profile), flags.Texts(profile.Quantities())), "profile-what", "", "count `WHAT`: "+flags.Either(profile.Quantities()),
		flags.Told(profile.Quantity.Help, profile.Quantities()))
	t.Value(flags.OneOf((*string)(&v.Launch.ProfileFrom), flags.Texts(profile.Triggers())), "profile-from", "", "begin to count at `WHEN`: "+flags.Either(profile.Triggers()),
		flags.Told(profile.Trigger.Help, profile.Triggers()))
	t.Value(flags.Text(&v.config), "config", "", "read further flags from `FILE`, one per line; the command line counts more", flags.IsFile)
	t.Yes(&v.version, "version", "", "print the version", flags.LineAlone)
	t.Yes(&v.usage, "usage", "h", "print the flags that are used most", flags.LineAlone)
	t.Yes(&v.help, "help", "", "print this help", flags.LineAlone)
}
