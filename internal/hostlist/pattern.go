package hostlist

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxDigits bounds the numbers of a range so that they fit in an int64.
const maxDigits = 18

// A pattern is a host name with ranges: literal text and range groups in turn.
type pattern struct {
	parts []part
	count int // names it stands for; beyond MaxHosts it is only known to be more
}

// A part is literal text or, when spans is not empty, one range group.
type part struct {
	text  string
	spans []span
}

// A span is lo-hi, both included; numbers are padded with zeros to width.
type span struct {
	lo, hi int64
	width  int
}

// parsePattern reads a host name with any number of ranges and checks its
// characters and length.
func parsePattern(s string) (pattern, error) {
	p := pattern{count: 1}
	longest := 0
	for s != "" {
		open := strings.IndexByte(s, '[')
		if open < 0 {
			open = len(s)
		}
		if open > 0 {
			if err := checkText(s[:open], len(p.parts) == 0); err != nil {
				return pattern{}, err
			}
			p.parts = append(p.parts, part{text: s[:open]})
			longest += open
			s = s[open:]
			continue
		}
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return pattern{}, errors.New("[ without ]")
		}
		spans, n, digits, err := parseGroup(s[1:end])
		if err != nil {
			return pattern{}, err
		}
		p.parts = append(p.parts, part{spans: spans})
		longest += digits
		// Both factors are at most MaxHosts+1: the product cannot overflow.
		p.count = min(p.count*n, MaxHosts+1)
		s = s[end+1:]
	}
	switch {
	case len(p.parts) == 0:
		return pattern{}, errors.New("empty host name")
	case longest > maxName:
		return pattern{}, fmt.Errorf("host name longer than %d characters", maxName)
	}
	return p, nil
}

// checkText checks the literal text of a host name. A name that begins with a
// dash could pass for an option of a command.
func checkText(s string, first bool) error {
	if first && s[0] == '-' {
		return errors.New("host name begins with a dash")
	}
	for i, r := range s {
		switch {
		case r == ']':
			return errors.New("] without [")
		case r >= 0x80 || !isNameByte(s[i]):
			return fmt.Errorf("character %q in host name", r)
		}
	}
	return nil
}

// parseGroup reads the inside of a bracket and returns its spans, how many
// numbers they hold (at most MaxHosts+1) and the longest number's digits.
func parseGroup(s string) (spans []span, count, digits int, err error) {
	for item := range strings.SplitSeq(s, ",") {
		sp, err := parseSpan(item)
		if err != nil {
			return nil, 0, 0, err
		}
		spans = append(spans, sp)
		count = min(count+int(min(sp.hi-sp.lo, MaxHosts))+1, MaxHosts+1)
		digits = max(digits, len(sp.format(sp.hi)))
	}
	return spans, count, digits, nil
}

func parseSpan(s string) (span, error) {
	from, to, isRange := strings.Cut(s, "-")
	if !isRange {
		to = from
	}
	lo, err := parseNumber(from)
	if err != nil {
		return span{}, err
	}
	hi, err := parseNumber(to)
	if err != nil {
		return span{}, err
	}
	sp := span{lo: lo, hi: hi}
	if isPadded(from) {
		sp.width = len(from)
	}
	switch {
	case hi < lo:
		return span{}, fmt.Errorf("range %s runs backwards", s)
	case isPadded(to) && len(to) != len(from):
		return span{}, fmt.Errorf("range %s pads its ends with zeros to different widths", s)
	}
	return sp, nil
}

func parseNumber(s string) (int64, error) {
	if s == "" {
		return 0, errors.New("range with an empty number; write [1-4,7]")
	}
	for i := range len(s) {
		if !isDigit(s[i]) {
			return 0, fmt.Errorf("%s in a range is not a number; write [1-4,7]", quote(s))
		}
	}
	if len(s) > maxDigits {
		return 0, fmt.Errorf("number %s in a range has more than %d digits", clip(s), maxDigits)
	}
	return strconv.ParseInt(s, 10, 64)
}

// isPadded tells whether a number is written with leading zeros.
func isPadded(s string) bool { return len(s) > 1 && s[0] == '0' }

// format renders one number of the span.
func (sp span) format(v int64) string {
	return string(sp.append(nil, v))
}

func (sp span) append(b []byte, v int64) []byte {
	var digits [maxDigits + 2]byte
	number := strconv.AppendInt(digits[:0], v, 10)
	for range sp.width - len(number) {
		b = append(b, '0')
	}
	return append(b, number...)
}

// each calls do for every name, the rightmost range varying fastest.
func (p pattern) each(do func(name string)) {
	eachName(make([]byte, 0, maxName), p.parts, do)
}

func eachName(prefix []byte, parts []part, do func(string)) {
	switch {
	case len(parts) == 0:
		do(string(prefix))
	case parts[0].spans == nil:
		eachName(append(prefix, parts[0].text...), parts[1:], do)
	default:
		for _, sp := range parts[0].spans {
			for v := sp.lo; v <= sp.hi; v++ {
				eachName(sp.append(prefix, v), parts[1:], do)
			}
		}
	}
}
