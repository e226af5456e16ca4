// Package dialects has what golaunch understands of the command lines of other launchers: a
// table for each, made from its manual, and what reads a line by them and writes it in
// golaunch's own words.
package dialects

import (
	"slices"
	"strings"
)

// A Tool is another launcher whose command lines golaunch understands, by a table of
// its flags that is made from its manual.
type Tool struct {
	name    string
	family  string   // tools of one family mean the same by the same words
	calls   []string // the names of its command
	manual  string   // the versions whose manuals the table is complete for
	dash    string   // before its long words
	letters bool     // its letters may be together, with the value of the last: -ul, -c8
	last    bool     // the last counts of a flag that is given twice
	rows    []row
	base    *Tool // which it has more flags than, if there is one
}

// A row is a flag of a tool, with what golaunch makes of it.
type row struct {
	names  string // without dashes, with blanks between
	values int    // how many arguments follow, or optional, or pair
	// to returns the flags that mean the same, none where golaunch does so anyway; or
	// else what to do instead, which answers the user.
	to func(p *pasted, v []string) (flags []string, answer string)
	// fits, if there is one, says whether the value of the word, and the arguments
	// after it, are what the tool has there. Where not, another tool is meant, or golaunch.
	fits func(w word, next []string) bool
	text string // what becomes of it, for people
	verb string // what golaunch does: becomes, answers or passes
	// over goes before golaunch's own flag of that name where the line is the tool's;
	// also goes before it everywhere: it rewrites the tool's values, and leaves
	// golaunch's alone.
	over, also bool
	partly     bool // some of its values are passed over, others answered
	// alone says that what fits is nobody else's: it shows whose line it is, though
	// golaunch has a flag of that name.
	alone bool
}

// How many arguments follow, where that is no number.
const (
	optional = -1 // one, which is attached: --flag=value
	pair     = -2 // NAME VALUE or NAME=VALUE
)

// What golaunch does with a flag.
const (
	becomes = "becomes"
	answers = "answered"
	passes  = "passed over"
)

// as is a flag that golaunch calls otherwise, with the same value.
func as(names, flag string) row {
	return row{names: names, values: 1, verb: becomes, text: "`" + flag + "`", to: func(_ *pasted, v []string) ([]string, string) {
		return []string{flag, v[0]}, ""
	}}
}

// same is a flag that golaunch calls so as well, with so many values; the first name
// that is golaunch's counts.
func same(names, flag string, values int) row {
	return row{names: names, values: values, verb: becomes, text: "`" + flag + "`", to: func(_ *pasted, v []string) ([]string, string) {
		return append([]string{flag}, v...), ""
	}}
}

// means is a flag without a value that stands for these.
func means(names string, flags ...string) row {
	return row{names: names, verb: becomes, text: "`" + strings.Join(flags, " ") + "`", to: func(*pasted, []string) ([]string, string) {
		return flags, ""
	}}
}

// turns is a flag whose values are rewritten.
func turns(names string, values int, text string, to func(p *pasted, v []string) ([]string, string)) row {
	return row{names: names, values: values, verb: becomes, text: text, to: to}
}

// value is a flag whose one value is rewritten by what knows nothing of the line.
func value(names, text string, to func(v []string) ([]string, string)) row {
	return turns(names, 1, text, func(_ *pasted, v []string) ([]string, string) { return to(v) })
}

// answer is a flag that golaunch has no equal of: the text says what to do.
func answer(names string, values int, text string) row {
	return row{names: names, values: values, verb: answers, text: text, to: func(*pasted, []string) ([]string, string) {
		return nil, text
	}}
}

// pass is a flag without which golaunch does what it asks for, or that can have no
// effect; the text says why.
func pass(names string, values int, text string) row {
	return row{names: names, values: values, verb: passes, text: text, to: func(p *pasted, _ []string) ([]string, string) {
		p.note("%s", text)
		return nil, ""
	}}
}

// passFor is pass for a flag whose value may ask for what golaunch has no equal of: fits
// tells whether it does not, of no value too, and otherwise says what to do.
func passFor(names string, values int, text, otherwise string, fits func(v []string) bool) row {
	return row{names: names, values: values, verb: passes, partly: true, text: text + "; else answered: " + otherwise, to: func(p *pasted, v []string) ([]string, string) {
		if !fits(v) {
			return nil, otherwise
		}
		p.note("%s", text)
		return nil, ""
	}}
}

// first is r, with over.
func (r row) first() row {
	r.over = true
	return r
}

// onlyHere is r, which goes before golaunch's own flag for values that nobody else has.
func (r row) onlyHere(fits func(w word, next []string) bool) row {
	r.also, r.alone, r.fits = true, true, fits
	return r
}

// asWell is r, with also.
func (r row) asWell() row {
	r.also = true
	return r
}

// where is r with a condition on its values.
func (r row) where(fits func(w word, next []string) bool) row {
	r.fits = fits
	return r
}

// tools are all, in the order in which they are asked for a word where a line does
// not tell whose it is.
var tools = []*Tool{&OpenMPI, &Hydra, &Intel, &MPIRunRSH, &Srun, &Torchrun}

// row is the row of a name, nil if the tool has none.
func (t *Tool) row(name string) *row {
	for i := range t.rows {
		for n := range strings.FieldsSeq(t.rows[i].names) {
			if n == name {
				return &t.rows[i]
			}
		}
	}
	if t.base != nil {
		return t.base.row(name)
	}
	return nil
}

// begunBy is the one long word of the tool that begins so, as its getopt takes it, "" if
// there is none, or more than one.
func (t *Tool) begunBy(name string) (whole string) {
	for i := range t.rows {
		for n := range strings.FieldsSeq(t.rows[i].names) {
			switch {
			case len(name) < 3 || !strings.HasPrefix(n, name):
			case whole != "" && !strings.HasPrefix(n, whole):
				return ""
			default:
				whole = n
			}
		}
	}
	return whole
}

// undecided are the tools whose meaning a word has where a line does not tell whose it
// is, and it is not the first tool's.
var undecided = map[string]*Tool{
	"s": &Intel, "t": &Srun, "m": &Srun, "d": &Srun, "r": &Srun, "export": &Srun,
}

// calledAs are the tools with a command of that name.
func calledAs(name string) []*Tool {
	var found []*Tool
	for _, t := range tools {
		if slices.Contains(t.calls, name) {
			found = append(found, t)
		}
	}
	return found
}

// oneFamily tells whether the tools mean the same by the same words.
func oneFamily(found []*Tool) bool {
	return len(found) > 0 && !slices.ContainsFunc(found, func(t *Tool) bool { return t.family != found[0].family })
}

// spelled are the names of a row as its tool's manual has them.
func (t *Tool) spelled(r *row) []string {
	var names []string
	for name := range strings.FieldsSeq(r.names) {
		dash := t.dash
		if len(name) == 1 {
			dash = "-"
		}
		names = append(names, dash+name)
	}
	return names
}
