package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/xrcsim"
)

// Limits of files.
const (
	maxFile     = 1 << 30 // bytes
	maxProfiles = 2
	maxReports  = 2
	maxCosts    = 32
	maxEvents   = 1 << 22 // of a trace
)

// Inputs holds the content of a page's files.
type Inputs struct {
	// Plain leaves collective operations out of the ranks' messages. It is set before
	// files are read.
	Plain bool

	sources []Source
	worlds  []*world // of all profiles
	reports []named[*report.Report]
	traces  []named[*report.TraceJSON]
	costs   []cost
	counts  map[string]int // files by kind
}

// fileKind is a kind of file: Read tells it by members of the document.
type fileKind struct {
	name string
	most int
	is   func(h *head) bool
	read func(in *Inputs, file string, data []byte) (about string, err error)
}

// kinds returns the table of files that a page shows.
func kinds() []fileKind {
	return []fileKind{
		{name: "profile", most: maxProfiles, is: func(h *head) bool { return h.format == profile.Format }, read: (*Inputs).readProfile},
		{name: "run report", most: maxReports, is: func(h *head) bool { return h.has("schema", "job", "phases") }, read: (*Inputs).readReport},
		{name: "trace", most: maxReports, is: func(h *head) bool { return h.has("traceEvents", "otherData") }, read: (*Inputs).readTrace},
		{name: "costs of golaunch netsim", most: maxCosts, is: func(h *head) bool { return h.has("algorithm", "total") }, read: (*Inputs).readCosts},
		{name: "connections of golaunch xrcsim", most: maxCosts, is: func(h *head) bool { return h.format == xrcsim.Format }, read: (*Inputs).readConnections},
	}
}

// Read reads a file and tells its kind by its content. The page and errors call it
// name. The error names the place; for a file of no known kind it lists the known ones.
func (in *Inputs) Read(r io.Reader, name string) error {
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxFile {
		return fmt.Errorf("%s: more than %d MiB", name, maxFile>>20)
	}
	h, err := readHead(data)
	if err != nil {
		return locate(name, data, err)
	}
	for _, k := range kinds() {
		if !k.is(h) {
			continue
		}
		if in.counts == nil {
			in.counts = map[string]int{}
		}
		if in.counts[k.name]++; in.counts[k.name] > k.most {
			return fmt.Errorf("%s: a %s is one too many; a page has at most %d", name, k.name, k.most)
		}
		about, err := k.read(in, shown(name), data)
		if err != nil {
			return locate(name, data, err)
		}
		in.sources = append(in.sources, Source{shown(name), k.name, about})
		return nil
	}
	return fmt.Errorf("%s: %s", name, h.unknown())
}

// title is that of the page.
func (in *Inputs) title() string {
	var files []string
	for _, s := range in.sources {
		files = append(files, s.File)
	}
	if len(files) > 3 {
		files = append(files[:2], fmt.Sprintf("%d more", len(files)-2))
	}
	return and(files)
}

// head tells the kind of a document; of a list its first element does.
type head struct {
	format  string
	members []string
}

func (h *head) has(members ...string) bool {
	for _, m := range members {
		if !slices.Contains(h.members, m) {
			return false
		}
	}
	return true
}

// unknown returns the error of a document of no known kind.
func (h *head) unknown() string {
	expected := "golaunch report shows profiles (--profile), run reports (--report), traces (--trace), and what golaunch netsim and golaunch xrcsim print with --format json"
	switch {
	case h.format != "":
		return fmt.Sprintf("its format is %q; %s", shown(h.format), expected)
	case h.has("algorithm", "stages", "version"):
		return "it is a schedule of golaunch netsim export, which has no costs; give what netsim run or sweep print with --format json"
	case len(h.members) == 0:
		return "an empty document; " + expected
	}
	members := h.members[:min(4, len(h.members))]
	for i := range members {
		members[i] = fmt.Sprintf("%q", shown(members[i]))
	}
	return fmt.Sprintf("a document with %s, of no known kind; %s", and(members), expected)
}

// readHead finds the members of the document, or of the first element of a list.
func readHead(data []byte) (*head, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	h := &head{}
	first, err := d.Token()
	if err == nil && first == json.Delim('[') {
		first, err = d.Token()
	}
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if first != json.Delim('{') {
		return h, nil
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, err
		}
		member, _ := token.(string) // of an object
		h.members = append(h.members, member)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		if member == "format" {
			_ = json.Unmarshal(value, &h.format) // a format that is no text is none
		}
		if len(h.members) > 64 {
			break
		}
	}
	return h, nil
}

// inFile is an error that names the file already.
type inFile struct{ error }

// locate adds the file, and the line, to an error.
func locate(name string, data []byte, err error) error {
	if named, ok := errors.AsType[inFile](err); ok {
		return named.error
	}
	offset := int64(-1)
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = e.Offset
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		offset = e.Offset
		err = fmt.Errorf("%s is a %s, which is not expected there", strings.TrimPrefix(e.Field, "."), e.Value)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		offset, err = int64(len(data)), errors.New("the file ends in the middle")
	}
	if offset < 0 || offset > int64(len(data)) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%d: %w", name, 1+bytes.Count(data[:offset], []byte("\n")), err)
}

// readReport reads the JSON of --report.
func (in *Inputs) readReport(file string, data []byte) (string, error) {
	var r report.Report
	if err := json.Unmarshal(data, &r); err != nil {
		return "", err
	}
	if r.Schema != report.SchemaVersion {
		return "", fmt.Errorf("schema %d of a run report; this golaunch knows %d", r.Schema, report.SchemaVersion)
	}
	in.reports = append(in.reports, named[*report.Report]{file, &r})
	return fmt.Sprintf("%s on %s, %s", plural(int64(r.Job.Ranks), "rank"), plural(int64(r.Job.Nodes), "node"), r.Begin.UTC().Format("2006-01-02 15:04:05 UTC")), nil
}

// readTrace reads the file of --trace.
func (in *Inputs) readTrace(file string, data []byte) (string, error) {
	var t report.TraceJSON
	if err := json.Unmarshal(data, &t); err != nil {
		return "", err
	}
	if t.Other.Schema != report.TraceVersion {
		return "", fmt.Errorf("otherData.schema is %d; this golaunch knows traces of its own with schema %d", t.Other.Schema, report.TraceVersion)
	}
	if len(t.Events) > maxEvents {
		return "", fmt.Errorf("more than %d events", maxEvents)
	}
	const most = 1e15 // microseconds: thirty years
	for i, e := range t.Events {
		if e.Node < 0 || e.Row < 0 || !(e.At > -most && e.At < most && e.For >= 0 && e.For < most) {
			return "", fmt.Errorf("event %d of traceEvents, %q: a negative number, or a time that cannot be", i, shown(e.Name))
		}
	}
	in.traces = append(in.traces, named[*report.TraceJSON]{file, &t})
	return fmt.Sprintf("%s, %s", plural(int64(len(t.Events)), "event"), t.Other.Begin.UTC().Format("2006-01-02 15:04:05 UTC")), nil
}
