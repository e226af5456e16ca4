package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/placement/binding"
)

// The types of flag values. Each Set gives an error that completes a line
// begun with the flag's name.

// namedValue is any text but the empty one, kept under a name; a line for each where
// the flag may be repeated.
type namedValue struct {
	values  bootstrap.Values
	name    string
	repeats bool
}

func (v namedValue) Set(s string) error {
	if s == "" {
		return errors.New("its value is empty")
	}
	if before := v.values[v.name]; v.repeats && before != "" {
		s = before + "\n" + s
	}
	v.values[v.name] = s
	return nil
}

func (v namedValue) String() string { return v.values[v.name] }

func (namedValue) Type() string { return "text" }

// countValue is a whole number from least to most; 0 is none.
type countValue struct {
	p           *int
	least, most int
}

func (v countValue) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < v.least || n > v.most {
		return fmt.Errorf("%q is not a number from %d to %d", s, v.least, v.most)
	}
	*v.p = n
	return nil
}

// String is empty where there is none.
func (v countValue) String() string {
	if v.p == nil || *v.p == 0 {
		return ""
	}
	return strconv.Itoa(*v.p)
}

func (countValue) Type() string { return "number" }

// timeValue is a duration; a bare number counts seconds.
type timeValue struct{ p *time.Duration }

func (v timeValue) Set(s string) error {
	text := s
	if s != "" && !strings.ContainsAny(s, "hmsun\u00b5") {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if n, nerr := strconv.ParseFloat(strings.TrimRight(s, "hmsun\u00b5"), 64); err != nil && nerr == nil && n > 2562047 {
		return fmt.Errorf("%q is too long; the longest time is 2562047h, which is 292 years", s)
	}
	if err != nil || d < 0 {
		return fmt.Errorf("%q is not a time; write 10, 10s, 500ms or 2m", s)
	}
	*v.p = d
	return nil
}

func (v timeValue) String() string {
	if v.p == nil || *v.p == 0 {
		return ""
	}
	return v.p.String()
}

func (timeValue) Type() string { return "time" }

// sizeValue is a number of bytes, with K, M or G for powers of 1024.
type sizeValue struct{ p *int }

func (v sizeValue) Set(s string) error {
	number, shift := s, 0
	if i := strings.IndexAny(s, "KMG"); i >= 0 && i == len(s)-1 {
		number, shift = s[:i], 10*(1+strings.IndexByte("KMG", s[i]))
	}
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil || n > math.MaxInt32>>shift {
		return fmt.Errorf("%q is not a size; write 65536, 64K or 1M, up to 1G", s)
	}
	*v.p = int(n) << shift
	return nil
}

func (v sizeValue) String() string {
	if v.p == nil || *v.p < 0 { // a default that is none
		return ""
	}
	n, unit := *v.p, ""
	for _, u := range []string{"K", "M", "G"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, unit = n/1024, u
	}
	return strconv.Itoa(n) + unit
}

func (sizeValue) Type() string { return "size" }

// stdinValue is a launcher.StdinTarget.
type stdinValue struct{ p *launcher.StdinTarget }

func (v stdinValue) Set(s string) (err error) {
	*v.p, err = launcher.ParseStdin(s)
	return err
}

func (v stdinValue) String() string {
	if v.p == nil {
		return ""
	}
	return v.p.String()
}

func (stdinValue) Type() string { return "target" }

// labelValue is what is in front of lines: yes or no, a word, or a pattern.
type labelValue struct{ p *string }

func (v labelValue) Set(s string) error {
	yes, err := strconv.ParseBool(s)
	switch {
	case err == nil && yes:
		s = launcher.LabelRank
	case err == nil:
		s = ""
	case s != launcher.LabelRank && s != launcher.LabelHost && !strings.Contains(s, "%"):
		return fmt.Errorf("%q is not rank, host or a pattern with %%r (the rank), %%h (the host) or %%t (the time), such as '%%h: '", s)
	}
	*v.p = s
	return nil
}

func (v labelValue) String() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

func (labelValue) Type() string { return "label" }

// textValue is any text but the empty one.
type textValue struct{ p *string }

func (v textValue) Set(s string) error {
	if s == "" {
		return errors.New("its value is empty")
	}
	*v.p = s
	return nil
}

func (v textValue) String() string {
	if v.p == nil {
		return ""
	}
	return *v.p
}

func (textValue) Type() string { return "text" }

// listValue collects the values of a flag that may be repeated.
type listValue struct{ p *[]string }

func (v listValue) Set(s string) error {
	if s == "" {
		return errors.New("its value is empty")
	}
	*v.p = append(*v.p, s)
	return nil
}

func (v listValue) String() string {
	if v.p == nil {
		return ""
	}
	return strings.Join(*v.p, " ")
}

func (listValue) Type() string { return "list" }

// listOf is several values as "a,b", each of which of reads.
type listOf struct {
	p  *[]int
	of func(p *int) pflag.Value
}

func (v listOf) Set(s string) error {
	var list []int
	for word := range strings.SplitSeq(s, ",") {
		var n int
		if err := v.of(&n).Set(word); err != nil {
			return err
		}
		list = append(list, n)
	}
	*v.p = list
	return nil
}

func (v listOf) String() string {
	if v.p == nil {
		return ""
	}
	var words []string
	for _, n := range *v.p {
		words = append(words, v.of(&n).String())
	}
	return strings.Join(words, ",")
}

func (v listOf) Type() string { return v.of(new(int)).Type() + "s" }

// bindValue is what to bind ranks to, also in the words of other launchers.
type bindValue struct{ p *string }

func (v bindValue) Set(s string) error {
	if s == "" {
		return fmt.Errorf("it is empty; %s are", strings.Join(textsOf(binding.Words()), ", "))
	}
	flags, answer := bindTo([]string{s})
	if answer != "" {
		return errors.New(answer)
	}
	if _, err := binding.Parse(flags[1]); err != nil {
		return err
	}
	*v.p = flags[1]
	return nil
}

func (v bindValue) String() string { return textValue(v).String() }

func (bindValue) Type() string { return "text" }
