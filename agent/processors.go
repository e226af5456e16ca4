package agent

import "runtime"

// manyRanks is how many ranks of one node keep more than one processor busy
// with their requests.
const manyRanks = 32

// oneProcessor has the agent run on one processor at a time: threads that wake
// each other for a few messages cost more than they gain, and take what is the
// ranks'.
func oneProcessor() { runtime.GOMAXPROCS(1) }

// moreProcessors lets an agent with children to connect, or with many ranks,
// use what Go finds best.
func (a *Agent) moreProcessors() {
	if !a.spread {
		a.spread = true
		runtime.SetDefaultGOMAXPROCS()
	}
}
