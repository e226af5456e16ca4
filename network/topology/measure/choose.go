package measure

import "github.com/golaunch/golaunch/network/topology"

// maxTried bounds the pairs of hosts whose distance is looked up.
const maxTried = 1 << 20

// Choose picks at most each pairs of n hosts at each distance, which hops tells, by
// chance that the seed decides. The first of a pair is less than the second.
func Choose(n, each int, seed uint64, hops func(i, j int) (int, error)) ([][2]int, error) {
	var pairs [][2]int
	if n <= 1<<10 {
		for i := range n {
			for j := i + 1; j < n; j++ {
				pairs = append(pairs, [2]int{i, j})
			}
		}
		topology.Shuffle(pairs, seed)
	} else {
		seen := map[[2]int]bool{}
		for k := range uint64(maxTried) {
			r := topology.Mix(seed + k*topology.MixStep)
			i, j := int(r>>32)%n, int(r&(1<<32-1))%n
			p := [2]int{min(i, j), max(i, j)}
			if i != j && !seen[p] {
				seen[p] = true
				pairs = append(pairs, p)
			}
		}
	}
	var chosen [][2]int
	have := map[int]int{}
	for _, p := range pairs {
		distance, err := hops(p[0], p[1])
		if err != nil {
			return nil, err
		}
		if have[distance] < each {
			have[distance]++
			chosen = append(chosen, p)
		}
	}
	return chosen, nil
}
