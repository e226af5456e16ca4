package execboot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// split cuts a template into words.
func split(text string) ([]templateWord, error) {
	s := splitter{rest: text}
	for s.rest != "" {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	switch {
	case s.quote != 0:
		return nil, fmt.Errorf("the quote that begins at %s is not closed", excerpt(text[s.opened:]))
	case s.escape:
		return nil, errors.New("it ends with a backslash, which stands for nothing")
	}
	s.endWord()
	return s.words, nil
}

// splitter reads a template from left to right.
type splitter struct {
	rest   string // still to read
	at     int    // offset of rest
	quote  byte   // ' or " while inside
	opened int    // offset of the open quote
	escape bool   // the last byte was a backslash that quotes the next

	words []templateWord
	word  templateWord
	begun bool // word has begun, though it may be empty
}

// specials mean something to a shell, which none reads here.
const specials = "|&;<>()$`"

// step takes one byte or one placeholder off rest.
func (s *splitter) step() error {
	c := s.rest[0]
	switch {
	case s.escape:
		s.escape = false
		if s.quote == '"' && !strings.ContainsRune("\"\\$`{", rune(c)) {
			s.text("\\") // in double quotes others stay as they are
		}
		s.take(1)
	case c == '\\' && s.quote != '\'':
		s.escape, s.begun = true, true
		s.skip(1)
	case s.quote == 0 && (c == '\'' || c == '"'):
		s.quote, s.opened = c, s.at
		s.begun, s.word.quoted = true, true
		s.skip(1)
	case s.quote != 0 && c == s.quote:
		s.quote = 0
		s.skip(1)
	case c == '{':
		return s.brace()
	case s.quote == 0 && (c == ' ' || c == '\t' || c == '\n'):
		s.endWord()
		s.skip(1)
	case s.quote == 0 && strings.IndexByte(specials, c) >= 0:
		return fmt.Errorf("no shell reads it, so %q has no meaning; put it in quotes, or all of it into a script or sh -c '...'", c)
	default:
		s.take(1)
	}
	return nil
}

// brace takes a placeholder, or a brace that begins none.
func (s *splitter) brace() error {
	name := s.rest[1:]
	name = name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))]
	if name == "" || !strings.HasPrefix(s.rest[1+len(name):], "}") {
		s.take(1)
		return nil
	}
	if !slices.Contains(placeholders, placeholder(name)) {
		return fmt.Errorf("{%s} is no placeholder; {host}, {command}, {user}, {port} and {addr} are", name)
	}
	s.word.pieces = append(s.word.pieces, piece{ph: placeholder(name)})
	s.begun = true
	s.skip(len(name) + 2)
	return nil
}

// skip moves on by n bytes.
func (s *splitter) skip(n int) { s.rest, s.at = s.rest[n:], s.at+n }

// take moves n bytes into the word.
func (s *splitter) take(n int) {
	s.text(s.rest[:n])
	s.skip(n)
}

// text adds text to the word.
func (s *splitter) text(t string) {
	s.begun = true
	p := &s.word.pieces
	if n := len(*p); n > 0 && (*p)[n-1].ph == "" {
		(*p)[n-1].text += t
		return
	}
	*p = append(*p, piece{text: t})
}

func (s *splitter) endWord() {
	if s.begun {
		s.words = append(s.words, s.word)
	}
	s.word, s.begun = templateWord{}, false
}

// excerpt returns the beginning of a text, for a message.
func excerpt(s string) string {
	const most = 20
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
