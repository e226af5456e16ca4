package collective

import "math/bits"

// box is the addresses of ranks that have coordinates: the bits of the first
// coordinate are the lowest. Where a size is no power of two, some addresses have
// no rank.
type box struct {
	dims  []int
	shift []int // the lowest bit of each coordinate, and the number of all bits
}

func newBox(dims ...int) box {
	b := box{dims, make([]int, len(dims)+1)}
	for d, n := range dims {
		b.shift[d+1] = b.shift[d] + bits.Len(uint(n-1))
	}
	return b
}

// bits returns the number of bits of an address.
func (b box) bits() int { return b.shift[len(b.dims)] }

// size returns the number of addresses that have a rank.
func (b box) size() int { return product(b.dims) }

// address returns the address of index x, in which the first coordinate varies fastest.
func (b box) address(x int) int {
	a := 0
	for d, n := range b.dims {
		a |= x % n << b.shift[d]
		x /= n
	}
	return a
}

// coordinate returns the bits of the coordinate that a bit belongs to.
func (b box) coordinate(bit int) int {
	d := 0
	for bit >= b.shift[d+1] {
		d++
	}
	return 1<<b.shift[d+1] - 1<<b.shift[d]
}

// The schedules S [Sack 3.4.1]: which bit of the address differs between partners
// in each stage.

// doublingOrder is distance doubling.
func (b box) doublingOrder() []int {
	list := make([]int, b.bits())
	for s := range list {
		list[s] = s
	}
	return list
}

// halvingOrder is distance halving.
func (b box) halvingOrder() []int {
	list := make([]int, b.bits())
	for s := range list {
		list[s] = len(list) - 1 - s
	}
	return list
}

// torusOrder goes through all coordinates at once, halving the distance: bits of
// the largest dimensions come first.
func (b box) torusOrder() []int {
	var list []int
	for bit := b.bits() - 1; bit >= 0; bit-- {
		for d := len(b.dims) - 1; d >= 0; d-- {
			if bit < b.shift[d+1]-b.shift[d] {
				list = append(list, b.shift[d]+bit)
			}
		}
	}
	return list
}

// meshOrder returns the schedule of an address of a square mesh whose side is a power
// of two: distances halve in both coordinates, where half of the ranks have one
// first and half the other, by the parity of their lowest bits. Each stage but
// the last two then loads each line of the mesh with half of its ranks only,
// which the figures of [Sack 3.2.1] ask for.
func (b box) meshOrder(address int) []int {
	side := b.shift[1]
	first, second := 0, side
	if (address^address>>side)&1 == 1 {
		first, second = side, 0
	}
	var list []int
	for bit := side - 1; bit > 0; bit-- {
		list = append(list, first+bit, second+bit)
	}
	if side > 0 {
		list = append(list, 0, side)
	}
	return list
}

// remap is R(S, i): bit s of it is bit order[s] of the address [Sack 3.4.1].
func remap(order []int, address int) int {
	v := 0
	for s, bit := range order {
		v |= address >> bit & 1 << s
	}
	return v
}

func product(list []int) int {
	p := 1
	for _, n := range list {
		p *= n
	}
	return p
}
