package launcher

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/iface"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// Validate checks the options one by one and against each other. The error is
// one line and names the flag.
func (o *Options) Validate() error {
	if err := o.validateApps(); err != nil {
		return err
	}
	if err := o.checkApart(); err != nil {
		return err
	}
	if err := o.validateHosts(); err != nil {
		return err
	}
	switch {
	case o.Placement.PPN < 0 || o.Placement.PPN > MaxRanks:
		return fmt.Errorf("--ppn: %d is not 1 to %d", o.Placement.PPN, MaxRanks)
	case o.Launch.GPUsPerRank < 0 || o.Launch.GPUsPerRank > MaxGPUs:
		return fmt.Errorf("--gpus-per-rank: %d is not 1 to %d", o.Launch.GPUsPerRank, MaxGPUs)
	case o.Tree.Degree < 0:
		return fmt.Errorf("--degree: %d is below 1", o.Tree.Degree)
	case o.Tree.DegreeRule != "" && o.Tree.DegreeRule != DegreeAuto && o.Tree.DegreeRule != DegreeScELA:
		return fmt.Errorf("--degree-rule: %q is not a rule; %s and %s are", o.Tree.DegreeRule, DegreeAuto, DegreeScELA)
	case !o.Launch.Cache.Known():
		return fmt.Errorf("--cache: %q is not a policy; %s are", o.Launch.Cache, sentence(cache.Policies()))
	case o.Launch.CacheBytes < cache.OneRound:
		return fmt.Errorf("--cache-bytes: %d is negative", o.Launch.CacheBytes)
	case !slices.Contains([]string{"", "1.1", "1.2"}, o.Launch.PMIVersion):
		return fmt.Errorf("--pmi: %q is not a version; 1.1 and 1.2 are", o.Launch.PMIVersion)
	case o.Launch.EnvFrom != "" && !slices.Contains(environ.Froms(), o.Launch.EnvFrom):
		return fmt.Errorf("--env-from: %q is none; %s are", o.Launch.EnvFrom, sentence(environ.Froms()))
	case o.Start.LostAfter <= 0:
		return fmt.Errorf("--lost-after: %v is no time; give more than 0", o.Start.LostAfter)
	case o.Ending.Timeout < 0:
		return fmt.Errorf("--timeout: %v is negative", o.Ending.Timeout)
	case o.Start.StallAfter < 0:
		return fmt.Errorf("--stall-after: %v is negative", o.Start.StallAfter)
	case o.Ending.Grace < 0:
		return fmt.Errorf("--grace: %v is negative", o.Ending.Grace)
	case o.Output.LineMax < 1 || o.Output.LineMax > MaxLine:
		return fmt.Errorf("--line-max: %d is not 1 to %d bytes", o.Output.LineMax, MaxLine)
	case o.Input.Stdin < StdinNone:
		return errors.New("--stdin: not a rank, all or none")
	case o.Start.Verbose < 0:
		return fmt.Errorf("--verbose: %d is negative", o.Start.Verbose)
	case o.Report.TraceFile != "" && o.Report.TraceFile == o.Report.File:
		return errors.New("--trace and --report name the same file; name two")
	case o.Report.ProfileFile != "" && (o.Report.ProfileFile == o.Report.File || o.Report.ProfileFile == o.Report.TraceFile):
		return errors.New("--profile names the file of --report or --trace, too; name another")
	case o.Launch.Profile != "" && !slices.Contains(profile.Quantities(), o.Launch.Profile):
		return fmt.Errorf("--profile-what: %q is none; %s are", o.Launch.Profile, sentence(profile.Quantities()))
	case o.Launch.ProfileFrom != "" && !slices.Contains(profile.Triggers(), o.Launch.ProfileFrom):
		return fmt.Errorf("--profile-from: %q is none; %s are", o.Launch.ProfileFrom, sentence(profile.Triggers()))
	case o.MPI.MPICHFix && o.MPI.NoMPICHFix:
		return errors.New("--mpich-fix and --no-mpich-fix exclude each other")
	case o.Report.Quiet && o.Start.Verbose > 0:
		return errors.New("--quiet and --verbose exclude each other")
	}
	if _, err := binding.Parse(o.Start.BindTo); err != nil {
		return fmt.Errorf("--bind-to: %w", err)
	}
	if o.Output.Fold && (o.Output.Label != "" || o.Output.OutPattern != "" && !o.teed()) {
		return errors.New("--fold says whose each output is, and shows it at the end; leave out --label, and --out unless it is beside --tee or --show")
	}
	if _, err := stdio.ParsePatterns(o.Output.OutPattern, o.Output.ErrPattern); err != nil {
		return err
	}
	if err := cmp.Or(o.checkRestarts(), o.checkPTY(), o.checkShow(), o.checkAgents()); err != nil {
		return err
	}
	return o.Placement.Wish.Check(o.Hosts.Network != nil)
}

// checkAgents checks the options for agents and the ways to reach them.
func (o *Options) checkAgents() error {
	switch {
	case o.Start.AgentPath != "" && !path.IsAbs(o.Start.AgentPath):
		return fmt.Errorf("--agent-path: %q is no absolute path; say where the hosts have golaunch", o.Start.AgentPath)
	case o.Start.AgentPath != "" && (o.Boot.CopyAgent || o.Start.KeepAgent):
		return errors.New("--agent-path names an agent that the hosts have; leave out --copy-agent and --keep-agent")
	case o.Launch.Iface == "":
		return nil
	}
	if _, err := iface.Parse(o.Launch.Iface); err != nil {
		return fmt.Errorf("--iface: %w", err)
	}
	return nil
}

func (o *Options) validateApps() error {
	if len(o.Programs.Apps) == 0 {
		return errors.New("no program given")
	}
	total := 0
	for i, a := range o.Programs.Apps {
		switch {
		case len(a.Argv) == 0 || a.Argv[0] == "":
			return fmt.Errorf("app %d: no program given", i)
		case a.N < 0:
			return fmt.Errorf("app %d (%s): -n: %d is below 1", i, a.Argv[0], a.N)
		case a.N == 0 && len(o.Programs.Apps) > 1:
			return fmt.Errorf("app %d (%s): -n is missing; of several apps each needs its own", i, a.Argv[0])
		case a.N > MaxRanks-total:
			return fmt.Errorf("-n: more than %d ranks in all", MaxRanks)
		}
		total += a.N
	}
	if int(o.Input.Stdin) >= total && total > 0 {
		return fmt.Errorf("--stdin: there is no rank %d among %d", o.Input.Stdin, total)
	}
	return nil
}

func (o *Options) validateHosts() error {
	if err := o.validateBootstrap(); err != nil {
		return err
	}
	switch {
	case o.Hosts.Nodes < 0 || o.Hosts.Nodes > MaxForkNodes:
		return fmt.Errorf("--nodes: %d is not 1 to %d", o.Hosts.Nodes, MaxForkNodes)
	case o.Hosts.Nodes > 0 && len(o.Hosts.List) > 0:
		return errors.New("--nodes makes nodes of this machine and excludes named hosts; leave one out")
	case o.Start.ConnectTimeout <= 0:
		return fmt.Errorf("--connect-timeout: %v is no time; give more than 0", o.Start.ConnectTimeout)
	}
	hosts, err := o.allHosts()
	if err != nil {
		return err
	}
	for _, h := range hosts {
		if h.Name == "" || h.Slots < 0 {
			return fmt.Errorf("%s: host %q with %d slots is not usable", h.Pos, h.Name, h.Slots)
		}
	}
	return nil
}
