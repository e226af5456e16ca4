package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

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

// readOne rewrites one flag and returns how many of the arguments after it are its
// values. A flag that takes a value becomes two words, --name and the value.
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
	last := own // flag that the next word is the value of
	switch {
	case own != nil && flags.TakesValue(own):
		made = []string{"--" + own.Name}
		if w.attached {
			return append(made, w.value), 0, nil
		}
	case w.long:
		return []string{w.arg}, 0, nil
	case own != nil && !written:
		return []string{"-" + w.arg}, 0, nil
	default:
		made, last, err = p.splitCluster(strings.TrimPrefix(w.arg, "-"))
	}
	if err != nil || last == nil || len(next) == 0 {
		return made, 0, err
	}
	return append(made, next[0]), 1, dashed(last, flags.Name(last), next[0])
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

// apply carries out a row for a word.
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
