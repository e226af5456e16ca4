package results

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Flags is the command line of a bench: flags of its own, and those of the frame.
type Flags struct {
	*flag.FlagSet
	Frame
	words []string
}

// Frame holds the flags and the page's lines that all benches have in common.
type Frame struct {
	Runs   int    // number of measurements of each thing; 0: the bench has no -runs
	Out    string // file of the page; standard output if empty
	Shared bool   // other programs ran at the same time

	command string // the command line, from the bench's name on
}

// NewFlags returns the command line of a bench, for it to add its flags and set
// defaults of the frame.
func NewFlags(name string, words ...string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet("bench "+name, flag.ContinueOnError), words: words}
	f.command = strings.Join(append([]string{name}, words...), " ")
	return f
}

// Words returns the command line as it was given.
func (f *Flags) Words() []string { return f.words }

// Parse parses the flags of a bench that takes nothing else.
func (f *Flags) Parse() error {
	if err := f.ParseLeading(); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("stray argument %q", f.Arg(0))
	}
	return nil
}

// ParseLeading parses the flags and leaves the words behind them (Args).
func (f *Flags) ParseLeading() error {
	counted := f.Runs > 0
	if counted {
		f.IntVar(&f.Runs, "runs", f.Runs, "how often each is run")
	}
	f.StringVar(&f.Out, "o", f.Out, "write to `FILE`, and pictures to plots/ beside it; standard output if empty or -")
	f.BoolVar(&f.Shared, "shared", false, "say that other programs ran at the same time")
	if err := f.FlagSet.Parse(f.words); err != nil {
		return err
	}
	if counted && f.Runs < 1 {
		return fmt.Errorf("-runs %d: want 1 or more", f.Runs)
	}
	return nil
}

// Head returns the head of a page: its title and the command that makes it, behind
// the targets of make that the command needs.
func (f Frame) Head(title string, needs ...string) string {
	head := fmt.Sprintf("# %s\n\n\tmake %s && bin/bench %s\n\n", title, strings.Join(append(needs, "bin/bench"), " "), f.command)
	if f.Shared {
		head += "**Other programs ran at the same time: ratios count, and are rough.**\n\n"
	}
	return head
}

// Write writes a page to the file of the frame.
func (f Frame) Write(page string) error { return Write(f.Out, page) }

// Conclude writes the page of a run to the file of the frame, as Conclude does.
func (f Frame) Conclude(ctx context.Context, page string, err error) error {
	return Conclude(ctx, f.Out, page, err)
}

// Beside returns the path of a file in the folder of the page.
func (f Frame) Beside(name string) string { return filepath.Join(filepath.Dir(f.Out), name) }

// Today returns the date, as pages have it.
func Today() string { return time.Now().UTC().Format(time.DateOnly) }

// Machine describes this machine, as pages have it.
func Machine() string { return fmt.Sprintf("%d cores, Linux %s", runtime.NumCPU(), Kernel()) }

// Root returns an error unless the user is root, as clusters of namespaces need.
func Root() error {
	if os.Getuid() != 0 {
		return errors.New("not root: the clusters of namespaces need it")
	}
	return nil
}

// Built returns the absolute path of bin, in which the files have to be.
func Built(files ...string) (bin string, err error) {
	if bin, err = filepath.Abs("bin"); err != nil {
		return "", err
	}
	for _, name := range files {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			return "", fmt.Errorf("bin/%s is missing: run make build native", name)
		}
	}
	return bin, nil
}
