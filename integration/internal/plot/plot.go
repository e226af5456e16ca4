// Package plot draws line charts as SVG, for the pages of docs/results/: axes
// with units, a legend, colours that colour-blind readers can tell apart and a
// mark of its own for each line.
//
// It draws the values that it is given. Not here: bars, fits, or anything that
// measures.
package plot

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Chart is one picture.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
}

// Axis is one of a chart's two.
type Axis struct {
	Label string // the quantity, and its unit
	Log   bool   // logarithmic: all values must be positive
}

// Series is one line.
type Series struct {
	Name   string
	Points []Point // in the order in which they are joined
	Dashed bool    // for what others are held against
}

// Point is one value.
type Point struct{ X, Y float64 }

// The picture, in pixels.
const (
	width, height         = 760, 440
	left, right           = 84, 190 // the legend is at the right
	top, bottom           = 44, 60
	plotWidth, plotHeight = width - left - right, height - top - bottom
)

// colours are those of Okabe and Ito, then some of Tol's. A chart has no more
// lines than there are colours.
var colours = []string{
	"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
	"#882255", "#999933", "#332288", "#888888", "#663333",
}

// WriteFile writes the picture to path, and makes its directory.
func (c *Chart) WriteFile(path string) error {
	svg, err := c.SVG()
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, svg, 0o644)
}

// SVG renders the chart. It fails where there is nothing to draw, a value
// cannot be drawn, or there are more lines than colours.
func (c *Chart) SVG() ([]byte, error) {
	if len(c.Series) > len(colours) {
		return nil, fmt.Errorf("chart %q: %d lines: at most %d have a colour of their own", c.Title, len(c.Series), len(colours))
	}
	xs, ys := c.values()
	for _, v := range append(slices.Clone(xs), ys...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("chart %q: %v cannot be drawn", c.Title, v)
		}
	}
	if len(xs) == 0 {
		return nil, fmt.Errorf("chart %q: no points", c.Title)
	}
	x, err := newScale(c.X, xs, left, left+plotWidth, true)
	if err != nil {
		return nil, fmt.Errorf("chart %q: x: %w", c.Title, err)
	}
	y, err := newScale(c.Y, ys, top+plotHeight, top, false)
	if err != nil {
		return nil, fmt.Errorf("chart %q: y: %w", c.Title, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="13">`+"\n", width, height, width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", width, height)
	text(&b, left, 24, `font-size="16" font-weight="bold"`, c.Title)
	for _, t := range y.ticks {
		at := y.at(t)
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/>`+"\n", left, at, left+plotWidth, at)
		text(&b, left-8, at+4, `text-anchor="end"`, label(t))
	}
	for _, t := range x.ticks {
		at := x.at(t)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#333"/>`+"\n", at, top+plotHeight, at, top+plotHeight+5)
		text(&b, at, top+plotHeight+20, `text-anchor="middle"`, label(t))
	}
	fmt.Fprintf(&b, `<path d="M%d %dV%dH%d" fill="none" stroke="#333"/>`+"\n", left, top, top+plotHeight, left+plotWidth)
	text(&b, left+plotWidth/2, height-16, `text-anchor="middle"`, c.X.Label)
	text(&b, 0, 0, fmt.Sprintf(`text-anchor="middle" transform="translate(18 %d) rotate(-90)"`, top+plotHeight/2), c.Y.Label)
	for i, s := range c.Series {
		c.line(&b, i, s, x, y)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String()), nil
}

func (c *Chart) values() (xs, ys []float64) {
	for _, s := range c.Series {
		for _, p := range s.Points {
			xs, ys = append(xs, p.X), append(ys, p.Y)
		}
	}
	return xs, ys
}

// line draws one series and its place in the legend.
func (c *Chart) line(b *strings.Builder, i int, s Series, x, y scale) {
	colour, dash := colours[i], ""
	if s.Dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	var path strings.Builder
	for k, p := range s.Points {
		fmt.Fprintf(&path, "%c%.1f %.1f", "LM"[b2i(k == 0)], x.at(p.X), y.at(p.Y))
	}
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", path.String(), colour, dash)
	for _, p := range s.Points {
		mark(b, i, x.at(p.X), y.at(p.Y), colour)
	}
	legend := float64(top + 10 + 22*i)
	fmt.Fprintf(b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="%s" stroke-width="2"%s/>`+"\n",
		left+plotWidth+16, legend, left+plotWidth+44, legend, colour, dash)
	mark(b, i, left+plotWidth+30, legend, colour)
	text(b, left+plotWidth+52, legend+4, "", s.Name)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// mark draws series i's sign.
func mark(b *strings.Builder, i int, x, y float64, colour string) {
	switch i % 4 {
	case 0:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`+"\n", x, y, colour)
	case 1:
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="8" height="8" fill="%s"/>`+"\n", x-4, y-4, colour)
	case 2:
		fmt.Fprintf(b, `<path d="M%.1f %.1fl5 9h-10z" fill="%s"/>`+"\n", x, y-5, colour)
	case 3:
		fmt.Fprintf(b, `<path d="M%.1f %.1fl5 5l-5 5l-5 -5z" fill="%s"/>`+"\n", x, y-5, colour)
	}
}

func text(b *strings.Builder, x, y float64, attributes, words string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" %s>%s</text>`+"\n", x, y, attributes, html.EscapeString(words))
}

// label renders a tick: 64, 0.5, 65,536.
func label(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if v < 10000 || v >= 1e15 {
		return s
	}
	s = strconv.FormatFloat(v, 'f', -1, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
