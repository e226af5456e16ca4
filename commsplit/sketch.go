package commsplit

import (
	"math"
	"math/bits"
	"slices"
)

// sketch estimates the number of different colours in constant space: a
// HyperLogLog (Flajolet, Fusy, Gandouet and Meunier 2007) of 64 registers, a
// byte each, eight to a word. Its standard error is 13 %. An empty sketch is of
// no colour.
type sketch []uint64

const registers = 64

func (s sketch) register(i int) uint64 { return s[i/8] >> (i % 8 * 8) & 0xff }

func (s *sketch) add(color uint32) {
	if color == Undefined {
		return
	}
	if len(*s) == 0 {
		*s = make(sketch, registers/8)
	}
	hash := mix(uint64(color))
	i := int(hash % registers)
	if old, value := s.register(i), uint64(bits.LeadingZeros64(hash))+1; value > old {
		(*s)[i/8] += (value - old) << (i % 8 * 8)
	}
}

// union is the sketch of the colours of both. It may share memory with s, but not
// with t, which may be words of a message that its sender will write again.
func (s sketch) union(t sketch) sketch {
	if len(s) == 0 {
		return slices.Clone(t)
	}
	if len(t) == 0 {
		return s
	}
	u := make(sketch, len(s))
	for w, a := range s {
		const high = 0x8080808080808080 // registers are below 128
		b := t[w]
		larger := ((a | high) - b) & high >> 7 * 0xff // all ones in the bytes where a is
		u[w] = a&larger | b&^larger
	}
	return u
}

// count is the estimate, at least 1.
func (s sketch) count() float64 {
	if len(s) == 0 {
		return 1
	}
	sum, empty := 0.0, 0
	for i := range registers {
		r := s.register(i)
		sum += math.Ldexp(1, -int(r))
		if r == 0 {
			empty++
		}
	}
	const alpha = 0.709 // for 64 registers
	estimate := alpha * registers * registers / sum
	if estimate < 2.5*registers && empty > 0 {
		estimate = registers * math.Log(registers/float64(empty))
	}
	return max(estimate, 1)
}
