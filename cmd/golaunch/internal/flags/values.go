package flags

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// The kinds of values that have a meaning of their own when a line is read: pflag calls
// them types.
const (
	KindText  = "text"
	KindList  = "list"
	KindLabel = "label"
)

// value is the value of a flag, kept at p. Its Set gives an error that completes a line
// begun with the flag's name.
type value[T any] struct {
	p     *T
	kind  string
	parse func(s string) (T, error)
	text  func(v T) string
}

// Value returns a value of a kind, kept at p: parse reads it, text writes it for parse.
func Value[T any](p *T, kind string, parse func(s string) (T, error), text func(v T) string) pflag.Value {
	return value[T]{p, kind, parse, text}
}

func (v value[T]) Set(s string) error {
	x, err := v.parse(s)
	if err == nil {
		*v.p = x
	}
	return err
}

func (v value[T]) String() string { return v.text(*v.p) }

func (v value[T]) Type() string { return v.kind }

// Word is text that parse accepts and rewrites.
func Word(p *string, parse func(s string) (string, error)) pflag.Value {
	return Value(p, KindText, parse, func(s string) string { return s })
}

// Text is any text but the empty one.
func Text(p *string) pflag.Value { return Word(p, notEmpty) }

func notEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("its value is empty")
	}
	return s, nil
}

// OneOf is one of some words.
func OneOf(p *string, words []string) pflag.Value {
	return Word(p, func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%q is none; %s are", s, strings.Join(words, ", "))
		}
		return s, nil
	})
}

// Named is any text but the empty one, kept in values under a name; a line for each where
// the flag may be repeated.
func Named(values map[string]string, name string, repeats bool) pflag.Value {
	return named{values, name, repeats}
}

type named struct {
	values  map[string]string
	name    string
	repeats bool
}

func (v named) Set(s string) error {
	s, err := notEmpty(s)
	if err != nil {
		return err
	}
	if before := v.values[v.name]; v.repeats && before != "" {
		s = before + "\n" + s
	}
	v.values[v.name] = s
	return nil
}

func (v named) String() string { return v.values[v.name] }

func (named) Type() string { return KindText }

// Count is a whole number from least to most; 0 is none.
func Count(p *int, least, most int) pflag.Value {
	return Value(p, "number", func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("%q is not a number from %d to %d", s, least, most)
		}
		return n, nil
	}, func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	})
}

// timeUnits are the letters of the units of time.
const timeUnits = "hmsun\u00b5"

// Time is a duration; a bare number counts seconds.
func Time(p *time.Duration) pflag.Value {
	return Value(p, "time", parseTime, func(d time.Duration) string {
		if d == 0 {
			return ""
		}
		return d.String()
	})
}

func parseTime(s string) (time.Duration, error) {
	text := s
	if s != "" && !strings.ContainsAny(s, timeUnits) {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseFloat(strings.TrimRight(s, timeUnits), 64); err != nil && nerr == nil && n > 2562047 {
		return 0, fmt.Errorf("%q is too long; the longest time is 2562047h, which is 292 years", s)
	}
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a time; write 10, 10s, 500ms or 2m", s)
	}
	return d, nil
}

// Size is a number of bytes, with K, M or G for powers of 1024.
func Size(p *int) pflag.Value {
	return Value(p, "size", func(s string) (int, error) {
		number, shift := s, 0
		if i := strings.IndexAny(s, "KMG"); i >= 0 && i == len(s)-1 {
			number, shift = s[:i], 10*(1+strings.IndexByte("KMG", s[i]))
		}
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil || n > math.MaxInt32>>shift {
			return 0, fmt.Errorf("%q is not a size; write 65536, 64K or 1M, up to 1G", s)
		}
		return int(n) << shift, nil
	}, sizeText)
}

func sizeText(n int) string {
	if n < 0 { // a default that is none
		return ""
	}
	unit := ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.Itoa(n) + unit
}

// List collects the values of a flag that may be repeated.
func List(p *[]string) pflag.Value {
	return Value(p, KindList, func(s string) ([]string, error) {
		s, err := notEmpty(s)
		return append(*p, s), err
	}, func(all []string) string { return strings.Join(all, " ") })
}

// Numbers is several values as "a,b", each of which of reads.
func Numbers(p *[]int, of func(p *int) pflag.Value) pflag.Value {
	return Value(p, of(new(int)).Type()+"s", func(s string) ([]int, error) {
		var list []int
		for word := range strings.SplitSeq(s, ",") {
			var n int
			if err := of(&n).Set(word); err != nil {
				return nil, err
			}
			list = append(list, n)
		}
		return list, nil
	}, func(list []int) string {
		words := make([]string, len(list))
		for i := range list {
			words[i] = of(&list[i]).String()
		}
		return strings.Join(words, ",")
	})
}
