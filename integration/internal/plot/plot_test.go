package plot

import (
	"encoding/xml"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Every picture is well-formed, says what is on its axes and in its legend, and
// has a mark for every point.
func TestSVG(t *testing.T) {
	c := Chart{
		Title: "one put & two gets", X: Axis{Label: "nodes", Log: true}, Y: Axis{Label: "time (ms)"},
		Series: []Series{
			{Name: "hcs", Points: []Point{{8, 1}, {16, 2}, {64, 31}}},
			{Name: "a < b", Dashed: true, Points: []Point{{8, 1}, {64, 2}}},
		},
	}
	svg, err := c.SVG()
	require.NoError(t, err)
	var words []string
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			words = append(words, string(text))
		}
	}
	for _, want := range []string{"one put & two gets", "nodes", "time (ms)", "hcs", "a < b", "8", "16", "64", "0", "35"} {
		require.Contains(t, words, want)
	}
	require.Equal(t, 3+1, strings.Count(string(svg), "<circle"))
	require.Equal(t, 2, strings.Count(string(svg), "stroke-dasharray"), "the line and its legend")
}

// No two lines of a chart share a colour.
func TestColours(t *testing.T) {
	line := regexp.MustCompile(`<path d="[^"]*" fill="none" stroke="([^"]*)" stroke-width="2"/>`)
	var c Chart
	for n := range 10 { // as many as measurements have drawn
		c.Series = append(c.Series, Series{Points: []Point{{1, 1}, {2, float64(n)}}})
	}
	svg, err := c.SVG()
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, m := range line.FindAllStringSubmatch(string(svg), -1) {
		require.False(t, seen[m[1]], m[1])
		seen[m[1]] = true
	}
	require.Len(t, seen, len(c.Series))
}

func TestWhatCannotBeDrawn(t *testing.T) {
	for want, c := range map[string]Chart{
		"no points":      {},
		"99 lines":       {Series: make([]Series, 99)},
		"positive":       {Y: Axis{Log: true}, Series: []Series{{Points: []Point{{1, 0}}}}},
		"NaN cannot":     {Series: []Series{{Points: []Point{{1, math.NaN()}}}}},
		"+Inf cannot be": {Series: []Series{{Points: []Point{{math.Inf(1), 1}}}}},
	} {
		_, err := c.SVG()
		require.ErrorContains(t, err, want)
	}
}

// Whatever the values are, all lie between the ends of the axis, and the ticks
// are some and not many.
func TestScales(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Axis{Log: rapid.Bool().Draw(t, "log")}
		values := rapid.SliceOfN(rapid.Float64Range(1e-6, 1e9), 1, 30).Draw(t, "values")
		s, err := newScale(a, values, 0, 100, rapid.Bool().Draw(t, "each"))
		require.NoError(t, err)
		for _, v := range values {
			require.GreaterOrEqual(t, s.at(v), -1e-6)
			require.LessOrEqual(t, s.at(v), 100+1e-6)
		}
		require.NotEmpty(t, s.ticks)
		require.LessOrEqual(t, len(s.ticks), 18)
		require.True(t, slices.IsSorted(s.ticks))
	})
}

func TestLabels(t *testing.T) {
	for v, want := range map[float64]string{64: "64", 0.5: "0.5", 65536: "65,536", 1234567: "1,234,567", 9999: "9999", 0: "0", 0.0001: "0.0001"} {
		require.Equal(t, want, label(v))
	}
}
