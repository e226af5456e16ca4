package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clausesFile counts the clauses in place of nouns that each room still has.
const clausesFile = "testdata/clauses.txt"

var (
	// segmentEnd separates sentences and their parts.
	segmentEnd = regexp.MustCompile(`([.;:!?])["')\]]*(?:\s|$)`)

	// subject finds sentences that begin with a clause: "who asks is told".
	subject = regexp.MustCompile(`^(?i:who|whom|whose|whoever|what|how|which|where|whatever|whether)\b`)

	// subjectOfPart finds parts of sentences that do.
	subjectOfPart = regexp.MustCompile(`^(?:who|whom|whoever|what)\b`)

	// adverbial finds clauses beside a subject: "Where both are set, the first wins".
	adverbial = regexp.MustCompile(`^(?i:(?:where|whatever|however|whoever|whether|whose)\b.*,|how to\b|(?:what|how) about\b)`)

	// predicate finds clauses that a form of "to be" puts in place of a noun, behind
	// other words than asIt.
	predicate = regexp.MustCompile(`(?:^|(\S+) )(?:is|are|was|were|be) (?:(?:also|just|only|not) )?` +
		`(?:for )?(?:what|who|whom|how|why|where|when|whether|which \w+ (?:is|are|has|have)|those (?:who|that|which|whose|of whom)|that which)\b`)

	// asIt finds words of clauses such as "which is why" and "as it was when".
	asIt = regexp.MustCompile(`^(?:which|it|they)$`)

	// telling finds doc comments "name says what", and "says who" anywhere.
	telling = regexp.MustCompile(`^\w+ (?:says|tells) (?:what|whom?|whose|how|why|where|which|when)\b|\b(?:says|tells) who\b`)

	// subjectToUser finds messages whose subject is a clause; single words and
	// two are names of things, or questions.
	subjectToUser = regexp.MustCompile(`^(?i:who|whom|whoever|what) \S+ \S+`)
)

// clause is a clause in place of a noun, at an offset of its text.
type clause struct {
	offset int
	text   string
}

// segments calls each with the sentences and parts of sentences of a text, in which
// runs of blanks are one, but not with questions.
func segments(text string, each func(offset int, segment string, part bool)) {
	part := false
	for start := 0; start < len(text); {
		end, next, by := len(text), len(text), byte('.')
		if m := segmentEnd.FindStringSubmatchIndex(text[start:]); m != nil {
			end, next, by = start+m[0], start+m[1], text[start+m[2]]
		}
		lead := len(text[start:end]) - len(strings.TrimLeft(text[start:end], " \t\n-*\"'("))
		if by != '?' {
			each(start+lead, strings.Join(strings.Fields(text[start+lead:end]), " "), part)
		}
		start, part = next, by == ';' || by == ':'
	}
}

// isClause tells whether a segment has a predicate.
func isClause(segment string) bool {
	m := predicate.FindStringSubmatch(segment)
	return m != nil && !asIt.MatchString(m[1])
}

// clausesIn finds the clauses in place of nouns of a comment.
func clausesIn(text string) (found []clause) {
	segments(text, func(offset int, segment string, part bool) {
		begin := subject
		if part {
			begin = subjectOfPart
		}
		if begin.MatchString(segment) && !adverbial.MatchString(segment) || isClause(segment) || telling.MatchString(segment) {
			found = append(found, clause{offset, segment})
		}
	})
	return found
}

// clausesToUser finds the clauses in place of nouns of a string that users may see.
func clausesToUser(text string) (found []clause) {
	if !strings.Contains(text, " ") {
		return nil
	}
	segments(text, func(offset int, segment string, _ bool) {
		if subjectToUser.MatchString(segment) || isClause(segment) {
			found = append(found, clause{offset, segment})
		}
	})
	return found
}

// clausesOf lists the clauses of a file's comments and, outside of tests, its strings,
// with their lines.
func clausesOf(s source) (found []string) {
	add := func(pos token.Pos, text string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", s.name, s.fset.Position(pos).Line, text))
	}
	for _, group := range s.file.Comments {
		var text strings.Builder
		var starts []int // offsets of lines in text
		var lines []token.Pos
		for _, c := range group.List {
			line, ok := strings.CutPrefix(c.Text, "//")
			if !ok || line != "" && line[0] != ' ' && line[0] != '\t' {
				continue // C's manner, or a directive
			}
			starts, lines = append(starts, text.Len()), append(lines, c.Pos())
			text.WriteString(line + "\n")
		}
		for _, c := range clausesIn(text.String()) {
			after, _ := slices.BinarySearch(starts, c.offset+1)
			add(lines[after-1], c.text)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && !s.test {
			text, _ := strconv.Unquote(lit.Value) // it is Go, as it was parsed
			for _, c := range clausesToUser(text) {
				add(lit.Pos(), c.text)
			}
		}
		return true
	})
	return found
}

// roomOf names the folder by which clauses are counted.
func roomOf(dir string) string {
	parts := strings.Split(dir, "/")
	switch parts[0] {
	case "cmd", "integration", "internal", "network":
		return strings.Join(parts[:min(2, len(parts))], "/")
	}
	return parts[0]
}

// Comments and messages name things by nouns (CONTRIBUTING.md, "Words"): each room
// may only lose clauses that stand in for one.
func TestClausesBecomeFewer(t *testing.T) {
	text, err := os.ReadFile(filepath.FromSlash(clausesFile))
	require.NoError(t, err)
	allowed, found := map[string]int{}, map[string][]string{}
	for line := range strings.Lines(string(text)) {
		var n int
		var room string
		_, err := fmt.Sscan(line, &n, &room)
		require.NoError(t, err, line)
		allowed[room], found[room] = n, nil
	}
	for _, s := range scan(t) {
		found[roomOf(s.dir)] = append(found[roomOf(s.dir)], clausesOf(s)...)
	}
	var counts strings.Builder
	for _, room := range slices.Sorted(maps.Keys(found)) {
		clauses := found[room]
		if len(clauses) > allowed[room] || testing.Verbose() {
			t.Logf("%s:\n%s", room, strings.Join(clauses, "\n"))
		}
		if n := len(clauses); n > allowed[room] {
			t.Errorf("%s: %d clauses in place of nouns, %d allowed: see \"Words\" in CONTRIBUTING.md",
				room, n, allowed[room])
			fmt.Fprintf(&counts, "%4d %s\n", allowed[room], room)
		} else if n > 0 {
			fmt.Fprintf(&counts, "%4d %s\n", n, room)
		}
	}
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(filepath.FromSlash(clausesFile), []byte(counts.String()), 0o600))
		return
	}
	if !t.Failed() {
		assert.Equal(t, counts.String(), string(text), "fewer than allowed: lower the numbers with UPDATE_PAGES=1 go test -run TestClausesBecomeFewer ./internal/archtest")
	}
}

func TestClausesIn(t *testing.T) {
	for text, count := range map[string]int{
		"// peer is whom a node exchanges messages with.":       1,
		"// Ranks are those that this call found gone.":         1,
		"// Who asks is told.":                                  1,
		"// The board is full; what comes later is dropped.":    1,
		"// owner says whose a key is.":                         1,
		"// bytes that wait":                                    0,
		"// what waits":                                         1,
		"// Where both are set, the first wins.":                0,
		"// Whose key is it? Nobody's.":                         0,
		"// owner returns the agent that keeps a key.":          0,
		"// The error says which host failed, and what to do.":  0,
		"// It reports whether ranks are known where it runs.":  0,
		"// It stays as it was when called, which is why.":      0,
		"// Error is why a start failed.":                       1,
		"// Two things: where it runs, how long. Who cares.":    1,
		"// What is\n// cut is lost. What is left\n// is kept.": 2,
	} {
		s := source{file: &ast.File{}, fset: token.NewFileSet()}
		file, err := parser.ParseFile(s.fset, "x.go", "package x\n"+text, parser.ParseComments)
		require.NoError(t, err)
		s.file = file
		assert.Len(t, clausesOf(s), count, text)
	}
	for text, count := range map[string]int{
		"what is given must be a number": 1, "what waits": 0, "what is it?": 0, "%s is what %s has": 1, "host %s: %v": 0,
	} {
		assert.Len(t, clausesToUser(text), count, text)
	}
}
