package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
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

// reading is how far a tool reads the flags at the beginning of an app.
type reading struct {
	all     bool // it knows all that golaunch does not know itself
	foreign int  // how many these are
	strange int  // how many of the others it does not know
	words   int  // of the app, up to what it takes for the program
}

// reads tells how a tool reads the flags at the beginning of args.
func (p *pasted) reads(t *Tool, args []string) (r reading) {
	some := len(args)
	for len(args) > 0 && isFlag(args[0]) {
		w := newWord(args[0])
		args = args[1:]
		flag, written := p.own(w)
		row := t.row(w.name)
		switch last, ours := p.ownCluster(w); {
		case row != nil && row.suits(w, args) && (!written || row.over || row.alone):
			_, used, _ := row.arguments(w, args)
			args = args[used:]
			if flag == nil || row.alone {
				r.foreign++
			}
		case flag != nil || ours:
			if row == nil && (flag != nil || t.split(w, true) == nil) {
				r.strange++
			}
			if ours {
				flag = last
			}
			if flag != nil && flag.NoOptDefVal == "" && !w.attached && len(args) > 0 {
				args = args[1:]
			}
		default:
			words := t.split(w, true)
			if words == nil {
				return r
			}
			last := words[len(words)-1]
			if t.split(w, false) != nil && p.Flags.ShorthandLookup(last.name) == nil {
				r.foreign++
			}
			if t.row(last.name).values == 1 && !last.attached && len(args) > 0 {
				args = args[1:]
			}
		}
	}
	r.all, r.words = true, some-len(args)
	return r
}

// isOwn tells whether golaunch's own flags, as golaunch writes them, lead up to the program
// of an app: the words behind a program are the program's, whatever a tool would take them
// for.
func (p *pasted) isOwn(args []string) bool {
	for len(args) > 0 && isFlag(args[0]) {
		w := newWord(args[0])
		args = args[1:]
		flag, written := p.own(w)
		attached := w.attached
		if slices.ContainsFunc(tools, func(t *Tool) bool { r := t.row(w.name); return r != nil && r.alone && r.suits(w, args) }) {
			return false
		}
		if !written {
			last, ours := p.ownCluster(w)
			if !ours {
				return false
			}
			flag, attached = last, false
		}
		if flag != nil && flag.NoOptDefVal == "" && !attached {
			if len(args) == 0 {
				return false
			}
			args = args[1:]
		}
	}
	return len(args) > 0
}

// ownCluster tells whether a word is a cluster of golaunch's own letters, and which flag at
// its end has its value still to come.
func (p *pasted) ownCluster(w word) (last *pflag.Flag, ours bool) {
	if w.long || len(w.name) < 2 {
		return nil, false
	}
	last, err := p.lastOfCluster(strings.TrimPrefix(w.arg, "-"))
	return last, err == nil
}

// decide finds out whose line it is: golaunch's own where golaunch's flags alone lead up to
// the program. Else it is that of the tools of one family, where no other knows all of its
// words that golaunch does not have, or reads as many words as flags. Where the line has the
// name of several, it is that of those which know most of its words.
func (p *pasted) decide(parts [][]string) {
	from := p.Asked
	if from == nil {
		if !slices.ContainsFunc(parts, func(part []string) bool { return !p.isOwn(part) }) {
			return
		}
		from = tools
	}
	var some, nearest best
	for _, t := range from {
		sum := reading{all: true}
		for _, part := range parts {
			r := p.reads(t, part)
			sum = reading{sum.all && r.all, sum.foreign + r.foreign, sum.strange + r.strange, sum.words + r.words}
		}
		if sum.all && sum.foreign > 0 {
			some.add(t, sum.words)
		}
		if sum.all && p.Asked != nil {
			nearest.add(t, -sum.strange)
		}
	}
	for _, found := range [][]*Tool{some.tools, nearest.tools, p.Asked} {
		if len(found) > 0 {
			if oneFamily(found) {
				p.Tools = found
			}
			return
		}
	}
}

// best are the tools that are best by some number.
type best struct {
	tools  []*Tool
	number int
}

func (b *best) add(t *Tool, number int) {
	switch {
	case len(b.tools) == 0 || number > b.number:
		b.tools, b.number = []*Tool{t}, number
	case number == b.number:
		b.tools = append(b.tools, t)
	}
}

// find is the row by which a word is read; nil where golaunch's own flag
// is meant, or nothing is known of it.
func (p *pasted) find(w word, next []string) *row {
	_, written := p.own(w)
	for _, t := range p.Tools {
		if r := t.row(w.name); r != nil && (!written || (r.over || r.also) && r.suits(w, next)) {
			return r
		}
	}
	for _, some := range [][]*Tool{p.Asked, p.order(w.name)} {
		var first *row
		for _, t := range some {
			r := t.row(w.name)
			if r == nil || written && !r.also {
				continue
			}
			if r.suits(w, next) {
				return r
			}
			if first == nil {
				first = r
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// order are the tools in the order in which they are asked for a word.
func (p *pasted) order(name string) []*Tool {
	t, ok := undecided[name]
	if !ok {
		return tools
	}
	return append([]*Tool{t}, slices.DeleteFunc(slices.Clone(tools), func(o *Tool) bool { return o == t })...)
}

// read rewrites the words of other launchers at the beginning of args, up to the
// program, into golaunch's flags. What has no equal is in p.answers afterwards.
func (p *pasted) read(args []string) (made, rest []string, err error) {
	said := map[string]given{}
	for len(args) > 0 && isFlag(args[0]) {
		w := newWord(args[0])
		words, used, err := p.readOne(w, args[1:])
		if err == nil {
			made, err = p.once(made, words, strings.Join(args[:1+used], " "), said)
		}
		if err != nil {
			return nil, nil, err
		}
		args = args[1+used:]
	}
	return made, args, nil
}

// given is the value of a flag, the words that gave it, and where it is among the flags.
type given struct {
	value, words string
	at           int
}

// once adds what words were read as to flags, but for a value that other words have given
// before. Of two values the last counts where the tool of the line has it so; elsewhere
// they are refused: of two spellings of a flag none is to be lost in silence.
func (p *pasted) once(made, add []string, words string, said map[string]given) ([]string, error) {
	add = p.apart(add)
	for i := 0; i < len(add); i++ {
		flag := p.flagOf(add[i])
		same := func(word string) bool { return p.flagOf(word) == flag }
		if flag != nil && flag.Value.Type() == "label" && flag.NoOptDefVal != "" && slices.ContainsFunc(made, same) {
			continue // -l, which other words mean, too
		}
		if flag == nil || flag.NoOptDefVal != "" || i+1 == len(add) {
			made = append(made, add[i])
			continue
		}
		i++
		value := add[i]
		before, ok := said[flag.Name]
		repeats := flags.Has(flag, flags.RepeatKey)
		last := ok && len(p.Tools) > 0 && p.Tools[0].last && (!repeats || flag.Name == "hosts")
		switch {
		case last && before.value != value:
			p.Notes = append(p.Notes, fmt.Sprintf("%s counts, not %s before it", words, before.words))
			made[before.at] = value
			said[flag.Name] = given{value, words, before.at}
		case last:
		case !ok || repeats || before.words == words:
			made = append(made, add[i-1], value)
			said[flag.Name] = given{value, words, len(made) - 1}
		case before.value != value:
			return nil, fmt.Errorf("%s: %s and %s say different things; leave one out", flags.Name(flag), before.words, words)
		}
	}
	return made, nil
}

// flagOf is the flag that a word is the name of, long or short, nil where it is none's.
func (p *pasted) flagOf(word string) *pflag.Flag {
	if name, ok := strings.CutPrefix(word, "--"); ok {
		return p.Flags.Lookup(name)
	}
	if len(word) == 2 && word[0] == '-' {
		return p.Flags.ShorthandLookup(word[1:])
	}
	return nil
}

// apart makes two words of one that is a letter with its value, as -n8.
func (p *pasted) apart(words []string) []string {
	if len(words) != 1 || len(words[0]) < 3 {
		return words
	}
	letter, value := words[0][:2], words[0][2:]
	if flag := p.flagOf(letter); flag == nil || flag.NoOptDefVal != "" {
		return words
	}
	return []string{letter, strings.TrimPrefix(value, "=")}
}

// readOne rewrites one flag and returns how many of the arguments after it are its
// values.
func (p *pasted) readOne(w word, next []string) (made []string, used int, err error) {
	if r := p.find(w, next); r != nil {
		return p.apply(r, w, next)
	}
	own, written := p.own(w)
	if own == nil {
		for _, t := range p.tools() {
			if words := t.split(w, p.Tools != nil); slices.ContainsFunc(words, p.isForeign) {
				return p.readCluster(words, next)
			}
		}
	}
	arg, attached := w.arg, w.attached
	switch {
	case w.letter && w.attached:
		return []string{"--" + own.Name, w.value}, 0, nil
	case w.long:
	case own != nil && !written:
		arg = "-" + arg
	default:
		if own, err = p.lastOfCluster(strings.TrimPrefix(w.arg, "-")); err != nil {
			return nil, 0, err
		}
		attached = own == nil
	}
	made = []string{arg}
	if own != nil && !attached && own.NoOptDefVal == "" && len(next) > 0 {
		return append(made, next[0]), 1, dashed(own, flags.Name(own), next[0])
	}
	return made, 0, nil
}

// isForeign tells whether a letter of a cluster is read by a tool's row.
func (p *pasted) isForeign(w word) bool { return p.find(w, []string{"1"}) != nil }

// tools are those of the line, or all.
func (p *pasted) tools() []*Tool {
	if p.Tools != nil {
		return p.Tools
	}
	return tools
}

// readCluster rewrites the letters of a cluster, of which the last may have a value
// that follows.
func (p *pasted) readCluster(words []word, next []string) (made []string, used int, err error) {
	for i, w := range words {
		after := next
		if i < len(words)-1 {
			after = nil
		}
		one, n, err := p.readOne(w, after)
		if err != nil {
			return nil, 0, err
		}
		made, used = append(made, one...), n
	}
	return made, used, nil
}

// apply is what a row makes of a word.
func (p *pasted) apply(r *row, w word, next []string) (made []string, used int, err error) {
	if w.attached && r.values == 0 {
		if r.verb == answers {
			p.answers = append(p.answers, noEqual(w.arg, r.text))
			return nil, 0, nil
		}
		return nil, 0, fmt.Errorf("%s: it takes no value; write %s", w.arg, strings.TrimSuffix(w.arg, "="+w.value))
	}
	values, used, enough := r.arguments(w, next)
	if !enough && r.verb != answers {
		return nil, 0, fmt.Errorf("%s: its value is missing", w.arg)
	}
	if !enough {
		used = len(next)
	}
	if _, written := p.own(w); written && r.over {
		p.Notes = append(p.Notes, fmt.Sprintf("%s is read as %s has it", w.arg, p.Tools[0].name))
	}
	said := len(p.Notes)
	made, answer := r.to(p, values)
	for i := said; i < len(p.Notes); i++ {
		p.Notes[i] = fmt.Sprintf("%s: %s", w.arg, p.Notes[i])
	}
	if answer != "" {
		p.answers = append(p.answers, r.unable(w, values, answer))
		return nil, used, nil
	}
	if r.lacks(w, values, made) {
		return nil, 0, fmt.Errorf("%s: its value is missing; one that begins with a dash is written %s=%s", w.arg, w.arg, values[0])
	}
	if len(made) > 0 && made[0] == "--nodes" {
		p.Line.Nodes = w.arg
		switch {
		case !w.attached:
			p.Line.Nodes += " " + values[0]
		case w.letter:
			p.Line.Nodes += w.value
		}
	}
	if !w.attached && len(values) == 1 && len(made) > 0 {
		err = dashed(p.Flags.Lookup(strings.TrimPrefix(made[0], "--")), w.arg, values[0])
	}
	return made, used, err
}

// lacks tells whether what a word took for its value is rather the next flag, where the
// flags that it became do not refuse that.
func (r *row) lacks(w word, values, made []string) bool {
	if w.attached || r.values != 1 && r.values != pair || !isFlag(values[0]) || strings.Contains(values[0], " ") {
		return false
	}
	_, err := strconv.ParseFloat(values[0], 64)
	return err != nil && (len(made) == 0 || strings.HasPrefix(made[0], "--env") || made[0] == "--genv")
}

// unable is the line for a word whose row gave an answer: of a flag that golaunch has an
// equal of, it is the value that has none.
func (r *row) unable(w word, values []string, answer string) string {
	if r.verb != becomes && !r.partly || len(values) == 0 {
		return noEqual(w.arg, answer)
	}
	value := strconv.Quote(strings.Join(values, " "))
	switch {
	case w.attached && !w.letter: // the word has it
		answer = strings.TrimPrefix(answer, value+": ")
	case !strings.HasPrefix(answer, value):
		answer = value + ": " + answer
	}
	return w.arg + ": " + answer
}

// noEqual is the line for a word that golaunch has no equal of.
func noEqual(arg, answer string) string {
	return fmt.Sprintf("%s: not a flag of golaunch: %s", arg, answer)
}
