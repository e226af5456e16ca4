package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/internal/report/page"
	"github.com/golaunch/golaunch/internal/unix"
)

const reportUsage = "report [FLAG]... FILE..."

// reportFlags are the flags of report.
type reportFlags struct {
	topoFlags // those of the network

	output      string
	collectives string
}

// collectivesWords returns the words of --collectives.
func collectivesWords() []string { return []string{"mpich", "none"} }

// reportHead stands before the flags in the help of report.
func reportHead() string {
	return `Writes one HTML page that shows what the files hold: who sends how much to whom, and
over how many switches; the links that carry most; what a job did, and when. The page
needs no network. The files (- is standard input), in any order, are told by what is in them:

  a profile       of golaunch --profile; two are compared
  a run report    of golaunch --report
  a trace         of golaunch --trace
  JSON            of golaunch netsim run and sweep, and of golaunch xrcsim

Distances are those of the network that --topology names: hops, which are switches on
the route. Without it messages stay within a node or leave it.

  golaunch report app.profile
  golaunch report app.profile job.report job.trace --topology ibnetdiscover.out
  golaunch report before.profile after.profile --topology torus:8x8x8 -o compared.html
`
}

// setupReport sets up the command that writes a page.
func setupReport() (*pflag.FlagSet, action) {
	t := &reportFlags{output: "report.html", collectives: collectivesWords()[0]}
	f := flags.New("report")
	f.SetInterspersed(true) // all words are its own
	f.VarP(flags.Text(&t.output), "output", "o", "write the page to `FILE`; - is standard output")
	t.fabricFlags(f)
	f.Var(flags.OneOf(&t.collectives, collectivesWords()), "collectives", "draw messages of collective operations as `WHO` does: "+strings.Join(collectivesWords(), ", "))
	flags.Describe(f, "output", flags.IsFile)
	flags.Describe(f, "collectives", flags.Choices(collectivesWords()...))
	return f, parsed("report", f, t.run)
}

// run reads the files and writes the page.
func (t *reportFlags) run(e env, names []string) (int, error) {
	if len(names) == 0 {
		return 0, errors.New("say which files, such as those of --profile, --report and --trace")
	}
	if err := t.stdinOnce(names); err != nil {
		return 0, err
	}
	in := &page.Inputs{Plain: t.collectives == "none"}
	for _, file := range names {
		name := file
		if file == "-" {
			name = "standard input"
		}
		if err := files.Read(e.stdio.Stderr, file, func(r io.Reader) error { return in.Read(r, name) }); err != nil {
			return 0, err
		}
	}
	net, err := t.reportNetwork(e.stdio.Stderr)
	if err != nil {
		return 0, err
	}
	p, err := page.Make(in, net)
	if err != nil {
		return 0, err
	}
	text, err := p.HTML()
	if err != nil {
		return 0, err
	}
	if t.output == "-" {
		return e.print(string(text))
	}
	if err := writePage(t.output, text); err != nil {
		return 0, err
	}
	for _, run := range p.Runs {
		for _, note := range run.Notes {
			fmt.Fprintf(e.stdio.Stderr, "golaunch: %s: %s\n", run.Title, note)
		}
	}
	fmt.Fprintf(e.stdio.Stderr, "golaunch: %s: a page of %d KB; open it in a browser\n", t.output, (len(text)+999)/1000)
	return 0, nil
}

// stdinOnce fails where several files are standard input.
func (t *reportFlags) stdinOnce(files []string) error {
	dashes := 0
	for _, file := range append([]string{t.topology, t.tables, t.mapFile}, files...) {
		if file == "-" {
			dashes++
		}
	}
	if dashes > 1 {
		return errors.New("- is standard input, which is read once; give a file")
	}
	return nil
}

// reportNetwork returns the network that the flags name, nil if they name none. Long
// work is told on w.
func (t *reportFlags) reportNetwork(w io.Writer) (*page.Network, error) {
	if t.topology == "" {
		if t.tables != "" || t.mapFile != "" {
			return nil, errors.New("tables and maps are those of a network: say which, with --topology")
		}
		return nil, nil
	}
	n, err := t.load(w)
	if err != nil {
		return nil, err
	}
	return &page.Network{From: n.from, Router: n.router, Names: n.names}, nil
}

// writePage writes a page to a file, whole or not at all. It takes the place of an
// earlier page, whose mode it has, and of no other file. A new one is readable as far
// as umask lets: a page is there to be shown.
func writePage(name string, text []byte) error {
	info, err := unix.StatOutput(name, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return fmt.Errorf("-o %w", err)
	case info.IsDir():
		return fmt.Errorf("-o %s: it is a directory", name)
	case !info.Mode().IsRegular():
		return writeAsIs(name, text)
	case info.Size() > 0 && !isPage(name):
		return fmt.Errorf("-o %s: there is such a file, which golaunch report has not written; remove it, or say another name", name)
	}
	unnamed := filepath.Join(filepath.Dir(name), ".golaunch-report-"+rand.Text())
	f, err := os.OpenFile(unnamed, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return fmt.Errorf("-o %s: %w", name, files.Reason(err))
	}
	defer os.Remove(f.Name()) // unless it was renamed
	if info != nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", name, files.Reason(err))
	}
	return nil
}

// writeAsIs writes to a pipe or a device.
func writeAsIs(name string, text []byte) error {
	f, err := unix.OpenOutput(name, 0, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("-o %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}

// isPage reports whether a file is a page that golaunch report wrote.
func isPage(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head) // a short file is looked at as it is
	return page.Is(head[:n])
}
