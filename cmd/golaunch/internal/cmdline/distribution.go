package cmdline

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/network/placement"
)

// distribution is the placement of ranks by the flags and by Slurm.
type distribution struct {
	mapBy, rankBy, hostfile string
	// pack names the flag or variable that has one host filled after the other.
	pack string
}

// slurmVariable names the distribution of a job of Slurm.
const slurmVariable = "SLURM_DISTRIBUTION"

// slurmDistribution places ranks as a job of Slurm was asked to, by salloc or sbatch -m or
// by the user's environment, where the line says nothing of it. In a step the variables are
// those of srun, which has placed golaunch itself.
func (h *Held) slurmDistribution(m machine.Machine, tell Teller) (distribution, error) {
	d := distribution{mapBy: h.mapBy, rankBy: h.rankBy, hostfile: h.hostfile}
	if h.line.Pack {
		d.pack = "-m"
	}
	file := m.Variable("SLURM_HOSTFILE")
	if !m.InSlurm() || inStep(m) || h.here() || h.rankBy != "" || h.metisFile != "" || h.networked() {
		return d, nil
	}
	said := h.mapBy != ""
	if said && h.mapBy != placement.Seq && !(h.line.IsOf(&dialects.Srun) && file != "") {
		return d, nil
	}
	value := strings.ToLower(m.Variable(slurmVariable))
	wanted := !said && strings.HasPrefix(value, "arbitrary")
	if !said && !h.listed() && value != "" && !wanted {
		d = d.as(value, m, tell)
	}
	// Slurm takes the hosts of the ranks from this file wherever it is named.
	arbitrary := d.mapBy == placement.Seq || wanted
	switch {
	case h.listed() || h.line.RankMap != "" || h.Placement.PPN > 0 && !arbitrary:
		return d, nil
	case file != "" && (arbitrary || h.line.IsOf(&dialects.Srun)):
		if _, err := m.Stat(file); err != nil { // the user may not know of it
			return d, fmt.Errorf("SLURM_HOSTFILE: %s: %w", file, files.Reason(err))
		}
		d.hostfile, d.mapBy, d.rankBy = file, placement.Seq, ""
	case arbitrary && said:
		return d, errors.New("-m arbitrary: name the host of each rank, in order, with -w or -F, or in the file that SLURM_HOSTFILE names")
	case arbitrary:
		tell(0, "%s=arbitrary: the host of each rank is in no file that SLURM_HOSTFILE names: ranks are placed by --map-by slot", slurmVariable)
	}
	return d, nil
}

// as returns d as Slurm's variable has it. Parts without an equal in golaunch are told.
func (d distribution) as(value string, m machine.Machine, tell Teller) distribution {
	if value == "plane" {
		value = "plane=" + m.Variable("SLURM_DIST_PLANESIZE")
	}
	same, pack, answer := dialects.Distribution(value)
	if d.pack = ""; pack {
		d.pack = slurmVariable
	}
	if answer != "" || slices.Contains(same, placement.Topology) {
		tell(0, "%s: %s: %s", slurmVariable, value, cmp.Or(answer, dialects.AnswerWithin))
		same = nil
	}
	for i := 0; i+1 < len(same); i += 2 {
		switch same[i] {
		case "--map-by":
			d.mapBy = same[i+1]
		case "--rank-by":
			d.rankBy = same[i+1]
		}
	}
	tell(1, "%s=%s: ranks are placed so", slurmVariable, value)
	return d
}
