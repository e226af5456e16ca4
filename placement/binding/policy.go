package binding

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/topology/node"
)

// Kind is what each rank is bound to.
type Kind string

// The kinds, as --bind-to has them.
const (
	None   Kind = "none"     // whatever its agent may use
	Core   Kind = "core"     // all hardware threads of a core
	Thread Kind = "hwthread" // one hardware thread
	Socket Kind = "socket"   // a package
	NUMA   Kind = "numa"     // a NUMA node
	L3     Kind = "l3"       // the cores that share a level 3 cache
	List   Kind = "cpu-list" // one of the CPUs of a list
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{None, Core, Thread, Socket, NUMA, L3, List} }

// Help says in a few words what it is.
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
	}
	return "a CPU of the list, in turn, as in cpu-list:0-3,8"
}

// Policy says what the ranks of a job are bound to. The zero value binds none.
type Policy struct {
	kind Kind
	cpus []int // of List, in the order given
}

// Parse reads a policy: a kind, of which List is followed by a colon and its CPUs as
// in cpu-list:0-3,8. "" is None.
func Parse(word string) (Policy, error) {
	kind, list, ok := strings.Cut(word, ":")
	p := Policy{kind: Kind(kind)}
	switch {
	case word == "" || word == string(None):
		return Policy{}, nil
	case p.kind == List && list == "":
		return Policy{}, fmt.Errorf("%q lacks its CPUs; write them as in %s:0-3,8", word, List)
	case p.kind == List:
		var err error
		if p.cpus, err = parseDistinct(list); err != nil {
			return Policy{}, err
		}
	case ok || !slices.Contains(Kinds(), p.kind):
		return Policy{}, fmt.Errorf("%q is nothing to bind to; none, core, hwthread, socket, numa, l3 and cpu-list:LIST are", word)
	}
	return p, nil
}

// Binds tells whether ranks are bound at all.
func (p Policy) Binds() bool { return p.kind != "" && p.kind != None }

// Local tells whether p needs no more of a host than the numbers of its CPUs.
func (p Policy) Local() bool { return !p.Binds() || p.kind == List }

// String is what Parse reads.
func (p Policy) String() string {
	switch {
	case !p.Binds():
		return string(None)
	case p.kind == List:
		return string(List) + ":" + Format(p.cpus)
	}
	return string(p.kind)
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
