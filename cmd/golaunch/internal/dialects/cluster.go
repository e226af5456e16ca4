package dialects

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

// dashed refuses a value apart from its flag, written as word, that begins with a
// dash: rather is it the next flag. A lone dash is a value; flags of numbers and times
// refuse whatever is none; what --env and --genv set may be anything.
func dashed(flag *pflag.Flag, word, value string) error {
	if flag == nil || len(value) < 2 || value[0] != '-' || flag.Name == "env" || flag.Name == "genv" {
		return nil
	}
	switch flag.Value.Type() {
	case flags.KindText, flags.KindList:
		return fmt.Errorf("%s: its value is missing; one that begins with a dash is written --%s=%s", word, flag.Name, value)
	}
	return nil
}

// splitCluster cuts a cluster of golaunch's letters into flags, and returns the one at its
// end if its value is still to come. A cluster that could as well be an unknown word is
// refused: -errors is not -e with the value rrors.
func (p *pasted) splitCluster(cluster string) (made []string, last *pflag.Flag, err error) {
	for i, r := range cluster {
		var flag *pflag.Flag
		if r < 0x80 {
			flag = p.Flags.ShorthandLookup(string(r))
		}
		if flag == nil || flag.Name == "help" && len(cluster) > 1 {
			return nil, nil, Unknown(p.Flags, nil, "-"+cluster, cluster)
		}
		value := cluster[i+1:]
		if !flags.TakesValue(flag) {
			if strings.HasPrefix(value, "=") && len(cluster) > 2 && i == 0 { // -l=host
				return []string{"-" + cluster}, nil, nil
			}
			made = append(made, "-"+string(r))
			continue
		}
		made = append(made, "--"+flag.Name)
		switch {
		case value == "":
			return made, flag, nil
		case unicode.IsLetter(rune(value[0])):
			err = Unknown(p.Flags, nil, "-"+cluster, cluster)
			if strings.HasSuffix(err.Error(), "?") { // it asks what is meant
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("%w; the value of -%c goes apart: -%[2]c %s", err, r, value)
		}
		return append(made, strings.TrimPrefix(value, "=")), nil, nil
	}
	return made, nil, nil
}

// Unknown is the error for a flag, written as word in a line of these tools, that does not
// exist. What is meant it asks last.
func Unknown(own *pflag.FlagSet, of []*Tool, word, name string) error {
	stem := strings.TrimRight(name, "0123456789")
	if f := own.Lookup(stem); f != nil && stem != name && flags.TakesValue(f) {
		return fmt.Errorf("unknown flag %s; is %s %s meant?", word, strings.TrimSuffix(word, name)+stem, name[len(stem):])
	}
	for _, t := range of {
		if whole := t.begunBy(name); whole != "" {
			return fmt.Errorf("unknown flag %s; is --%s meant?", word, whole)
		}
	}
	if near := flags.Nearest(flags.Names(own), name); near != "" {
		return fmt.Errorf("unknown flag %s; is --%s meant?", word, near)
	}
	return fmt.Errorf("unknown flag %s", word)
}
