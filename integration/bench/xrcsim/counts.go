package xrcsim

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/xrcsim"
)

// network returns the parameters of jobs whose processes of one node use the adapter,
// too.
func network() xrcsim.Parameters {
	p := xrcsim.Default()
	p.Inside = xrcsim.Network
	return p
}

// fullyConnected writes [Sridhar, table 4.1], in both modes.
func fullyConnected(b *strings.Builder) error {
	b.WriteString("\n## Fully connected jobs\n\n[Sridhar, table 4.1] has n·c − 1 for RC and n for XRC, of n nodes with c processes, all " +
		"peers over the network.\nWith shared memory inside a node it is (n − 1)·c and n − 1.\n\n" +
		"| nodes | processes of a node | RC, network | XRC, network | RC, shared memory | XRC, shared memory | receive-only of a node, shared memory |\n" +
		"|---|---|---|---|---|---|---|\n")
	for _, x := range [][2]int{{2, 2}, {8, 8}, {64, 8}, {1024, 16}} {
		over, err := counted("alltoall", x[0]*x[1], x[1], network(), xrcsim.RC, xrcsim.XRC)
		if err != nil {
			return err
		}
		inside, err := counted("alltoall", x[0]*x[1], x[1], xrcsim.Default(), xrcsim.RC, xrcsim.XRC)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %d | %d | %s | %s | %s | %s | %s |\n", x[0], x[1], spreadText(over[0].QueuePairs), spreadText(over[1].QueuePairs),
			spreadText(inside[0].QueuePairs), spreadText(inside[1].QueuePairs), spreadText(inside[1].ReceiveOnly))
	}
	return nil
}

// published is [Sridhar, table 4.2]: RC and XRC, the mean, the least, the most.
var published = []struct{ name, rc, xrc string }{
	{"bt", "6.06 (6, 7)", "4.06 (4, 5)"},
	{"cg", "3.84 (3, 4)", "3.5 (3, 4)"},
	{"ep", "3 (3, 3)", "3 (3, 3)"},
	{"ft", "55.91 (54, 56)", "6.95 (5, 7)"},
	{"is", "53.16 (50, 56)", "6.98 (6, 7)"},
	{"lu", "3.81 (3, 5)", "3.81 (3, 5)"},
	{"mg", "4.98 (4, 6)", "4 (4, 4)"},
	{"sp", "6.06 (6, 7)", "3.73 (3, 5)"},
}

// benchmarks writes [Sridhar, table 4.2] beside the patterns.
func benchmarks(b *strings.Builder) error {
	b.WriteString("\n## The NAS Parallel Benchmarks on 8 nodes of 8\n\nClass B, shared memory inside a node, beside [Sridhar, table 4.2]. " +
		"[The model's page](../simulators.md#beside-the-published-table) says where they differ and why.\n\n" +
		"| benchmark | RC, pattern | RC, published | XRC, pattern | XRC, published | receive-only of a node |\n|---|---|---|---|---|---|\n")
	for _, x := range published {
		points, err := counted("npb:"+x.name, 64, 8, xrcsim.Default(), xrcsim.RC, xrcsim.XRC)
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", strings.ToUpper(x.name), spreadText(points[0].QueuePairs), x.rc,
			spreadText(points[1].QueuePairs), x.xrc, spreadText(points[1].ReceiveOnly))
	}
	return nil
}

// sizes writes the benchmarks at other sizes.
func sizes(b *strings.Builder) error {
	b.WriteString("\n## The same at other sizes\n\nQueue pairs of a process, RC / XRC. Class B, but for LU with 1,024 ranks, which takes class C.\n\n" +
		"| ranks | of a node |")
	for _, x := range published {
		fmt.Fprintf(b, " %s |", strings.ToUpper(x.name))
	}
	b.WriteString("\n|" + strings.Repeat("---|", 2+len(published)) + "\n")
	for _, ranks := range []int{16, 256, 1024} {
		for _, ppn := range []int{4, 16} {
			fmt.Fprintf(b, "| %d | %d |", ranks, ppn)
			for _, x := range published {
				word := "npb:" + x.name
				if x.name == "lu" && ranks == 1024 {
					word += ":C"
				}
				points, err := counted(word, ranks, ppn, xrcsim.Default(), xrcsim.RC, xrcsim.XRC)
				if err != nil {
					return err
				}
				fmt.Fprintf(b, " %s / %s |", spreadText(points[0].QueuePairs), spreadText(points[1].QueuePairs))
			}
			b.WriteByte('\n')
		}
	}
	return nil
}

// gigabyte writes the memory of a job of 16K processes.
func gigabyte(b *strings.Builder) error {
	b.WriteString("\n## A job of 16,384 processes\n\nFully connected on 2,048 nodes of 8, all peers over the network. \"As high as a gigabyte per process\" " +
		"[Sridhar 1.2.2] is\n64 KiB for each of 16,383 peers, which is what a queue pair takes here; \"several KB\" stands beside it, and \"several\n" +
		"hundred KB\" in 1.3.2. Receive buffers, 4 MiB, are the same for all.\n\n" +
		"| transport | queue pairs of a process | their memory | with receive-only ones and buffers | queue pairs of a node |\n|---|---|---|---|---|\n")
	points, err := counted("alltoall", 16384, 8, network(), xrcsim.Transports()...)
	if err != nil {
		return err
	}
	for _, x := range points {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", x.Transport, spreadText(x.QueuePairs), bytesText(x.QueuePairBytes.Average),
			bytesText(x.Bytes.Average), spreadText(x.HCA))
	}
	return nil
}
