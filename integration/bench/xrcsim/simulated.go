package xrcsim

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/xrcsim"
	"github.com/golaunch/golaunch/xrcsim/protocol"
)

// world returns so many nodes with so many processes each.
func world(c protocol.Config, nodes, ppn int) (*protocol.World, []int, error) {
	c.Nodes = nodes
	w, err := protocol.New(c)
	if err != nil {
		return nil, nil, err
	}
	var on []int
	for n := range nodes {
		for range ppn {
			on = append(on, n)
		}
	}
	return w, w.Spawn(on, 0), nil
}

func config(transport xrcsim.Transport) protocol.Config {
	return protocol.Config{Transport: transport, Inside: xrcsim.SharedMemory, Connect: xrcsim.OnDemand, Seed: 1, Costs: protocol.DefaultCosts()}
}

// handshakes writes the costs to connect all with all, by the share of lost datagrams.
func handshakes(b *strings.Builder) error {
	b.WriteString("\n## Handshakes\n\nAll of 64 processes on 8 nodes send all others a message of 8 bytes at once, each in the order of the pairwise\n" +
		"exchange. Datagrams get lost, come twice and late by chance; one that is not answered is sent again after 500 ms. Races are pairs of\n" +
		"which both ends asked at once; handshakes have joined queue pairs, or have let a process be reached over a connection\n" +
		"that was there.\n\n" +
		"| transport | lost | messages delivered | connected queue pairs of a process | direct handshakes | indirect | races | datagrams | sent again | all delivered after (ms) |\n" +
		"|---|---|---|---|---|---|---|---|---|---|\n")
	for _, transport := range []xrcsim.Transport{xrcsim.RC, xrcsim.XRC, xrcsim.UD, xrcsim.Hybrid} {
		for _, loss := range []float64{0, 0.01, 0.1} {
			c := config(transport)
			c.Loss, c.Duplicate, c.Reorder = loss, loss, loss
			w, p, err := world(c, 8, 8)
			if err != nil {
				return err
			}
			for s := 1; s < len(p); s++ {
				for _, from := range p {
					if err := w.Send(from, from^s, 8); err != nil {
						return err
					}
				}
			}
			w.Run()
			if err := w.Check(); err != nil {
				return err
			}
			sum := 0
			for _, id := range p {
				sum += w.QueuePairs(id)
			}
			last := w.Delivered[len(w.Delivered)-1].Delivered
			fmt.Fprintf(b, "| %s | %v %% | %d of 4032 | %s | %d | %d | %d | %d | %d | %.3f |\n", transport, 100*loss, len(w.Delivered),
				number(float64(sum)/float64(len(p))), w.Direct, w.Indirect, w.Races, w.Datagrams, w.Repeated, float64(last)/float64(time.Millisecond))
		}
	}
	return nil
}

// sending writes the times of a message over a direct and an indirect connection, and
// the sends that coalescing saves.
func sending(b *strings.Builder) error {
	b.WriteString("\n## Direct and indirect sends\n\nA message between two processes that are connected, as in [Sridhar, figure 4.5], whose text gives no figures: the times follow\n" +
		"from the parameters. MB/s is what a stream of 64 such messages reaches.\n\n" +
		"| bytes | direct µs | indirect µs | direct MB/s | indirect MB/s |\n|---|---|---|---|---|\n")
	for _, bytes := range []int{1, 64, 1024, 16 << 10, 256 << 10, 1 << 20} {
		fmt.Fprintf(b, "| %d |", bytes)
		var rates [2]float64
		for i, messages := range []int{1, 64} {
			for to := range 2 {
				took, err := stream(bytes, messages, to)
				if err != nil {
					return err
				}
				if i == 0 {
					fmt.Fprintf(b, " %.2f |", float64(took)/float64(time.Microsecond))
				}
				rates[to] = float64(bytes*messages) / took.Seconds() / 1e6
			}
		}
		fmt.Fprintf(b, " %.1f | %.1f |\n", rates[0], rates[1])
	}
	b.WriteString("\nCoalescing: 1,000 messages of 64 bytes to one process that is connected, by a queue pair for so many sends; waiting messages go together up to\n" +
		"8 KiB.\n\n| sends in the queue | sends without | sends with |\n|---|---|---|\n")
	for _, depth := range []int{64, 16, 4} {
		fmt.Fprintf(b, "| %d |", depth)
		for _, coalesce := range []int{0, 8 << 10} {
			c := config(xrcsim.RC)
			c.Depth, c.Coalesce = depth, coalesce
			w, p, err := world(c, 2, 1)
			if err != nil {
				return err
			}
			if err := w.Send(p[0], p[1], 64); err != nil {
				return err
			}
			w.Run()
			for range 1000 {
				if err := w.Send(p[0], p[1], 64); err != nil {
					return err
				}
			}
			w.Run()
			if len(w.Delivered) != 1001 {
				return errors.New("messages were not delivered")
			}
			fmt.Fprintf(b, " %d |", w.Sends-1)
		}
		b.WriteByte('\n')
	}
	return nil
}

// stream returns the time of messages over XRC from a process to one of two of another
// node: the first is connected directly, the second over the first's connection.
func stream(bytes, messages, to int) (time.Duration, error) {
	w, p, err := world(config(xrcsim.XRC), 2, 2)
	if err != nil {
		return 0, err
	}
	for _, peer := range p[2:] {
		if err := w.Send(p[0], peer, 1); err != nil {
			return 0, err
		}
		w.Run()
	}
	begin := w.Now()
	for range messages {
		if err := w.Send(p[0], p[2+to], bytes); err != nil {
			return 0, err
		}
	}
	w.Run()
	return w.Delivered[len(w.Delivered)-1].Delivered - begin, nil
}
