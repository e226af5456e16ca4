package dialects

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reading counts the flags at the beginning of an app that a tool reads.
type reading struct {
	all     bool // it knows all that golaunch does not know itself
	foreign int  // how many these are
	strange int  // how many of the others it does not know
	words   int  // of the app, up to what it takes for the program
}

// reads counts the flags at the beginning of args that a tool reads.
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
	_, last, err := p.splitCluster(strings.TrimPrefix(w.arg, "-"))
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
