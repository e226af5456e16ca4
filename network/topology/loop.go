package topology

// Loop calls do(0) to do(n-1), in any order and as much at once as it likes, and
// returns when all have returned. Packages of the network start no goroutines of
// their own: they are given one of these.
type Loop func(n int, do func(i int))

// Serial is the Loop that does one after the other.
func Serial(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}
