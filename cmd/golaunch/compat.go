package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
)

// A foreign word is a flag of Hydra, Open MPI, Intel MPI, mpirun_rsh or srun.
type foreign struct {
	values int // how many arguments follow
	// to returns the flags that mean the same, none where golaunch does so
	// anyway; or else what to do instead, which answers the user.
	to func(values []string) (flags []string, answer string)
	// more, if there is one, says of the values and what is after them whether
	// one more is a value.
	more func(next []string) bool
	// also says that golaunch has a flag of that name, too: to rewrites the values
	// that other launchers have for it, and leaves its own alone.
	also bool
}

// as is a word that is one of golaunch's flags with the same values.
func as(flag string, values int) foreign {
	return foreign{values: values, to: func(v []string) ([]string, string) {
		return append([]string{flag}, v...), ""
	}}
}

// meaning is a word without values that stands for these flags, or for none.
func meaning(flags ...string) foreign {
	return foreign{to: func([]string) ([]string, string) { return flags, "" }}
}

// instead is a word that golaunch has no equal of.
func instead(answer string) foreign {
	return foreign{to: func([]string) ([]string, string) { return nil, answer }}
}

// translate rewrites the words of other launchers at the beginning of args, up
// to the program, into golaunch's flags. Long flags with one dash, which those
// launchers use, are given two.
func (c *commandLine) translate(args []string) ([]string, error) {
	var out []string
	for len(args) > 0 {
		arg := args[0]
		if len(arg) < 2 || arg[0] != '-' || arg == "--" {
			break
		}
		words, used, err := c.translateOne(arg, args[1:])
		if err != nil {
			return nil, err
		}
		out = append(out, words...)
		args = args[1+used:]
	}
	return append(out, args...), nil
}

// translateOne rewrites one flag and returns how many of the arguments after
// it are its values.
func (c *commandLine) translateOne(arg string, next []string) (words []string, used int, err error) {
	word := strings.TrimPrefix(arg[1:], "-")
	name, value, attached := strings.Cut(word, "=")
	long := strings.HasPrefix(arg, "--")
	own := c.flags.Lookup(name)
	ours := long && own != nil && !foreignWords[name].also || !long && len(name) == 1 && c.flags.ShorthandLookup(name) != nil
	f, ok := foreignWords[name]
	if !ok {
		f, ok = bindingWords[name]
	}
	if g, both := foreignWords[name+"="]; both && attached {
		f = g
	}
	if ok && !ours {
		values := next
		if attached {
			values = append([]string{value}, next...)
		}
		if attached && f.values == 0 {
			if _, answer := f.to(values); answer != "" {
				return nil, 0, noEqual(arg, answer)
			}
			return nil, 0, fmt.Errorf("%s: it takes no value; write %s", arg, strings.TrimSuffix(arg, "="+value))
		}
		want := f.values
		if f.more != nil && len(values) >= want && f.more(values) {
			want++
		}
		if len(values) < want {
			return nil, 0, fmt.Errorf("%s: its value is missing", arg)
		}
		words, answer := f.to(values[:want])
		if answer != "" {
			return nil, 0, noEqual(arg, answer)
		}
		used = want
		if attached {
			used--
		} else if want > 0 && len(words) > 0 {
			err = dashed(c.flags.Lookup(strings.TrimPrefix(words[0], "--")), arg, values[0])
		}
		return words, used, err
	}
	switch {
	case long:
	case own != nil && len(name) > 1:
		arg = "-" + arg
	default:
		if own, err = c.lastOfCluster(word); err != nil {
			return nil, 0, err
		}
		attached = own == nil
	}
	words = []string{arg}
	if own != nil && !attached && own.NoOptDefVal == "" && len(next) > 0 {
		return append(words, next[0]), 1, dashed(own, flagName(own), next[0])
	}
	return words, 0, nil
}

// noEqual is the error for a word that golaunch has no equal of.
func noEqual(arg, answer string) error {
	return fmt.Errorf("%s: not a flag of golaunch: %s", arg, answer)
}

// dashed refuses a value apart from its flag, written as word, that begins with a
// dash: rather is it the next flag. A lone dash is a value; flags of numbers and times
// refuse whatever is none; what --env and --genv set may be anything.
func dashed(flag *pflag.Flag, word, value string) error {
	if flag == nil || len(value) < 2 || value[0] != '-' || flag.Name == "env" || flag.Name == "genv" {
		return nil
	}
	switch flag.Value.Type() {
	case textValue{}.Type(), listValue{}.Type():
		return fmt.Errorf("%s: its value is missing; one that begins with a dash is written --%s=%s", word, flag.Name, value)
	}
	return nil
}

// lastOfCluster returns the flag at the end of a cluster of short ones, if its
// value is still to come. A cluster that could as well be an unknown word is
// refused: -errors is not -e with the value rrors.
func (c *commandLine) lastOfCluster(cluster string) (*pflag.Flag, error) {
	for i, r := range cluster {
		var flag *pflag.Flag
		if r < 0x80 {
			flag = c.flags.ShorthandLookup(string(r))
		}
		if flag == nil || flag.Name == "help" && len(cluster) > 1 {
			return nil, c.unknownFlag("-"+cluster, cluster)
		}
		if flag.NoOptDefVal != "" {
			continue
		}
		value := cluster[i+1:]
		switch {
		case value == "":
			return flag, nil
		case unicode.IsLetter(rune(value[0])):
			err := c.unknownFlag("-"+cluster, cluster)
			if strings.HasSuffix(err.Error(), "?") { // it asks what is meant
				return nil, err
			}
			return nil, fmt.Errorf("%w; the value of -%c goes apart: -%[2]c %s", err, r, value)
		}
		return nil, nil
	}
	return nil, nil
}
