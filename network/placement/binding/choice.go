package binding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/network/topology/node"
)

// Kind is a kind of thing that ranks are bound to.
type Kind string

// The kinds, as --bind-to has them.
const (
	None   Kind = "none"     // all CPUs of its agent
	Core   Kind = "core"     // all hardware threads of a core
	Thread Kind = "hwthread" // one hardware thread
	Socket Kind = "socket"   // a package
	NUMA   Kind = "numa"     // a NUMA node
	L3     Kind = "l3"       // the cores that share a level 3 cache
	GPU    Kind = "gpu"      // the CPUs near the GPUs of the rank
	List   Kind = "cpu-list" // one of the CPUs of a list
)

// Words returns the kinds that are a word alone: all but List.
func Words() []Kind { return []Kind{None, Core, Thread, Socket, NUMA, L3, GPU} }

// Help describes it in a few words.
func (k Kind) Help() string {
	switch k {
	case None:
		return "not at all"
	case Core:
		return "a core, with all its hardware threads"
	case Thread:
		return "a hardware thread"
	case Socket:
		return "a processor package, in turn"
	case NUMA:
		return "a NUMA node, in turn"
	case L3:
		return "the cores of a level 3 cache, in turn"
	case GPU:
		return "the CPUs near the rank's GPUs, of --gpus-per-rank or its LOCAL_RANK"
	}
	return "a CPU of the list"
}

// Choice binds the ranks of a job. The zero value binds none.
type Choice struct {
	kind Kind
	cpus []int // of List, in the order given
	each int   // cores, or hardware threads, for each rank; 0 is one
}

// Parse reads a choice: a kind, of which List is followed by a colon and its CPUs as
// in cpu-list:0-3,8. Core and Thread may be followed by how many a rank has, as in
// core:4. "" is None.
func Parse(word string) (Choice, error) {
	kind, list, ok := strings.Cut(word, ":")
	c := Choice{kind: Kind(kind)}
	switch {
	case word == "" || word == string(None):
		return Choice{}, nil
	case c.kind == List && list == "":
		return Choice{}, fmt.Errorf("%q lacks its CPUs; write them as in %s:0-3,8", word, List)
	case c.kind == List:
		var err error
		if c.cpus, err = parseDistinct(list); err != nil {
			return Choice{}, err
		}
	case ok && (c.kind == Core || c.kind == Thread):
		var err error
		if c.each, err = strconv.Atoi(list); err != nil || c.each < 1 || c.each > node.MaxPUs {
			return Choice{}, fmt.Errorf("%q: %q is not a number of them for each rank", word, list)
		}
		if c.each == 1 {
			c.each = 0
		}
	case ok || !slices.Contains(Words(), c.kind):
		return Choice{}, fmt.Errorf("%q is nothing to bind to; none, core, core:N, hwthread, socket, numa, l3, gpu and cpu-list:LIST are", word)
	}
	return c, nil
}

// Binds tells whether ranks are bound at all.
func (c Choice) Binds() bool { return c.kind != "" && c.kind != None }

// Local tells whether c needs no more of a host than the numbers of its CPUs.
func (c Choice) Local() bool { return !c.Binds() || c.kind == List || c.kind == GPU }

// ByGPU tells whether a rank's CPUs follow from its GPUs: Host.Within, and not Assign, finds
// them, and Room is not to be asked.
func (c Choice) ByGPU() bool { return c.kind == GPU }

// String returns the word that Parse reads.
func (c Choice) String() string {
	switch {
	case !c.Binds():
		return string(None)
	case c.kind == List:
		return string(List) + ":" + Format(c.cpus)
	case c.each > 1:
		return fmt.Sprintf("%s:%d", c.kind, c.each)
	}
	return string(c.kind)
}

// parseDistinct reads a list of CPUs, none of which is in it twice.
func parseDistinct(list string) ([]int, error) {
	cpus, err := node.ParseUnits(list)
	if err != nil {
		return nil, err
	}
	seen := map[int]bool{}
	for _, c := range cpus {
		if seen[c] {
			return nil, fmt.Errorf("%q names CPU %d twice", list, c)
		}
		seen[c] = true
	}
	return cpus, nil
}

// Format writes CPUs, or cores, as lists have them: ranges where numbers follow each
// other, in the order given.
func Format(numbers []int) string {
	var b strings.Builder
	for i := 0; i < len(numbers); {
		end := i + 1
		for end < len(numbers) && numbers[end] == numbers[end-1]+1 {
			end++
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(numbers[i]))
		if end > i+1 {
			b.WriteString("-" + strconv.Itoa(numbers[end-1]))
		}
		i = end
	}
	return b.String()
}
