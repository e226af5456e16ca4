package agent

// joined has the parts of an agent, and of its one job, know each other.
func joined(a *Agent) *Agent {
	a.join()
	if a.job == nil {
		newJob(a)
	} else {
		a.job.number = 1
		a.job.join(a)
	}
	return a
}
