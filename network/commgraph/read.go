package commgraph

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/golaunch/golaunch/internal/lines"
)

// File is the content of a file.
type File struct {
	Graph *Graph
	Form  string   // of the file, such as "METIS"
	Notes []string // hints for the user, whole sentences
}

// forms are the known forms of files, by their first line that is no comment. The first
// form that knows that line reads the file.
var forms = []struct {
	name string
	is   func(line string) bool
	read func(*lines.Reader) (*Graph, []string, error)
}{
	{"matrix", isMatrix, readMatrix},
	{"list", isList, readList},
	{"METIS", isMETIS, readMETIS},
}

// peek is the number of bytes that decide on a file's form.
const peek = 1 << 16

// Read reads a graph from a file: METIS' form, a matrix of comma-separated numbers, or
// lines "i , j = bytes" such as scripts make of mpiP's reports. Errors call the file
// name, and say the line.
func Read(r io.Reader, name string) (*File, error) {
	in := bufio.NewReaderSize(r, peek)
	head, err := in.Peek(peek)
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for line := range strings.SplitSeq(string(head), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '%' || line[0] == '#' || strings.HasPrefix(line, "--") {
			continue
		}
		for _, form := range forms {
			if !form.is(line) {
				continue
			}
			g, notes, err := form.read(lines.NewLong(in, name, maxLine))
			if err != nil {
				return nil, err
			}
			if star, ok := g.Star(); ok {
				notes = append(notes, star.String())
			}
			return &File{g, form.name, notes}, nil
		}
		break
	}
	return nil, fmt.Errorf("%s: no known form of a communication graph: expected METIS' form (\"512 1344 1\" first), "+
		"a matrix of comma-separated numbers, or lines such as \"0 , 27 = 4096\"", name)
}
