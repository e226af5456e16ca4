package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// maxText is the most characters of a text that comes from a file.
const maxText = 200

// shown returns a text of a file, of no more than maxText characters.
func shown(text string) string {
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	return string([]rune(text)[:maxText-1]) + "…"
}

// count returns a number with its thousands set apart.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural returns a number and a word, in its plural with an s.
func plural(n int64, word string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(word, "ch"), strings.HasSuffix(word, "s"):
		word += "es"
	default:
		word += "s"
	}
	return count(n) + " " + word
}

// prefixed returns a number with three digits and a decimal prefix.
func prefixed(x float64, unit string) string {
	for _, p := range []struct {
		size   float64
		prefix string
	}{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if math.Abs(x) >= p.size*0.9995 {
			return three(x/p.size) + " " + p.prefix + unit
		}
	}
	return three(x) + " " + unit
}

// three returns a number below a thousand with three digits, without zeros behind a
// whole number.
func three(x float64) string {
	digits := 2
	switch a := math.Abs(x); {
	case a >= 99.95:
		digits = 0
	case a >= 9.995:
		digits = 1
	}
	text := strconv.FormatFloat(x, 'f', digits, 64)
	if whole, rest, _ := strings.Cut(text, "."); strings.Trim(rest, "0") == "" {
		return whole
	}
	return text
}

func bytesText(n int64) string { return prefixed(float64(n), "B") }

// seconds returns a length of time, for people.
func seconds(s float64) string {
	switch a := math.Abs(s); {
	case a == 0:
		return "0 s"
	case a < 0.9995e-6:
		return three(s*1e9) + " ns"
	case a < 0.9995e-3:
		return three(s*1e6) + " µs"
	case a < 0.9995:
		return three(s*1e3) + " ms"
	case a < 300:
		return three(s) + " s"
	case a < 1e9:
		return time.Duration(s * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%.3g s", s)
}

// share is part of whole in percent.
func share(part, whole int64) string {
	if whole == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// change words the difference of b from a.
func change(a, b int64) string {
	switch {
	case a == b:
		return "0.0 %"
	case a == 0:
		return "new"
	case b/10 >= a:
		return "× " + three(float64(b)/float64(a))
	}
	return fmt.Sprintf("%+.1f %%", 100*(float64(b)-float64(a))/float64(a))
}

// and returns a list in a sentence.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
