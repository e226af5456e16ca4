package main

import (
	_ "embed" // the script
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/flags"
)

//go:embed completion/golaunch.bash
var bashScript string

// bashCompletion returns the script of bash.
func bashCompletion() string {
	var takes, parts []string
	for _, p := range places() {
		var flags []string
		for _, f := range p.flags {
			names := dashedNames(f)
			flags = append(flags, names...)
			if f.NoOptDefVal != "" {
				continue
			}
			for i, name := range names {
				names[i] = quoted(p.name + " " + name)
			}
			takes = append(takes, fmt.Sprintf("\t%s) takes=%s ;;", strings.Join(names, " | "), quoted(bashValue(f))))
		}
		parts = append(parts, fmt.Sprintf("\t%s) flags=%s arguments=%s ;;", p.name,
			quoted(strings.Join(flags, " ")), quoted(strings.Join(p.words, " "))))
	}
	return fill(bashScript, map[string][]string{"@TAKES@": takes, "@PARTS@": parts})
}

// bashValue describes the value of a flag to _golaunch_value.
func bashValue(f *pflag.Flag) string {
	switch {
	case flags.Has(f, flags.FilesKey):
		return "files"
	case flags.Has(f, flags.DirsKey):
		return "dirs"
	case flags.Has(f, flags.ChoicesKey):
		return "words " + strings.Join(f.Annotations[flags.ChoicesKey], " ")
	}
	return "value"
}
