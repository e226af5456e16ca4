package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// verb is an action of a command with the flags T, by the word behind its name.
type verb[T any] struct {
	name   string
	usage  string // the words that it takes, as " A B"
	object string // their kind, for messages
	help   string
	run    func(t *T, e env, words []string) (int, error)
}

// verbTable has the verbs of a command.
type verbTable[T any] []verb[T]

// names returns the words by which the verbs are called.
func (vs verbTable[T]) names() []string {
	var words []string
	for _, v := range vs {
		words = append(words, v.name)
	}
	return words
}

// text renders a line for each verb.
func (vs verbTable[T]) text() string {
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, "  %-11s  %s\n", v.name+v.usage, v.help)
	}
	return b.String()
}

// run carries out the verb that the first word names.
func (vs verbTable[T]) run(t *T, e env, words []string) (int, error) {
	all := vs.names()
	known := all[len(all)-1]
	if len(all) > 1 {
		known = strings.Join(all[:len(all)-1], ", ") + " or " + known
	}
	if len(words) == 0 {
		return 0, errors.New("say " + known)
	}
	i := slices.Index(all, words[0])
	if i < 0 {
		return 0, fmt.Errorf("%q is no word that it knows; say %s", words[0], known)
	}
	v := vs[i]
	if want := len(strings.Fields(v.usage)); len(words)-1 > want {
		return 0, fmt.Errorf("%s: %q is one word too many", v.name, words[want+1])
	} else if len(words)-1 < want {
		return 0, fmt.Errorf("%s: say the %s%s", v.name, v.object, v.usage)
	}
	status, err := v.run(t, e, words[1:])
	if err != nil {
		err = fmt.Errorf("%s: %w", v.name, err)
	}
	return status, err
}
