package scale

import (
	"fmt"
	"strings"
	"time"

	"github.com/golaunch/golaunch/tree/pacing"
)

// preamble introduces the page, and lists the inputs.
func preamble(page *strings.Builder, s settings) {
	c := s.Costs
	page.WriteString(s.Head("Start-up at scale, in a model", "build"))
	fmt.Fprintf(page, `What is modelled is golaunch's start over SSH, up to 65,536 nodes × %d ranks: a
discrete-event run of the rules that golaunch itself runs (package tree: how a range
is cut, gathers; package tree/pacing: the window of %d handshakes, hedging), with the
costs below. Messages are as long as package overlay encodes them for such a job,
to the byte. The page is the same on every machine; what was measured is in
scale.json, made with -measure on %s, %s.

Every node has %d processors of its own in the figures. An agent's event loop does
one thing at a time; handshakes, encryption and the warden run beside it. Sizes and
counts are exact; times are as good as the section "Against the test cluster" shows.

| input | | from |
|---|---|---|
`, s.ranks, pacing.WindowBegin, s.Date, s.Machine, coresOfNode)
	row := func(name string, value any, from string) { fmt.Fprintf(page, "| %s | %v | %s |\n", name, value, from) }
	const fitted = "fitted"
	counted := fmt.Sprintf("counted, on %d nodes", s.Counted.Nodes)
	row("golaunch up to its first connection", round(c.Begin), fitted)
	row("a connection: sshd, shell", round(c.Server), fmt.Sprintf("%s; %s: %v", fitted, counted, round(duration(s.Counted.server()))))
	row("a connection: whoever makes it", round(c.Client), counted)
	row("a connection: the agent, as if all it does were before its hello", round(c.Agent), counted)
	row("a connection: beyond processor time and hops", round(c.Wait), fitted)
	row("a connection: round trips before the signature, and after", fmt.Sprintf("%d, %d", c.Rounds, c.RoundsEnd), "the protocol")
	row("a warden's start, beside all that", round(c.Warden), counted)
	row("a rank: the warden; the rank itself", fmt.Sprintf("%v; %v", round(c.Spawn), round(c.Run)), fitted)
	row("a node's end; all ends: beyond processor time", fmt.Sprintf("%v; %v", round(c.End), round(c.EndWait)), fitted)
	row("a signature by the launcher, with the check of the host's proof and the messages' code", round(c.Sign), "measured, in one process")
	row("1000 bytes of a message: made; read", fmt.Sprintf("%v; %v", round(c.Encode), round(c.Decode)), "measured, in one process")
	row("1000 bytes at each end of a link, and in the sshd between", round(c.Crypt), "200 kB through a real sshd and back in 0.45 ms")
	row("a message: sent; received; passed on by the sshd between", fmt.Sprintf("%v; %v; %v", c.Send, c.Receive, c.Relay), "as in cache-model.md; 82 µs for 64 bytes there and back")
	row("1000 bytes on a node's way out, and in", c.Byte, "8 Gbit/s")
	row("the ssh command as a client, of rivals", c.OpenSSH, "taken from a run of make bench")
}

// round rounds a length of time to digits that matter.
func round(d time.Duration) time.Duration {
	switch {
	case d >= 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(100 * time.Nanosecond)
}

// seconds renders a time for a table.
func seconds(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 0.1:
		return fmt.Sprintf("%.3f", s)
	case s < 10:
		return fmt.Sprintf("%.2f", s)
	case s < 100:
		return fmt.Sprintf("%.1f", s)
	default:
		return fmt.Sprintf("%.0f", s)
	}
}

func hopName(hop time.Duration) string {
	return fmt.Sprintf("%v ms", float64(hop)/float64(time.Millisecond))
}

// wanted bounds the error of the model, as a part of the measured time.
const wanted = 0.15

// validation holds the model against the test cluster.
func validation(page *strings.Builder, s settings) error {
	fmt.Fprintf(page, `
## Against the test cluster

There, all nodes share the %d processors of one machine. The model shares them as Linux
does (EEVDF): the process that has had the least is next, for %v at most; one that begins
has had as much as the least of those who wait, one that slept is owed up to as
much as that. Nothing else is added for many nodes on one machine.

Milliseconds since golaunch began, measured / in the model, and by how much the model
is off; CPU is that of all processes, until the last has ended. /bin/true. Each run
waits until the machine is idle. The costs called fitted were fitted to the points with a
star, all together; "counted" is what processes of a job of %d × 1 have used by the
kernel's account while its ranks slept. The other points took no part in that.
Values are medians; ± is half of what the middle half of the runs differs in the
whole time. "Others" is the part of the machine that other programs used meanwhile, but
for the kernel's threads; runs with more than %.0f %% do not count, and a point that has no %d
others is marked with †.

| nodes × ranks | runs |`, s.Cores, sharedSlice, s.Counted.Nodes, 100*disturbed, enough)
	for _, name := range valueNames {
		fmt.Fprintf(page, " %s |", name)
	}
	fmt.Fprintf(page, " ± | others |\n|%s\n", strings.Repeat("---|", len(valueNames)+4))
	worst, near, all := make([]float64, len(valueNames)), 0, 0
	for _, p := range s.Points {
		one, err := again(s.measured, p)
		if err != nil {
			return err
		}
		o, err := simulate(one, s.Costs)
		if err != nil {
			return err
		}
		mark := ""
		if p.Fit {
			mark = " *"
		}
		if p.Others > disturbed {
			mark += " †"
		}
		fmt.Fprintf(page, "| %d × %d%s | %d |", p.Nodes, p.Ranks, mark, p.Readings)
		model := modelled(o)
		for i, v := range p.values() {
			off := model[i]/v - 1
			worst[i] = max(worst[i], max(off, -off))
			if all++; max(off, -off) <= wanted {
				near++
			}
			fmt.Fprintf(page, " %.0f / %.0f (%+.0f %%) |", v, model[i], 100*off)
		}
		fmt.Fprintf(page, " %.0f %% | %.0f %% |\n", 100*p.Spread, 100*p.Others)
	}
	fmt.Fprint(page, "| largest error | |")
	for _, w := range worst {
		fmt.Fprintf(page, " %.0f %% |", 100*w)
	}
	fmt.Fprintf(page, " | |\n\nOf %d values the model has %d within the %.0f %% that were asked for.\n", all, near, 100*wanted)
	return nil
}
