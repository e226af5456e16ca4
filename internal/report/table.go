package report

import (
	"fmt"
	"strings"
)

// Table returns the table of --stats: the bulletin board's counts, and then those of
// each stream that was used, by level of the tree. A number is the sum over the level's
// agents; in brackets, where there are several, is the largest of one.
func (c *Collected) Table() string {
	rows := c.rows()
	board := grid{left: 1}
	heads := []string{"agents", "number"}
	for _, c := range columns {
		heads = append(heads, c.head)
	}
	board.add(heads...)
	for _, r := range rows {
		line := []string{r.name, fmt.Sprint(r.Agents)}
		for _, c := range columns {
			line = append(line, c.show(r, c.of))
		}
		board.add(line...)
	}
	streams := grid{left: 2}
	streams.add("stream", "of", "sent: messages", "bytes", "received: messages", "bytes")
	all := c.All()
	for s, name := range StreamNames {
		if all.Sum.Sent(s).Messages+all.Sum.Received(s).Messages == 0 {
			continue
		}
		at := streamsBegin + Counter(s)*perStream
		for _, r := range rows {
			streams.add(name, r.name, r.number(at+sentMessages), r.bytes(at+sentBytes),
				r.number(at+receivedMessages), r.bytes(at+receivedBytes))
			name = ""
		}
	}
	return board.String() + "\n" + streams.String()
}

// grid is cells in columns, the first few of which begin at the left.
type grid struct {
	left   int
	lines  [][]string
	widths []int
}

func (g *grid) add(cells ...string) {
	g.lines = append(g.lines, cells)
	for i, cell := range cells {
		if i == len(g.widths) {
			g.widths = append(g.widths, 0)
		}
		g.widths[i] = max(g.widths[i], len(cell))
	}
}

// String renders g without blanks at the ends of lines.
func (g *grid) String() string {
	var b strings.Builder
	for _, cells := range g.lines {
		for i, cell := range cells {
			width := g.widths[i]
			switch {
			case i < g.left:
				fmt.Fprintf(&b, "%-*s  ", width, cell)
			case i == len(cells)-1:
				fmt.Fprintf(&b, "%*s\n", width, cell)
			default:
				fmt.Fprintf(&b, "%*s  ", width, cell)
			}
		}
	}
	return b.String()
}

func (r tableRow) seconds(n Counter) string { return seconds(r.Sum[n]) + r.largest(seconds(r.Max[n])) }

func seconds(micros uint64) string { return fmt.Sprintf("%.2f", float64(micros)/1e6) }

type tableRow struct {
	name string
	Level
}

// rows returns the levels, and all of them if there are several.
func (c *Collected) rows() []tableRow {
	var rows []tableRow
	for i, l := range c.Levels {
		name := fmt.Sprint("level ", i)
		if i == 0 {
			name = "root"
		}
		rows = append(rows, tableRow{name, l})
	}
	if len(rows) > 1 {
		rows = append(rows, tableRow{"all", c.All()})
	}
	return rows
}

func (r tableRow) sum(n Counter) string { return fmt.Sprint(r.Sum[n]) }

func (r tableRow) number(n Counter) string {
	return fmt.Sprint(r.Sum[n]) + r.largest(fmt.Sprint(r.Max[n]))
}

func (r tableRow) bytes(n Counter) string { return size(r.Sum[n]) + r.largest(size(r.Max[n])) }

// largest renders the largest number of one agent.
func (r tableRow) largest(value string) string {
	if r.Agents < 2 {
		return ""
	}
	return " (" + value + ")"
}

// size renders a number of bytes to three digits.
func size(n uint64) string {
	if n < 1000 {
		return fmt.Sprint(n, " B")
	}
	v := float64(n)
	for _, unit := range []string{"kB", "MB", "GB", "TB", "PB", "EB"} {
		switch v /= 1000; {
		case v < 9.995:
			return fmt.Sprintf("%.2f %s", v, unit)
		case v < 99.95:
			return fmt.Sprintf("%.1f %s", v, unit)
		case v < 999.5 || unit == "EB":
			return fmt.Sprintf("%.0f %s", v, unit)
		}
	}
	return ""
}
