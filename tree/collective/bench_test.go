package collective_test

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/record"
)

// BenchmarkShort reports what short operations of 64 nodes with 8 ranks each take
// of a processor, all nodes and ranks together, and how many frames and records.
func BenchmarkShort(b *testing.B) {
	const nodes, each, degree = 64, 8, 8
	for _, st := range []step{{"barrier", 0, 0}, {"gather", 0, 8}, {"allgather", 0, 8}, {"allgather", 0, 128}, {"allgather", 0, 1024}, {"alltoall", 0, 8}, {"alltoall", 0, 128}} {
		b.Run(fmt.Sprintf("%s of %d", st.op, st.size), func(b *testing.B) {
			s := inUse(nodes, each, degree)
			frames, told, cpu := 0, 0, used(b)
			for range b.N {
				play(s, s.ends[:s.ranks], world, []step{st}, 1)
				s.run()
				require.Empty(b, s.faults)
			}
			cpu = used(b) - cpu
			for _, n := range s.nodes[1:] {
				frames += n.up.puts + n.down.puts
			}
			for _, e := range s.ends[:s.ranks] {
				told += e.in.puts
			}
			b.ReportMetric(1000*float64(cpu)/float64(b.N), "cpu-ns/op")
			b.ReportMetric(float64(frames)/float64(b.N), "frames/op")
			b.ReportMetric(float64(told)/float64(b.N), "writes/op")
		})
	}
}

// used returns the processor time of this process in microseconds.
func used(b *testing.B) int64 {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Sec*1e6 + u.Utime.Usec + u.Stime.Sec*1e6 + u.Stime.Usec
}

// BenchmarkSums reports what sums of floats take, which are combined in a fixed order,
// beside sums of integers, which are not: 64 nodes with 8 ranks each.
func BenchmarkSums(b *testing.B) {
	const nodes, each, degree = 64, 8, 8
	for _, size := range []int{8, record.Chunk, 4 * record.Chunk} {
		for name, fn := range map[string]uint8{"int64": record.Int64, "float64": record.Float64} {
			b.Run(fmt.Sprintf("%d bytes of %s", size, name), func(b *testing.B) {
				s := inUse(nodes, each, degree)
				send, got := make([]byte, size), make([]byte, size) // nobody looks
				cpu := used(b)
				for range b.N {
					for _, e := range s.ends[:s.ranks] {
						s.do(e, func() { e.World().AllReduce(fn|record.Sum, send, got) })
					}
					s.run()
					require.Empty(b, s.faults)
				}
				b.ReportMetric(1000*float64(used(b)-cpu)/float64(b.N), "cpu-ns/op")
			})
		}
	}
}
