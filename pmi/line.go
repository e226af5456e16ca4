package pmi

import (
	"bytes"
	"strconv"
	"strings"
)

// A line is blank-separated key=value tokens, the first of which names the
// command: "cmd=NAME" or "mcmd=NAME". Tokens may come in any order and unknown
// ones are ignored, but " value=" takes the rest of its line, blanks and
// further tokens included.

// begins reports whether b begins with prefix, or ends before it could.
func begins(b []byte, prefix string) bool {
	n := min(len(b), len(prefix))
	return string(b[:n]) == prefix[:n]
}

// token returns the value of the token in line that begins with name, which is
// given as " name=". It ends at the next blank.
func token(line []byte, name string) (value []byte, found bool) {
	i := bytes.Index(line, []byte(name))
	if i < 0 {
		return nil, false
	}
	value = line[i+len(name):]
	if end := bytes.IndexByte(value, ' '); end >= 0 {
		value = value[:end]
	}
	return value, true
}

// rest returns the text behind name, which is given as " name=", to the end of line.
func rest(line []byte, name string) []byte {
	_, value, _ := bytes.Cut(line, []byte(name))
	return value
}

// number returns the value of a token that must be a decimal number.
func number(line []byte, name string) (n int, ok bool) {
	value, found := token(line, name)
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}

// maxShown bounds the bytes of a client's text in messages.
const maxShown = 200

// firstLine is b up to its first line feed.
func firstLine(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte{'\n'})
	return line
}

// clip copies a line for a message.
func clip(line []byte) string {
	if len(line) > maxShown {
		return string(line[:maxShown]) + "..."
	}
	return string(line)
}

// word makes text fit for a msg= token: one word, no blank.
func word(text string) string {
	if len(text) > maxShown {
		text = text[:maxShown]
	}
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c >= 0x7f || c == '=' || c == '\\' {
			return '_'
		}
		return c
	}, text)
}
