package dialects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// given is the value of a flag, the words that gave it, and where it is among the flags.
type given struct {
	value, words string
	at           int
}

// once adds what words were read as to flags, but for a value that other words have given
// before. Of two values the last counts where the tool of the line has it so; elsewhere
// they are refused: of two spellings of a flag none is to be lost in silence.
func (p *pasted) once(made, add []string, words string, said map[string]given) ([]string, error) {
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
