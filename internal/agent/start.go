package agent

import "github.com/golaunch/golaunch/internal/report"

// Phases of an agent before the launch, in their order.
const (
	phaseHello = "agent up"
	phaseRange = "range received"
	phaseReady = "subtree up"
)

// stamp notes that a phase before the launch is over.
func (a *Agent) stamp(phase string) {
	a.phases = append(a.phases, report.Phase{Name: phase, End: a.now()})
}
