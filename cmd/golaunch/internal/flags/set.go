// Package flags has the common parts of the flags of all commands: their sets, the
// kinds of their values, and annotations, from which help, completion and pages are
// made.
package flags

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// The annotations of flags.
const (
	GroupKey   = "group"   // the flag's group in the help
	AppKey     = "app"     // it may be given for each app
	RepeatKey  = "repeat"  // it may be given more than once
	ChoicesKey = "choices" // the values that it may have, or those that are words
	TellKey    = "tell"    // the meaning of each of its choices
	FilesKey   = "files"   // its value is a file
	DirsKey    = "dirs"    // its value is a directory
	NoVariable = "no variable"
)

// New returns the flag set of a command. It ends at the first word that is no flag: the
// program, whose own flags are left alone.
func New(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetInterspersed(false)
	f.Usage = func() {} // help is command.text
	return f
}

// Has reports whether a flag bears an annotation.
func Has(f *pflag.Flag, key string) bool { return f.Annotations[key] != nil }

// Texts returns words as plain strings.
func Texts[T ~string](list []T) []string {
	all := make([]string, len(list))
	for i, w := range list {
		all[i] = string(w)
	}
	return all
}

// Either lists two words or more, of which one is to be given.
func Either[T ~string](words []T) string {
	last := len(words) - 1
	text := string(words[0])
	for _, w := range words[1:last] {
		text += ", " + string(w)
	}
	return text + " or " + string(words[last])
}

// EachShown visits the flags that help tells of.
func EachShown(f *pflag.FlagSet, do func(*pflag.Flag)) {
	f.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			do(f)
		}
	})
}

// Name returns the name of a flag in messages.
func Name(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + "/--" + f.Name
	}
	return "--" + f.Name
}

// Names returns the long names of flags.
func Names(f *pflag.FlagSet) []string {
	var names []string
	f.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}

// TakesValue reports whether the value of a flag stands behind it, apart or after =;
// that of others may be left out.
func TakesValue(f *pflag.Flag) bool { return f.NoOptDefVal == "" }

// Set gives a flag its value; the error begins with its place.
func Set(f *pflag.FlagSet, flag *pflag.Flag, value, place string) error {
	err := f.Set(flag.Name, value)
	if err == nil {
		return nil
	}
	switch flag.Value.Type() {
	case "bool":
		return fmt.Errorf("%s: %q is not true or false", place, value)
	case "count":
		return fmt.Errorf("%s: %q is not a number", place, value)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = e.Unwrap()
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Printable returns text for one line of a terminal.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
