package overlay

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
)

// Texts that come from elsewhere are cut, so that their messages are small.
const (
	maxText  = 256 << 10 // bytes of a failure's or a note's
	maxCause = 16 << 10  // bytes of why a host is dead or a rank was not started, or of what ranks wait in
	maxWord  = 1 << 10   // bytes of a name or a phase
	maxStep  = 64        // bytes of the name of a step that is traced
)

// Cut shortens a text to the limit of failures and notes.
func Cut(text string) string { return cut(text, maxText) }

// CutCause shortens a text to the limit of causes that are told for each rank.
func CutCause(text string) string { return cut(text, maxCause) }

// CutWait makes a text fit for one of Waits: one line of what prints, and short.
func CutWait(text string) string { return cutLine(text, maxCause) }

// CutState makes a text fit for a State: one line of what prints, and short.
func CutState(text string) string { return cutLine(text, MostStateText) }

// CutWhy makes a text fit for one of a live host, which is one line.
func CutWhy(text string) string { return cutLine(text, maxCause/2) }

func cut(text string, most int) string {
	if len(text) > most {
		return text[:most-3] + "..."
	}
	return text
}

func cutLine(text string, most int) string {
	return strings.ToValidUTF8(cut(plain(text), most), "")
}

// plain returns a text with a mark for each character that a terminal would not show,
// or take for the end of a line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// long refuses texts that are longer than their sender may make them. Agents that pass
// them on add to their messages, which must stay within their bounds.
func long(most int, texts ...string) error {
	for _, t := range texts {
		if len(t) > most {
			return fmt.Errorf("a text of %d bytes, of at most %d", len(t), most)
		}
	}
	return nil
}

// line refuses texts that are long, or not one line of printable characters: readers
// are to know golaunch's own lines.
func line(most int, texts ...string) error {
	if err := long(most, texts...); err != nil {
		return err
	}
	for _, t := range texts {
		if plain(t) != t {
			return fmt.Errorf("a text that is not one line of what prints: %.80q", t)
		}
	}
	return nil
}

// long refuses texts of d that are too long.
func (d *DeadHost) long() error {
	return cmp.Or(line(maxWord, d.Phase), long(maxCause, d.Cause), long(maxCause/2, d.Hint))
}
