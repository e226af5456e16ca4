package mpi

import "github.com/golaunch/golaunch/internal/unix"

// yieldVariable has ranks of Open MPI that wait let others run, which costs those time
// that have a CPU for themselves.
const yieldVariable = "OMPI_MCA_mpi_yield_when_idle"

// yieldEnv tells ranks of Open MPI that they are more than the CPUs (hardware threads)
// that golaunch may use on their node; nothing where they are not, or the user's own word,
// in own, says how it is.
func (w *World) yieldEnv(own []string) []string {
	ranks := w.l.agent.Living()
	if w.l.agent.OneMachine() { // and so are the other nodes
		ranks = max(ranks, w.view.Size)
	}
	cpus, err := unix.Affinity(0)
	if err != nil || ranks <= len(cpus) || lastOf(own, yieldVariable) != "" {
		return nil
	}
	return []string{yieldVariable + "=1"}
}
