// Package launcher carries out a job: it plans, starts a tree of agents, has them start
// the ranks, passes input and output, and reports the outcome.
//
// Everything that is decided before the first process starts is one pure
// value, Plan, made from Options; Run is the shell around it that owns the
// connections, the terminal and the signals.
//
// Not here: the command line (cmd/golaunch), ways to reach hosts (package bootstrap),
// the work on a node (package agent).
package launcher

import (
	"fmt"
	"strconv"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/launcher/trees"
	"github.com/golaunch/golaunch/network/placement"
)

// Names of the rules that TreeOptions.DegreeRule may hold.
const (
	DegreeAuto  = "auto"
	DegreeScELA = "scela"
)

// Limits of a job. They keep a mistyped number from becoming memory.
const (
	MaxRanks     = 1 << 24
	MaxForkNodes = 1 << 12
	MaxLine      = 1 << 30
	MaxGPUs      = 1 << 10 // per rank
)

// Options is everything a run needs to know, in groups. Start from DefaultOptions: the
// zero value has no program and no time limits, and Validate refuses it.
type Options struct {
	// Start and Launch travel to agents: options for before the launch, and options for
	// the ranks.
	Start  overlay.StartOptions
	Launch overlay.LaunchOptions

	Programs  ProgramOptions
	Hosts     HostOptions
	Boot      BootOptions
	Placement PlacementOptions
	Tree      TreeOptions
	MPI       MPIOptions
	Ending    EndingOptions
	Input     InputOptions
	Output    OutputOptions
	Report    ReportOptions

	attempt attempt
}

// ProgramOptions give the ranks' programs and their environment.
type ProgramOptions struct {
	// Apps are the programs in command-line order. N == 0 means that the
	// number of ranks was not given, which only a single app may leave open.
	Apps []job.App
	// Env is the environment that ranks inherit, NAME=value, already without
	// the variables of an outer job.
	Env []string
	// EnvGiven is set for all ranks on top of EnvFrom's variables, NAME=value.
	EnvGiven []string
	// Dir is the working directory of apps that name none, and the base of relative ones.
	Dir string
	// Singleton says that the one rank stands for a program that was started
	// without a launcher (package launcher/singleton).
	Singleton bool
}

// HostOptions choose the machines of the job, and set how it goes on without some.
type HostOptions struct {
	// List has the machines to use, in order; none means this machine. Those of an app
	// (job.App.Hosts) come on top.
	List []job.Host
	// Network, if known, says in which order to use them instead, and which of them
	// are below the same switches.
	Network *Network
	// Allocation is the one that the hosts are of, whose slots other golaunch may use: the
	// job takes free ones, or waits. Nil where others do not count.
	Allocation *Allocation
	// Nodes is the number of agents that fork makes on this machine for the ranks, spares
	// not counted; 0 is one.
	Nodes int
	// RankHosts is the number of hosts that hold ranks, the first; 0 is as many as the
	// ranks need. Spares come after these, and others may replace dead ones.
	RankHosts int
	// Wait has hosts tried until the connect timeout, also those that others replace, and
	// those whose names nobody knows.
	Wait bool
	// AllowDeadNodes goes on without hosts that can't be reached. Their ranks go
	// to hosts that no rank needed, or to the others, if their slots suffice;
	// where neither the number of ranks nor slots are given, they go with their
	// host.
	AllowDeadNodes bool
	// Spares is the number of further hosts that get agents, to take the ranks of hosts
	// that die before the launch.
	Spares int
	// Prelaunch starts agents on all hosts, also those without ranks, for worlds
	// that are spawned later.
	Prelaunch bool
}

// BootOptions set the way of agents and files to the hosts.
type BootOptions struct {
	// Bootstrap is the name of one (package registry), or "" to choose: the one of
	// this machine, or, when another host is named, the one that Environ selects.
	Bootstrap string
	// Values are those of the flags that bootstraps have of their own.
	Values bootstrap.Values
	// Environ is the environment of golaunch itself, which may select a bootstrap.
	Environ []string
	// CopyAgent brings the agent to every host, also where golaunch is
	// installed in the same place as here.
	CopyAgent bool
	// Stage names files of this machine that every node gets for the time of
	// the job. Programs of Apps that are among them run from there.
	Stage []string
}

// PlacementOptions place the ranks on hosts.
type PlacementOptions struct {
	// PPN is the number of ranks per host; 0 leaves it to the slots.
	PPN int
	// Oversubscribe allows more ranks than slots, and than things to bind them to.
	Oversubscribe bool
	// Wish chooses the host of each rank.
	Wish placement.Wish
	// Rule, if there is one, decides it instead of Wish.
	Rule placement.Rule
}

// TreeOptions give the shape of the tree.
type TreeOptions struct {
	// Degree is the number of children of a node in the tree; 0 leaves it to
	// DegreeRule, which is DegreeAuto ("" too) or DegreeScELA.
	Degree     int
	DegreeRule string
}

// MPIOptions set the treatment of faults of MPI libraries.
type MPIOptions struct {
	// MPICHFix hands every program's ranks the library that ends the hang of some
	// MPICHs in MPI_Finalize, NoMPICHFix none's. Else programs have it whose MPICH
	// is one of those.
	MPICHFix, NoMPICHFix bool
}

// EndingOptions set the reasons for the job's end, and its course.
type EndingOptions struct {
	// Timeout ends the job after that time; 0 never does.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; 0 kills at once.
	Grace time.Duration
	// KeepGoing lets the other ranks run when one fails.
	KeepGoing bool
	// Restarts bounds the further attempts when a rank or a node of the job fails.
	Restarts int
}

// InputOptions choose the ranks' input.
type InputOptions struct {
	// Stdin chooses the readers of golaunch's standard input.
	Stdin StdinTarget
	// PTY gives rank 0 a pseudo-terminal, fed from golaunch's own terminal.
	PTY bool
}

// OutputOptions set the destination and the form of the ranks' output.
type OutputOptions struct {
	// Label is put in front of every line of output: nothing, LabelRank, LabelHost,
	// or a pattern as in stdio.Pattern.
	Label string
	// Fold shows equal standard output of ranks once, when all have ended.
	Fold bool
	// OutPattern and ErrPattern name the files that take the output
	// (stdio.Pattern); "" means golaunch's own.
	OutPattern, ErrPattern string
	// LogDir is a directory for the output of each rank and attempt; "" for none.
	LogDir string
	// Tee has golaunch's own streams have the output that goes to files, too.
	Tee bool
	// Show lists the ranks whose output golaunch's own streams have, besides files as with
	// Tee: numbers and ranges, as in "0,4-7", or of ranks on each host, "local:0"; they
	// count in each world. "" is all.
	Show string
	// LineMax is the longest line, in bytes, that is held in memory to be
	// printed in one piece.
	LineMax int
}

// ReportOptions choose golaunch's own words about the job.
type ReportOptions struct {
	// DryRun prints the plan and starts nothing.
	DryRun bool
	// Quiet keeps golaunch silent but for the cause of a failure.
	Quiet bool
	// Timing prints how long each phase took.
	Timing bool
	// Stats prints the agents' counters by level of the tree.
	Stats bool
	// File is the path of a report (package report), as JSON; "-" for standard output, ""
	// for none.
	File string
	// TraceFile is the path of the times of each node's steps (report.Trace), as JSON for
	// a trace viewer; "-" and "" as above.
	TraceFile string
	// ProfileFile is the path of the traffic between ranks (package profile), as JSON; "-"
	// and "" as above. LaunchOptions.Profile and ProfileFrom choose the counts.
	ProfileFile string
}

// attempt has the differences from the options of the user of a job that begins anew.
type attempt struct {
	// appendOut adds to the files of OutPattern and ErrPattern.
	appendOut bool
	// outMade is the number of directories above them that golaunch has made.
	outMade int
	// deadline is the end of Timeout, of a job that began anew; else zero.
	deadline time.Time
	// agents is the least number of hosts with an agent, if there are so many.
	agents int
	// passphrases asks for those of private keys.
	passphrases *trees.Passphrases
}

// DefaultOptions returns the options of a command line without flags. Programs are left to fill in.
func DefaultOptions() Options {
	return Options{
		Start: overlay.StartOptions{
			ConnectTimeout: 15 * time.Second,
			MissAfter:      3 * time.Second,
			LateAfter:      3 * time.Second,
			UnknownAfter:   3 * time.Second,
			LostAfter:      10 * time.Second,
			StallAfter:     10 * time.Second,
		},
		Launch: overlay.LaunchOptions{
			Cache:      cache.HCMAB,
			CacheBytes: cache.OneRound,
			PMIVersion: "1.1",
			EnvFrom:    environ.Auto,

			Profile: profile.Volume, ProfileFrom: profile.FromStart,
		},
		Tree:   TreeOptions{DegreeRule: DegreeAuto},
		Ending: EndingOptions{Grace: 2 * time.Second},
		Output: OutputOptions{LineMax: 1 << 20},
	}
}

// teed reports whether golaunch's own streams have the output that goes to files, too.
func (o *Options) teed() bool { return o.Output.Tee || o.Output.Show != "" }

// StdinTarget identifies the readers of golaunch's standard input: the rank of that
// number (the zero value: rank 0), or one of the constants.
type StdinTarget int

// Targets that are not one rank.
const (
	StdinAll  StdinTarget = -1
	StdinNone StdinTarget = -2
)

// ParseStdin reads the argument of --stdin: a rank, "all" or "none".
func ParseStdin(s string) (StdinTarget, error) {
	switch s {
	case "all":
		return StdinAll, nil
	case "none":
		return StdinNone, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a rank, all or none", s)
	}
	return StdinTarget(n), nil
}

// String returns the word that ParseStdin reads.
func (t StdinTarget) String() string {
	switch t {
	case StdinAll:
		return "all"
	case StdinNone:
		return "none"
	}
	return strconv.Itoa(int(t))
}
