package dialects

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
)

// A Line is a command line in golaunch's own words.
type Line struct {
	// Parts are the apps: golaunch's flags, and behind them the program and its own.
	Parts [][]string
	// Called is the name by which the line begins, or golaunch was called.
	Called string
	// Asked are the tools with a command of that name, Tools those of one family that
	// the line is of; nil where it is golaunch's own, or not known.
	Asked, Tools []*Tool
	// Notes are the notes of -v on words of other launchers.
	Notes []string
	// MultiProg says that the program is srun's file of programs.
	MultiProg bool
	// Timed has the time in front of each line of output.
	Timed bool
	// ErrOwn says that srun's standard error goes where it does without a file.
	ErrOwn bool
	// RankMap is the rank file that Hydra's -rankmap means, as which --map-by names it.
	RankMap string
	// Pack says that srun's -m is to fill one host after the other.
	Pack bool
	// Nodes is the word of the line by which --nodes was given, "" where it is golaunch's own.
	Nodes string
	// Relative is the place of the first host in the allocation.
	Relative int
}

// IsOf tells whether the line is one of a tool's.
func (l *Line) IsOf(t *Tool) bool { return slices.Contains(l.Tools, t) }

// BeginsWith tells whether the line is one of a tool's and begins with its name.
func (l *Line) BeginsWith(t *Tool) bool { return len(l.Asked) > 0 && l.IsOf(t) }

// LikeOpenMPI tells whether the line begins with a command of Open MPI's, and is no other
// launcher's: mpiexec is MPICH's as much, where nothing tells them apart.
func (l *Line) LikeOpenMPI() bool {
	return l.BeginsWith(&OpenMPI) || l.Called == "mpirun" && l.Tools == nil
}

// pasted is a command line, in which words of other launchers may be, while it is read.
type pasted struct {
	Line
	machine.Machine
	Flags   *pflag.FlagSet // golaunch's own
	answers []string

	app        int    // that is read, by its number on the line
	iface      string // of the first, by Open MPI's parameter
	appFile    string // a file of apps
	cpus       int    // of each rank, as srun's line says; 0 where it does not
	het        []int  // the components of a heterogeneous job whose hosts the app has
	elements   int    // of processing, of each rank, as Open MPI's line says; 0 where it does not
	stage      bool   // the programs are brought to the hosts
	python     pythonWish
	redirects  bool // torchrun's output goes to files
	standalone bool // torchrun's ranks run on this machine alone
	counted    deviceCount
}

// note keeps what -v tells of the flag that is read.
func (p *pasted) note(format string, args ...any) {
	p.Notes = append(p.Notes, fmt.Sprintf(format, args...))
}

// Answers is an error of several lines, each an answer.
type Answers []string

// Error has a line for each answer.
func (e Answers) Error() string { return strings.Join(e, "\n") }

// Read cuts a command line into apps, and rewrites the words of other launchers before
// their programs into flags of golaunch's, which own has. All that have no equal are
// answered in one error. The line may begin with the name of its launcher, as in srun -N4
// ./app, and golaunch be called by that name.
func Read(args []string, own *pflag.FlagSet, m machine.Machine) (Line, error) {
	p := &pasted{Machine: m, Flags: own}
	p.Line.Called = m.Called
	if len(args) > 0 && IsLauncher(args[0]) {
		p.Line.Called, args = args[0], args[1:]
	}
	p.Asked = calledAs(p.Line.Called)
	parts := splitApps(args)
	p.decide(parts)
	parts, err := p.parts(parts)
	if err == nil && p.appFile != "" {
		parts, err = p.fromFile(parts)
	}
	p.Parts = parts
	return p.Line, p.failure(err)
}

// splitApps cuts the arguments at each lone colon.
func splitApps(args []string) [][]string {
	parts := [][]string{nil}
	for _, a := range args {
		if a == ":" {
			parts = append(parts, nil)
			continue
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], a)
	}
	return parts
}

// AppError names the app that err is about, where there are several.
func AppError(i, apps int, err error) error {
	if apps == 1 {
		return err
	}
	return fmt.Errorf("app %d: %w", i, err)
}

// parts rewrites apps, and says with err why the line can't be read.
func (p *pasted) parts(raw [][]string) ([][]string, error) {
	var parts [][]string
	var programs []string
	for i, part := range raw {
		said := len(p.answers)
		p.app = i
		made, rest, err := p.read(part)
		if i > 0 {
			for j := said; j < len(p.answers); j++ {
				p.answers[j] = fmt.Sprintf("app %d: %s", i, p.answers[j])
			}
		}
		if err != nil {
			if i > 0 {
				err = AppError(i, len(raw), err)
			}
			return nil, err
		}
		made, rest = p.beforeProgram(made, rest)
		if program := slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" }); len(program) > 0 {
			programs = append(programs, program[0])
		}
		if p.IsOf(&Torchrun) {
			rest = p.withPython(rest)
			p.checkTorchrun(made)
		}
		made = p.widen(made)
		for _, own := range p.hetParts(made, i, len(raw)) {
			parts = append(parts, append(own, rest...))
		}
	}
	if p.stage && !p.MultiProg {
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
		p.answers[i] = flags.Printable(a)
	}
	return Answers(p.answers)
}

// fromFile puts the apps of a file in the place of the line's.
func (p *pasted) fromFile(parts [][]string) ([][]string, error) {
	made, program, err := p.read(parts[0])
	switch {
	case err != nil:
		return nil, err
	case len(parts) > 1 || len(program) > 0:
		return nil, fmt.Errorf("%s: %w", p.appFile, errTwice)
	}
	raw, err := openFile(p.Machine, p.appFile, readApps)
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
	apps[0] = append(made, apps[0]...)
	return apps, nil
}

// beforeProgram takes what mpirun_rsh has between the flags and the program: hosts, one
// for each rank, where the line is its, and variables, which no program is called as.
func (p *pasted) beforeProgram(made, rest []string) (newFlags, program []string) {
	if len(p.Asked) == 1 && p.Asked[0] == &MPIRunRSH && valueOf(made, "hostfile") == "" {
		n, _ := strconv.Atoi(valueOf(made, "np")) // no number: refused with the flags
		few := slices.IndexFunc(rest, p.HasProgram)
		switch {
		case few > 0 && n == 0 && valueOf(made, "hosts") == "":
			p.answers = append(p.answers, "mpirun_rsh: the number of ranks is missing: -np N")
		case few < 0 && len(rest) > 0 && len(rest) <= n && !strings.Contains(strings.Join(rest, ""), "/"):
			p.answers = append(p.answers, fmt.Sprintf("mpirun_rsh: the program is missing after %s", strings.Join(rest, " ")))
		case few > 0 && few < n && !strings.Contains(rest[0], "="):
			p.answers = append(p.answers, fmt.Sprintf("mpirun_rsh: %d ranks want as many hosts before %s, and %s are named; name each once for each of its ranks, or give -hostfile",
				n, rest[few], strings.Join(rest[:few], " ")))
			rest = rest[few:]
		case n > 0 && len(rest) > n && few != 0 && !strings.Contains(rest[0], "="):
			made = append(made, "--hosts", strings.Join(rest[:n], ","))
			rest = rest[n:]
		}
	}
	for len(rest) > 1 && isAssignment(rest[0]) && !p.HasProgram(rest[0]) {
		made = append(made, "--env", rest[0])
		rest = rest[1:]
	}
	return made, rest
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
func valueOf(words []string, name string) string {
	i := slices.Index(words, "--"+name)
	if i < 0 || i+1 == len(words) {
		return ""
	}
	return words[i+1]
}
