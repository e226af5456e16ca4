package hostlist

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// maxComponents bounds the components of a heterogeneous job of Slurm.
const maxComponents = 128

// slurm reads the hosts of a job of Slurm: of all its components where it is a
// heterogeneous one, which has a list for each.
func slurm(env Environment) ([]job.Host, error) {
	groups, err := SlurmGroups(env.Getenv)
	if err != nil || len(groups) < 2 {
		return slices.Concat(groups...), err
	}
	return merge(slices.Concat(groups...))
}

// SlurmGroups returns the hosts of each component of the job of Slurm that an environment
// tells of: one, unless it is a heterogeneous job; none outside of a job.
func SlurmGroups(getenv func(name string) string) ([][]job.Host, error) {
	env := Environment{Getenv: getenv}
	size := env.Getenv("SLURM_HET_SIZE")
	if size == "" {
		hosts, err := slurmComponent(env, "")
		if err != nil || len(hosts) == 0 {
			return nil, err
		}
		return [][]job.Host{hosts}, nil
	}
	n, err := strconv.Atoi(size)
	if err != nil || n < 1 || n > maxComponents {
		return nil, fmt.Errorf("SLURM_HET_SIZE: %s is not 1 to %d components", quote(size), maxComponents)
	}
	var groups [][]job.Host
	for i := range n {
		suffix := "_HET_GROUP_" + strconv.Itoa(i)
		hosts, err := slurmComponent(env, suffix)
		if err != nil {
			return nil, err
		}
		if len(hosts) == 0 {
			return nil, fmt.Errorf("SLURM_JOB_NODELIST%s is not set, though SLURM_HET_SIZE is %d", suffix, n)
		}
		groups = append(groups, hosts)
	}
	return groups, nil
}

// slurmComponent reads the variables whose names end in suffix. Those of a job's step
// have the step's; the CPUs are the job's own, of which a task takes some.
func slurmComponent(env Environment, suffix string) ([]job.Host, error) {
	list := "SLURM_JOB_NODELIST" + suffix
	nodes := env.Getenv(list)
	if nodes == "" {
		list = "SLURM_NODELIST" + suffix
		if nodes = env.Getenv(list); nodes == "" {
			return nil, nil
		}
	}
	counts, each := "SLURM_TASKS_PER_NODE"+suffix, 1
	if id := env.Getenv("SLURM_STEP_ID"); id != "" && id != InteractiveStep {
		counts = "SLURM_JOB_CPUS_PER_NODE" + suffix
		if n, err := strconv.Atoi(env.Getenv("SLURM_CPUS_PER_TASK" + suffix)); err == nil && n > 1 {
			each = n
		}
	}
	hosts, err := slurmHosts(named{list, nodes}, named{counts, env.Getenv(counts)})
	for i, h := range hosts {
		if h.Slots > 0 {
			hosts[i].Slots = max(1, h.Slots/each)
		}
	}
	return hosts, err
}

// InteractiveStep is the step in which salloc runs a shell on the first node where the
// site has it so (LaunchParameters=use_interactive_step): its variables are the job's.
const InteractiveStep = "4294967290"

// named is the value of a variable.
type named struct{ name, value string }

// slurmHosts returns the hosts of a list with the count of each: "4(x3),2" is four on
// each of three, two on the next. These become the slots, which stay open without.
func slurmHosts(nodes, counts named) ([]job.Host, error) {
	hosts, err := Parse(nodes.value, nodes.name)
	if err != nil || counts.value == "" {
		return hosts, err
	}
	next := 0
	for item := range strings.SplitSeq(counts.value, ",") {
		slots, repeat, err := parseTasks(item)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", counts.name, quote(item), err)
		}
		if repeat > len(hosts)-next {
			return nil, fmt.Errorf("%s: %s: counts more nodes than the %d of %s", counts.name, quote(counts.value), len(hosts), nodes.name)
		}
		for range repeat {
			hosts[next].Slots = slots
			next++
		}
	}
	if next != len(hosts) {
		return nil, fmt.Errorf("%s: %s: counts %d nodes, %s has %d", counts.name, quote(counts.value), next, nodes.name, len(hosts))
	}
	return hosts, nil
}

// parseTasks reads "4" or "4(x3)".
func parseTasks(s string) (slots, repeat int, err error) {
	number, times, repeated := strings.Cut(s, "(x")
	if slots, err = parseSlots(number); err != nil || !repeated {
		return slots, 1, err
	}
	times, closed := strings.CutSuffix(times, ")")
	repeat, err = parseSlots(times)
	if err != nil || !closed {
		return 0, 0, errors.New("not of the form 4 or 4(x3)")
	}
	return slots, repeat, nil
}
