package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// pasted is a command line in which words of other launchers may be.
type pasted struct {
	c       *commandLine
	asked   []*tool // those with a command of the name by which the line begins
	line    []*tool // those of one family that the line is of; nil where it is not known
	answers []string
	notes   []string // what -v tells

	app        int    // that is read, by its number on the line
	iface      string // of the first, by Open MPI's parameter
	multiProg  bool   // the program is srun's file of programs
	appFile    string // a file of apps
	cpus       int    // of each rank, as srun's line says; 0 where it does not
	het        []int  // the components of a heterogeneous job whose hosts the app has
	elements   int    // of processing, of each rank, as Open MPI's line says; 0 where it does not
	stage      bool   // the programs are brought to the hosts
	python     pythonWish
	redirects  bool   // torchrun's output goes to files
	timed      bool   // lines of output have the time in front
	standalone bool   // torchrun's ranks run on this machine alone
	counted    string // what its --nproc-per-node counts on this machine, and the number
}

// note keeps what -v tells of the flag that is read.
func (p *pasted) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

// answersError is several answers, each a line.
type answersError []string

func (e answersError) Error() string { return strings.Join(e, "\n") }

// readPasted cuts a command line into apps, and rewrites the words of other launchers
// before their programs into golaunch's flags. All that have no equal are answered in
// one error. The line may begin with the name of its launcher, as in srun -N4 ./app,
// and golaunch be called by that name.
func (c *commandLine) readPasted(args []string) (*pasted, [][]string, error) {
	c.calledBy = filepath.Base(os.Args[0])
	if len(args) > 0 && calledAs(args[0]) != nil {
		c.calledBy, args = args[0], args[1:]
	}
	p := &pasted{c: c, asked: calledAs(c.calledBy)}
	parts := splitApps(args)
	p.decide(parts)
	parts, err := p.parts(parts)
	if err == nil && p.appFile != "" {
		parts, err = p.fromFile(parts)
	}
	return p, parts, p.failure(err)
}

// parts rewrites apps, and says with err why the line can't be read.
func (p *pasted) parts(raw [][]string) ([][]string, error) {
	var parts [][]string
	var programs []string
	for i, part := range raw {
		said := len(p.answers)
		p.app = i
		flags, rest, err := p.read(part)
		if i > 0 {
			for j := said; j < len(p.answers); j++ {
				p.answers[j] = fmt.Sprintf("app %d: %s", i, p.answers[j])
			}
		}
		if err != nil {
			if i > 0 {
				err = appError(raw, i, err)
			}
			return nil, err
		}
		flags, rest = p.beforeProgram(flags, rest)
		if program := slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" }); len(program) > 0 {
			programs = append(programs, program[0])
		}
		if slices.Contains(p.line, &torchrunTool) {
			rest = p.withPython(rest)
			p.checkTorchrun(flags)
		}
		flags = p.widen(flags)
		for _, own := range p.hetParts(flags, i, len(raw)) {
			parts = append(parts, append(own, rest...))
		}
	}
	if p.stage && !p.multiProg {
		for _, program := range programs {
			parts[0] = append([]string{"--stage", program}, parts[0]...)
		}
	}
	return parts, nil
}

// failure is the error for the answers and for err, nil where there is neither.
func (p *pasted) failure(err error) error {
	if len(p.answers) == 0 {
		return err
	}
	if err != nil {
		p.answers = append(p.answers, err.Error())
	}
	if len(p.answers) == 1 {
		return errors.New(p.answers[0])
	}
	for i, a := range p.answers {
		p.answers[i] = printable(a)
	}
	return answersError(p.answers)
}

// fromFile puts the apps of a file in the place of the line's.
func (p *pasted) fromFile(parts [][]string) ([][]string, error) {
	flags, program, err := p.read(parts[0])
	switch {
	case err != nil:
		return nil, err
	case len(parts) > 1 || len(program) > 0:
		return nil, fmt.Errorf("%s: %w", p.appFile, errTwice)
	}
	raw, err := openApps(p.appFile, readApps)
	if err != nil {
		return nil, err
	}
	name := p.appFile
	p.appFile = ""
	apps, err := p.parts(raw)
	if err == nil && p.appFile != "" {
		err = errors.New("it names another file of apps")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	apps[0] = append(flags, apps[0]...)
	return apps, nil
}

// beforeProgram takes what mpirun_rsh has between the flags and the program: hosts, one
// for each rank, where the line is its, and variables, which no program is called as.
func (p *pasted) beforeProgram(flags, rest []string) (newFlags, program []string) {
	if len(p.asked) == 1 && p.asked[0] == &rshTool && !slices.Contains(flags, "--hostfile") {
		n := 0
		if i := slices.Index(flags, "--np"); i >= 0 && i+1 < len(flags) {
			n, _ = strconv.Atoi(flags[i+1]) // what is no number is refused with the flags
		}
		few := slices.IndexFunc(rest, isProgram)
		switch {
		case few > 0 && n == 0 && !slices.Contains(flags, "--hosts"):
			p.answers = append(p.answers, "mpirun_rsh: the number of ranks is missing: -np N")
		case few < 0 && len(rest) > 0 && len(rest) <= n && !strings.Contains(strings.Join(rest, ""), "/"):
			p.answers = append(p.answers, fmt.Sprintf("mpirun_rsh: the program is missing after %s", strings.Join(rest, " ")))
		case few > 0 && few < n && !strings.Contains(rest[0], "="):
			p.answers = append(p.answers, fmt.Sprintf("mpirun_rsh: %d ranks want as many hosts before %s, and %s are named; name each once for each of its ranks, or give -hostfile",
				n, rest[few], strings.Join(rest[:few], " ")))
			rest = rest[few:]
		case n > 0 && len(rest) > n && few != 0 && !strings.Contains(rest[0], "="):
			flags = append(flags, "--hosts", strings.Join(rest[:n], ","))
			rest = rest[n:]
		}
	}
	for len(rest) > 1 && isAssignment(rest[0]) && !isProgram(rest[0]) {
		flags = append(flags, "--env", rest[0])
		rest = rest[1:]
	}
	return flags, rest
}

// isAssignment tells whether a word sets a variable.
func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

// valueOf is the value of one of golaunch's flags in words that were read, "" where they
// do not have it.
func (p *pasted) valueOf(words []string, name string) string {
	flag := p.c.flags.Lookup(name)
	for i, word := range words {
		if value, ok := strings.CutPrefix(word, "--"+name+"="); ok {
			return value
		}
		value, short := strings.CutPrefix(word, "-"+flag.Shorthand)
		switch short = short && flag.Shorthand != ""; {
		case (word == "--"+name || short && value == "") && i+1 < len(words):
			return words[i+1]
		case short && word[1] != '-':
			return value
		}
	}
	return ""
}
