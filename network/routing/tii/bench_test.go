package tii

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// threads returns a Loop of so many goroutines.
func threads(count int) topology.Loop {
	return func(n int, do func(i int)) {
		var group sync.WaitGroup
		for t := range count {
			group.Go(func() {
				for i := t; i < n; i += count {
					do(i)
				}
			})
		}
		group.Wait()
	}
}

// The routes and clusters of as many hosts as Ranger had, 4,037 [Subramoni, figures
// 2.1 and 2.3: 12 s with 6 threads].
func BenchmarkDiscover4037(b *testing.B) {
	g, err := spec.Parse("fattree:18,18,36/1,18,18/1,1,1")
	require.NoError(b, err)
	g, err = g.Select(first(4037))
	require.NoError(b, err)
	for _, count := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("threads=%d", count), func(b *testing.B) {
			for b.Loop() {
				loop := threads(count)
				r, err := routing.New(g, loop)
				require.NoError(b, err)
				n, err := Discover(r, loop)
				require.NoError(b, err)
				require.Equal(b, 3, n.Depth())
				require.Len(b, n.Tree().Groups(3), 225)
			}
		})
	}
}
