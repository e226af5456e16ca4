package cmdline

import (
	"slices"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
)

// Defaults of other launchers that golaunch does not have. They hold for lines that
// begin with such a launcher's name, and give way to every flag and variable.

// withHabits returns values in which flags that nobody says are as the line's launcher
// has them.
func (v values) withHabits(l dialects.Line, says func(flag string) bool) values {
	switch {
	case l.BeginsWith(&dialects.Srun):
		v = v.withSrunHabits(l, says)
	case l.BeginsWith(&dialects.OpenMPI):
		v.Launch.Names = overlay.OpenMPINames
	case l.BeginsWith(&dialects.MPIRunRSH):
		v.Launch.Names = overlay.MVAPICHNames
	}
	if l.LikeOpenMPI() && !says("unbuffered") {
		v.Launch.Unbuffered = true
	}
	if l.Timed {
		v.Output.Label = withTime(v.Output.Label)
	}
	if l.IsOf(&dialects.Torchrun) {
		standard := []string{"TORCHELASTIC_RUN_ID=none"}
		if v.Ending.Restarts == 0 {
			standard = append(standard, "TORCHELASTIC_RESTART_COUNT=0", "TORCHELASTIC_MAX_RESTARTS=0")
		}
		v.genv = append(standard, v.genv...) // of one name the last counts
	}
	return v
}

func (v values) withSrunHabits(l dialects.Line, says func(flag string) bool) values {
	v.Launch.Names = overlay.SlurmNames
	if !says("stdin") && !v.Input.PTY && !v.Programs.Singleton {
		v.Input.Stdin = launcher.StdinAll
	}
	if !says("err") && !l.ErrOwn {
		v.Output.ErrPattern = v.Output.OutPattern
	}
	if v.Output.Label == launcher.LabelRank {
		v.Output.Label = "%r: "
	}
	return v
}

// withTime returns a label with the time in front.
func withTime(label string) string {
	switch label {
	case launcher.LabelRank:
		return "%t [%r] "
	case launcher.LabelHost:
		return "%t [%r@%h] "
	}
	return "%t " + label
}

// habitualRule returns the rule of placement of a launcher that deals ranks to hosts in
// turn if the hosts have no slots, "" if golaunch's own default holds. mpirun_rsh goes
// by the list of hosts, in which a host may be several times.
func habitualRule(l dialects.Line, r room, rankBy string) string {
	switch {
	case len(r.hosts) < 2 || r.ppn > 0 || rankBy != "":
		return ""
	case l.BeginsWith(&dialects.MPIRunRSH) && len(r.apps) == 1 && len(r.sequence) > len(r.hosts) && r.apps[0].N <= len(r.sequence):
		return placement.Seq
	case !slotted(r.hosts) && (l.BeginsWith(&dialects.Hydra) || l.BeginsWith(&dialects.MPIRunRSH)):
		return placement.Node
	}
	return ""
}

// tellHabits notes the other meanings that a line may have under its launcher.
func (h *Held) tellHabits(r room, pack string, tell Teller) {
	if addr, _ := environ.Lookup(h.EnvGiven(), "MASTER_ADDR"); h.line.IsOf(&dialects.Torchrun) && len(r.hosts) > 1 && h.mapBy == "" {
		if i := slices.IndexFunc(r.hosts, func(host job.Host) bool { return host.Name == addr }); i > 0 {
			tell(0, "--master-addr: rank 0 is on %s, and ranks are told to meet on %s: leave it out, or name that host first", r.hosts[0].Name, addr)
		}
	}
	if program := r.apps[0].Argv[0]; len(h.line.Asked) == 0 && dialects.IsLauncher(program) && h.plain {
		tell(0, "%s is the program here, which each rank starts; write golaunch %s ... for its line to be read, golaunch ... -- %s where the program is meant",
			program, program, program)
	}
	if pack != "" {
		tell(0, "%s: Pack: ranks are spread over the hosts as without it; -N says over how many", pack)
	}
	open := r.apps[0].N == 0 && r.ppn == 0
	if open && len(r.hosts) > 0 && !slotted(r.hosts) && h.line.BeginsWith(&dialects.OpenMPI) && h.hostfile != "" {
		tell(0, "Open MPI starts a rank on each core of hosts without slots, golaunch one on each host: say how many with -n, -N or slots=")
	}
}
