package dialects

import (
	"strings"

	"github.com/spf13/pflag"
)

// word is a flag as it stands on a line.
type word struct {
	arg      string // all of it
	name     string // without dashes
	long     bool   // has two dashes
	attached bool   // has a value after =, or after its letter
	value    string
	letter   bool // is cut out of a cluster
}

func newWord(arg string) word {
	w := word{arg: arg, long: strings.HasPrefix(arg, "--")}
	w.name, w.value, w.attached = strings.Cut(strings.TrimPrefix(arg[1:], "-"), "=")
	return w
}

// isFlag tells whether an argument is a flag rather than the program.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' && arg != "--" }

// own is golaunch's flag that a word names, nil if it names none, and whether it is
// written as golaunch's: a long one with a single dash is so where no tool has it.
func (p *pasted) own(w word) (flag *pflag.Flag, written bool) {
	if len(w.name) == 1 && !w.long {
		flag = p.Flags.ShorthandLookup(w.name)
		return flag, flag != nil
	}
	flag = p.Flags.Lookup(w.name)
	return flag, flag != nil && w.long
}

// arguments are the values of a word that r has: those of next that it takes, and
// whether these suffice.
func (r *row) arguments(w word, next []string) (values []string, used int, enough bool) {
	if w.attached {
		next = append([]string{w.value}, next...)
	}
	want := r.values
	switch {
	case want == optional && w.attached:
		want = 1
	case want == optional:
		want = 0
	case want == pair:
		want = 2
		if len(next) > 0 && strings.Contains(next[0], "=") {
			want = 1
		}
	}
	if len(next) < want {
		return nil, 0, false
	}
	used = want
	if w.attached {
		used--
	}
	return next[:want], used, true
}

// suits tells whether a word can be r's: the values are there and not other flags.
func (r *row) suits(w word, next []string) bool {
	values, _, enough := r.arguments(w, next)
	switch {
	case !enough || w.attached && r.values == 0:
		return false
	case r.values == 1 && !w.attached && len(values[0]) > 1 && values[0][0] == '-':
		return false
	}
	return r.fits == nil || r.fits(w, next)
}

// valueIs tells whether a word has a value, and that is of a form.
func valueIs(form func(value string) bool, w word, next []string) bool {
	if w.attached {
		return form(w.value)
	}
	return len(next) > 0 && form(next[0])
}

// split cuts a cluster of the tool's letters, with the value of the last: -c8, -ul. A
// value that begins with a letter is one only where loose. It is nil for what is none.
func (t *Tool) split(w word, loose bool) []word {
	if !t.letters || w.long || w.letter || len(w.name) < 2 {
		return nil
	}
	var words []word
	for i := range len(w.name) {
		r := t.row(w.name[i : i+1])
		if r == nil {
			return nil
		}
		rest := strings.TrimPrefix(w.arg, "-")[i+1:]
		one := word{arg: "-" + w.name[i:i+1], name: w.name[i : i+1], letter: true}
		if r.values == 0 || rest == "" {
			words = append(words, one)
			continue
		}
		if !loose && (rest[0] < '0' || rest[0] > '9') {
			return nil
		}
		one.attached, one.value = true, rest
		return append(words, one)
	}
	return words
}
