package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// maxJSON bounds a report, in bytes, maxSamples the samples of a file of tables.
const (
	maxJSON    = 64 << 20
	maxSamples = 1 << 20
)

// Parse reads samples: a Report as JSON, or the tables that osu_latency, osu_bw and
// IMB's PingPong and PingPing print, one after the other. Other tables of IMB, and all
// other output of the programs, are passed over. A line
//
//	# hosts: n001 n002
//
// names the hosts of the tables behind it. Errors call the file name.
func Parse(r io.Reader, name string) ([]Sample, error) {
	in := bufio.NewReader(r)
	head, _ := in.Peek(512) // its readers report errors
	if bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		return parseJSON(in, name)
	}
	p := &parser{in: lines.New(in, name)}
	for p.in.Next() {
		if err := p.line(p.in.Text()); err != nil {
			return nil, err
		}
	}
	if err := p.in.Err(); err != nil {
		return nil, err
	}
	if err := p.end(); err != nil {
		return nil, err
	}
	if len(p.samples) == 0 {
		return nil, fmt.Errorf("%s: no table: expected what osu_latency, osu_bw or IMB's PingPong prints, or golaunch topo measure as JSON", name)
	}
	return p.samples, nil
}

func parseJSON(r io.Reader, name string) ([]Sample, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxJSON {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxJSON)
	}
	var report Report
	if err := json.Unmarshal(text, &report); err != nil {
		return nil, fmt.Errorf("%s: expected what golaunch topo measure prints as JSON: %w", name, err)
	}
	for i, s := range report.Samples {
		if err := s.Check(); err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", name, i, err)
		}
	}
	if len(report.Samples) == 0 {
		return nil, fmt.Errorf("%s: no samples: expected what golaunch topo measure prints as JSON", name)
	}
	return report.Samples, nil
}

// osuTest returns the test of a head such as "# OSU MPI-CUDA Latency Test v7.2"; empty
// for any other line.
func osuTest(words []string) string {
	if len(words) < 5 || words[2] != "MPI" && !strings.HasPrefix(words[2], "MPI-") || words[4] != "Test" {
		return ""
	}
	return words[3]
}

// parser reads tables.
type parser struct {
	in       *lines.Reader
	from, to string
	samples  []Sample

	// Of the table:
	test   Test // empty outside of one that counts
	rate   bool // its second column is MB/s
	column int  // of the time or rate; 0 if the row of names is still to come
	rows   int
}

func (p *parser) line(text string) error {
	text = strings.TrimSpace(text)
	words := strings.Fields(text)
	switch {
	case strings.HasPrefix(text, "# OSU "):
		return p.osu(text)
	case strings.HasPrefix(text, "# Benchmarking ") && len(words) > 2:
		err := p.end()
		switch words[2] {
		case "PingPong":
			p.test = PingPong
		case "PingPing":
			p.test = PingPing
		}
		return err
	case strings.HasPrefix(text, "# hosts:"):
		if len(words) != 4 {
			return p.in.Expected(text, "two hosts, as in # hosts: n001 n002")
		}
		err := p.end()
		p.from, p.to = words[2], words[3]
		return err
	case p.test == "":
		return nil
	case strings.HasPrefix(text, "#bytes"):
		if p.column = slices.Index(words, "t[usec]"); p.column < 0 {
			return p.in.Expected(text, "a column t[usec]")
		}
		return nil
	case strings.HasPrefix(text, "#"):
		return nil
	case text == "" && p.rows == 0:
		return nil
	case text == "" || text[0] < '0' || text[0] > '9':
		return p.end()
	}
	return p.row(text, words)
}

// osu begins a table of the OSU benchmarks.
func (p *parser) osu(text string) error {
	if err := p.end(); err != nil {
		return err
	}
	switch osuTest(strings.Fields(text)) {
	case "Latency":
		p.test = PingPong
	case "Bandwidth":
		p.test, p.rate = Stream, true
	default:
		return p.in.Expected(text, "output of osu_latency or osu_bw")
	}
	p.column = 1
	return nil
}

// row is a row of a table.
func (p *parser) row(text string, words []string) error {
	if p.column == 0 {
		return p.in.Expected(text, "the names of the columns first, #bytes ... t[usec]")
	}
	if len(words) <= p.column {
		return p.in.Expected(text, fmt.Sprintf("%d columns or more", p.column+1))
	}
	size, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return p.in.Expected(words[0], "a number of bytes")
	}
	value, err := strconv.ParseFloat(words[p.column], 64)
	if err != nil {
		return p.in.Expected(words[p.column], "a number")
	}
	s := Sample{From: p.from, To: p.to, Test: p.test, Size: size, Time: value}
	if p.rate {
		if size == 0 || !(value > 0) {
			return p.in.Expected(text, "a size and a bandwidth above 0")
		}
		s.Time = float64(size) / value
	}
	if err := s.Check(); err != nil {
		return p.in.Errorf("%w", err)
	}
	if len(p.samples) == maxSamples {
		return p.in.Errorf("more than %d rows", maxSamples)
	}
	p.rows++
	p.samples = append(p.samples, s)
	return nil
}

// end ends a table.
func (p *parser) end() error {
	if p.test != "" && p.rows == 0 {
		return p.in.Errorf("the table of %s before it has no rows", p.test)
	}
	p.test, p.rate, p.column, p.rows = "", false, 0, 0
	return nil
}
