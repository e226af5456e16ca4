package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/placement/binding"
)

// Answers about binding.
const (
	answerMemory  = "memory is where a rank first writes to it, near its CPUs; for more start the program under numactl"
	answerPerRank = "a rank is bound to some cores, as in core:4, or to all of a socket, numa or l3: choose with --bind-to"
	answerCPUSet  = "use --bind-to cpu-list:LIST, with the kernel's numbers, for one CPU for each rank"
	answerThreads = "use --bind-to hwthread for one hardware thread for each rank, --bind-to core for all of a core"
	answerShare   = "use --bind-to %s, with --oversubscribe where ranks may share"
)

// sameThings has the words of others for the targets of --bind-to.
var sameThings = map[string]binding.Kind{
	"package": binding.Socket, "l3cache": binding.L3, "hwthreads": binding.Thread, "rr": binding.Thread, "slot": binding.Core,
	"machine": binding.None, "board": binding.None, "node": binding.None,
}

// BindTo knows Hydra's and Open MPI's words. What is none of theirs stays as it is.
func BindTo(v []string) (flags []string, answer string) {
	word, more, qualified := strings.Cut(v[0], ":")
	if word == "user" && !strings.Contains(more, "+") {
		return []string{"--bind-to", string(binding.List) + ":" + more}, ""
	}
	if kind, ok := sameThings[word]; ok {
		word = string(kind)
	}
	switch {
	case v[0] == "user" || word == "user":
		return nil, fmt.Sprintf("%q: "+answerCPUSet, v[0])
	case !qualified:
		return []string{"--bind-to", word}, ""
	case !slices.Contains(binding.Words(), binding.Kind(word)):
		return []string{"--bind-to", v[0]}, ""
	case (word == string(binding.Core) || word == string(binding.Thread)) && strings.Trim(more, "0123456789") == "":
		return []string{"--bind-to", word + ":" + more}, ""
	case more == "1" || more == "if-supported" || more == "no-overload":
		return []string{"--bind-to", word}, ""
	case more == "overload-allowed":
		return nil, fmt.Sprintf("%q: "+answerShare, v[0], word)
	}
	return nil, fmt.Sprintf("%q: %s", v[0], answerPerRank)
}

// cpuBind is srun's: words between commas, of which one says what to bind to.
func cpuBind(v []string) (flags []string, answer string) {
	words := strings.Split(v[0], ",")
	for len(words) > 1 && (words[0] == "quiet" || words[0] == "verbose" || words[0] == "q" || words[0] == "v") {
		if words[0][0] == 'v' {
			flags = append(flags, "--report-bindings")
		}
		words = words[1:]
	}
	kind, list, _ := strings.Cut(strings.Join(words, ","), ":")
	to := map[string]binding.Kind{
		"none": binding.None, "no": binding.None, "cores": binding.Core, "threads": binding.Thread, "rank": binding.Thread,
		"sockets": binding.Socket, "ldoms": binding.NUMA, "rank_ldom": binding.NUMA,
	}[kind]
	switch {
	case to != "":
		return append(flags, "--bind-to", string(to)), ""
	case kind == "verbose" || kind == "v":
		return []string{"--report-bindings"}, ""
	case kind == "quiet" || kind == "q":
		return nil, ""
	case kind == "map_cpu" && !strings.ContainsAny(list, "x*"):
		return append(flags, "--bind-to", string(binding.List)+":"+list), ""
	}
	return nil, fmt.Sprintf("%q: %s", v[0], answerCPUSet+"; or core, hwthread, socket or numa")
}

// elementsOf keeps what Open MPI's PE=N says: how many cores a rank is bound to, as --bind-to
// core:N has it. The other words of --map-by it returns.
func (p *pasted) elementsOf(value string) (rest, answer string) {
	var kept []string
	for i, part := range strings.Split(value, ":") {
		if i == 0 {
			kept = append(kept, part)
			continue
		}
		words := strings.Split(part, ",")
		words = slices.DeleteFunc(words, func(w string) bool {
			number, ok := strings.CutPrefix(strings.ToLower(w), "pe=")
			if !ok {
				return false
			}
			answer = p.coresEach(number)
			return true
		})
		if len(words) > 0 {
			kept = append(kept, strings.Join(words, ","))
		}
	}
	return strings.Join(kept, ":"), answer
}

// coresEach keeps a number of cores for each rank.
func (p *pasted) coresEach(number string) (answer string) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return fmt.Sprintf("%q is not a number of cores", number)
	}
	p.elements = n
	return ""
}

// cpusPerRank is Open MPI's old flag for that.
func cpusPerRank(p *pasted, v []string) ([]string, string) { return nil, p.coresEach(v[0]) }

// widen binds ranks to several cores where the line says how many. What srun counts are
// hardware threads, as Slurm does unless a site has it otherwise.
func (p *pasted) widen(flags []string) []string {
	cores := p.elements
	p.elements = 0 // it is the job's, and not to be said again with the next app
	i := slices.Index(flags, "--bind-to")
	switch {
	case i < 0 && cores > 1:
		return append(flags, "--bind-to", fmt.Sprintf("%s:%d", binding.Core, cores))
	case i < 0 || i+1 == len(flags): // or its value is missing
		return flags
	}
	to := &flags[i+1]
	switch single := *to == string(binding.Core) || *to == string(binding.Thread); {
	case cores > 1 && single:
		*to = fmt.Sprintf("%s:%d", *to, cores)
	case cores > 1 && *to != string(binding.None):
		p.answers = append(p.answers, fmt.Sprintf("%d cores for each rank, and --bind-to %s: %s", cores, *to, answerPerRank))
	case p.cpus > 1 && single:
		*to = fmt.Sprintf("%s:%d", binding.Thread, p.cpus)
	}
	return flags
}

// gpusPerRank is a number of GPUs; a type of them has no equal.
func gpusPerRank(v []string) ([]string, string) {
	switch n, err := strconv.Atoi(v[0]); {
	case err != nil:
		return nil, fmt.Sprintf("%q: %s", v[0], answerDevice)
	case n == 0:
		return nil, ""
	}
	return []string{"--gpus-per-rank", v[0]}, ""
}
