package cmdline

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// The kinds of values that only run has. Each parser gives an error that completes a line
// begun with the flag's name.

// stdinValue is a launcher.StdinTarget.
func stdinValue(p *launcher.StdinTarget) pflag.Value {
	return flags.Value(p, "target", launcher.ParseStdin, launcher.StdinTarget.String)
}

// labelValue is the label in front of lines: yes or no, a word, or a pattern.
func labelValue(p *string) pflag.Value {
	return flags.Value(p, flags.KindLabel, func(s string) (string, error) {
		yes, err := strconv.ParseBool(s)
		switch {
		case err == nil && yes:
			return launcher.LabelRank, nil
		case err == nil:
			return "", nil
		case s != launcher.LabelRank && s != launcher.LabelHost && !strings.Contains(s, "%"):
			return "", fmt.Errorf("%q is not rank, host or a pattern with %%r (the rank), %%h (the host) or %%t (the time), such as '%%h: '", s)
		}
		return s, nil
	}, func(s string) string { return s })
}

// bindValue is the target of --bind-to, also in the words of other launchers.
func bindValue(p *string) pflag.Value {
	return flags.Word(p, func(s string) (string, error) {
		if s == "" {
			return "", fmt.Errorf("it is empty; %s are", strings.Join(flags.Texts(binding.Words()), ", "))
		}
		same, answer := dialects.BindTo([]string{s})
		if answer != "" {
			return "", errors.New(answer)
		}
		_, err := binding.Parse(same[1])
		return same[1], err
	})
}

// ruleValue is the word of a rule, with a value if it wants one.
func ruleValue(p *string) pflag.Value {
	return flags.Word(p, func(s string) (string, error) {
		_, _, err := placement.Cut(s)
		return s, err
	})
}

// orderValue is the word of an order of ranks.
func orderValue(p *string) pflag.Value {
	return flags.Word(p, func(s string) (string, error) {
		if !placement.IsOrder(s) {
			return "", fmt.Errorf("%q is none; %s and %sN are", s, strings.Join(placement.Orders(), ", "), placement.Plane)
		}
		return s, nil
	})
}
