package page

// Page is all that a page shows, in the words of its script (assets/main.js). Texts are as the files have them: none of
// it is HTML.
type Page struct {
	Title    string      `json:"title"`
	Sources  []Source    `json:"sources"`
	Classes  []Class     `json:"classes"` // of all runs, the nearest first
	Runs     []Run       `json:"runs"`
	Levels   *Levels     `json:"levels"`
	Links    []Links     `json:"links"` // of the runs that have a network
	Startups []Startup   `json:"startups"`
	Times    []Timeline  `json:"times"`
	Charts   []LineChart `json:"charts"`

	blob []byte // content of the file that Part names
}

// Source is a file of the page.
type Source struct {
	File  string `json:"file"`
	Kind  string `json:"kind"`
	About string `json:"about"`
}

// Class is a distance that messages go: a color and a pattern of the page.
type Class struct {
	ID    int    `json:"id"`  // in the cells of runs
	Key   string `json:"key"` // of its color in the style sheet
	Label string `json:"label"`
}

// Table is the text alternative of a chart, or a table of its own.
type Table struct {
	Caption string     `json:"caption"`
	Columns []Column   `json:"columns"`
	Rows    [][]string `json:"rows"` // the first cell is the head of its row
}

// Column is one of a Table.
type Column struct {
	Name   string `json:"name"`
	Number bool   `json:"number"` // aligned right
}

// columns returns those of a table whose first columns, so many, are words.
func columns(words int, names ...string) []Column {
	all := make([]Column, len(names))
	for i, name := range names {
		all[i] = Column{name, i >= words}
	}
	return all
}

// Part is a piece of the page's binary data.
type Part struct {
	At   int `json:"at"`
	Size int `json:"size"`
}

// keep adds a piece of binary data.
func (p *Page) keep(data []byte) Part {
	part := Part{len(p.blob), len(data)}
	p.blob = append(p.blob, data...)
	return part
}

// Make makes the page of the files read. Net is the network that the hosts of profiles
// are looked for in, nil where none is known. The error is that of a network that gives
// no route between two hosts.
func Make(in *Inputs, net *Network) (*Page, error) {
	p := &Page{
		Title: in.title(), Sources: in.sources, Classes: []Class{}, Runs: []Run{}, Links: []Links{},
		Startups: []Startup{}, Times: []Timeline{}, Charts: []LineChart{},
	}
	if err := p.traffic(in.worlds, net); err != nil {
		return nil, err
	}
	for _, r := range in.reports {
		p.Startups = append(p.Startups, startup(r.file, r.of))
	}
	for _, t := range in.traces {
		p.Times = append(p.Times, p.timeline(t.file, t.of))
	}
	p.Charts = append(p.Charts, costCharts(in.costs)...)
	return p, nil
}

// named is the content of a file, with its name.
type named[T any] struct {
	file string
	of   T
}
