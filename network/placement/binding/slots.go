package binding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/network/topology/node"
)

// Slots are the CPUs of one rank as a user names them: numbers of CPUs, as the kernel
// has them, or cores of a socket.
type Slots struct {
	text  string
	parts []part
}

type part struct {
	socket  int   // node.None where numbers are CPUs
	numbers []int // nil: all cores of the socket
}

// ParseSlots reads slots: CPUs as in 0-3,8, or cores of a socket as in 1:0-2. Cores
// behind a comma are of the same socket, unless they name another, as in 0:0,2,1:0. A
// core is * for all of the socket's.
func ParseSlots(text string) (Slots, error) {
	s := Slots{text: text}
	socket, total := node.None, 0
	for i, word := range strings.Split(text, ",") {
		if of, rest, ok := strings.Cut(word, ":"); ok {
			number, err := node.ParseUnits(of)
			if err != nil || len(number) != 1 || socket == node.None && i > 0 {
				return Slots{}, fmt.Errorf("%q: expected CPUs as in 0-3,8 or cores of a socket as in 1:0-2", text)
			}
			socket, word = number[0], rest
		}
		p := part{socket: socket}
		if word != "*" || socket == node.None {
			var err error
			if p.numbers, err = node.ParseUnits(word); err != nil {
				return Slots{}, err
			}
		}
		if total += 1 + len(p.numbers); total > node.MaxPUs {
			return Slots{}, fmt.Errorf("more than %d CPUs for one rank", node.MaxPUs)
		}
		s.parts = append(s.parts, p)
	}
	return s, nil
}

// String returns the text that ParseSlots has read.
func (s Slots) String() string { return s.text }

// Find returns the CPUs of slots, ascending: those that are there and ours, and an
// error if one is not.
func (h *Host) Find(s Slots) ([]int, error) {
	var cpus []int
	for _, p := range s.parts {
		if p.socket == node.None {
			if err := h.checkOurs(p.numbers); err != nil {
				return nil, err
			}
			cpus = append(cpus, p.numbers...)
			continue
		}
		found, err := h.socketCores(p)
		if err != nil {
			return nil, err
		}
		cpus = append(cpus, found...)
	}
	slices.Sort(cpus)
	return slices.Compact(cpus), nil
}

// socketCores are our CPUs of a socket's cores, which are numbered from 0 in it.
func (h *Host) socketCores(p part) (cpus []int, err error) {
	first, ok := h.firstOf[p.socket]
	if !ok {
		return nil, fmt.Errorf("the host has no socket %d", p.socket)
	}
	of := map[int][]int{}
	for _, c := range h.cores {
		if c.Package == p.socket {
			of[c.number-first] = c.PUs
			if p.numbers == nil {
				cpus = append(cpus, c.PUs...)
			}
		}
	}
	for _, n := range p.numbers {
		if of[n] == nil {
			return nil, fmt.Errorf("core %d of socket %d is not there, or not the job's to use: %s", n, p.socket, areOrIs(h.ours))
		}
		cpus = append(cpus, of[n]...)
	}
	if len(cpus) == 0 {
		return nil, fmt.Errorf("no core of socket %d is the job's to use: %s", p.socket, areOrIs(h.ours))
	}
	return cpus, nil
}
