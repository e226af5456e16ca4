package topology

// Shuffle puts a list in an order that the seed decides, the same on every machine.
func Shuffle[E any](list []E, seed uint64) {
	r := splitMix(seed)
	shuffle(&r, list)
}

// Mix returns the output function of SplitMix64: of numbers that follow each other by
// MixStep it makes a sequence that looks random, the same on every machine.
func Mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// MixStep is the step of SplitMix64.
const MixStep = 0x9e3779b97f4a7c15

// splitMix is the state of SplitMix64.
type splitMix uint64

// next returns a number 0..n-1.
func (r *splitMix) next(n int) int {
	*r += MixStep
	return int(Mix(uint64(*r)) % uint64(n))
}

func shuffle[E any](r *splitMix, list []E) {
	for i := len(list) - 1; i > 0; i-- {
		k := r.next(i + 1)
		list[i], list[k] = list[k], list[i]
	}
}
