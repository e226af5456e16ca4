package archtest

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// areas are the subjects of public reports, in the order of docs/reports.md: the
// word of the markers, and the heading.
var areas = [][2]string{
	{"io", "Input and output"},
	{"hosts", "Hosts and start"},
	{"ends", "Signals and ends"},
	{"env", "Environment and limits"},
	{"nested", "Launchers within launchers"},
}

// wishes are the reports of which golaunch does nothing yet, by subject, with what
// there is instead.
var wishes = [][3]string{
	{"TACC/launcher#67", "a list of tasks that ranks take in turn, which goes on where it was cut off",
		"a work queue of the program's own: [client/examples/workqueue](../client/examples/workqueue)"},
	{"open-mpi/ompi#370, open-mpi/ompi#14450", "a tree that stays up for many short jobs", "each job starts its own tree"},
	{"pmodels/mpich#5877, flux-framework/flux-core#1571", "a debugger that attaches to all ranks", "`--timeout` tells where each rank waits"},
	{"openpmix/prrte#1773", "hosts that join and leave a running job", "`--restarts` begins again on the hosts that are left"},
}

// publicReport is a report by users of parallel launchers, as the test that covers it
// names it.
type publicReport struct {
	where   string   // the marker's file:line
	area    string   // the word of one of areas
	sources []string // owner/repository#number
	subject string
	here    string // what happens here, as the test's comment has it
	test    string // its name
	file    string // where it is, from the top of the repository
}

// reportSource is the form of a source, by GitHub's numbers; blankMarker is a marker
// that would be taken for text.
var (
	reportSource = regexp.MustCompile(`^([\w.-]+/[\w.-]+)#(\d+)$`)
	blankMarker  = regexp.MustCompile(`^(?://|#)\s+report:`)
)

// errBlankMarker is the answer to blankMarker.
var errBlankMarker = errors.New("a blank before report: makes text of a marker")

// readMarker reads what follows "report:" in a marker: the area, the sources, the
// subject.
func readMarker(text string) (r publicReport, err error) {
	words := strings.Fields(text)
	if len(words) == 0 || !slices.ContainsFunc(areas, func(a [2]string) bool { return a[0] == words[0] }) {
		return r, fmt.Errorf("%q begins with no area of docs/reports.md", text)
	}
	r.area, words = words[0], words[1:]
	for len(words) > 0 && (strings.Contains(words[0], "#") || strings.HasSuffix(words[0], ",")) {
		word := strings.TrimSuffix(words[0], ",")
		if !reportSource.MatchString(word) {
			return r, fmt.Errorf("source %q is not OWNER/REPOSITORY#NUMBER", word)
		}
		r.sources, words = append(r.sources, word), words[1:]
	}
	r.subject = strings.Join(words, " ")
	switch {
	case r.sources == nil:
		return r, errors.New("no source: OWNER/REPOSITORY#NUMBER")
	case r.subject == "":
		return r, errors.New("no subject after the sources")
	}
	return r, nil
}

func TestReadMarker(t *testing.T) {
	r, err := readMarker("io a/b#1, c-d/e.f#22 g/h#3 input of 1 MB, whole")
	require.NoError(t, err)
	assert.Equal(t, publicReport{area: "io", sources: []string{"a/b#1", "c-d/e.f#22", "g/h#3"}, subject: "input of 1 MB, whole"}, r)
	for text, want := range map[string]string{
		"":                   "no area",
		"open-mpi/ompi#1 x":  "no area",
		"odd a/b#1 x":        "no area",
		"io x":               "no source",
		"io ompi#1 x":        `source "ompi#1"`,
		"io a/b#1, ompi x":   "",
		"io a/b#x x":         `source "a/b#x"`,
		"io a/b#1, ompi, x":  `source "ompi"`,
		"io a/b#1":           "no subject",
		"io a/b#1 , x":       `source ""`,
		"hosts a/b#1,c/d#2 ": "is not",
	} {
		_, err := readMarker(text)
		if want == "" {
			assert.NoError(t, err, text)
		} else {
			assert.ErrorContains(t, err, want, text)
		}
	}
}

// goMarkers returns the markers in the comments of a Go file. Each has to be in the
// comment of a test, which tells what happens.
func goMarkers(s *source) (reports []publicReport, err error) {
	tests := map[*ast.CommentGroup]*ast.FuncDecl{}
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Doc != nil && s.test && f.Recv == nil && testName.MatchString(f.Name.Name) {
			tests[f.Doc] = f
		}
	}
	for _, group := range s.file.Comments {
		for _, c := range group.List {
			where := fmt.Sprintf("%s:%d", s.name, s.fset.Position(c.Pos()).Line)
			if blankMarker.MatchString(c.Text) {
				return nil, fmt.Errorf("%s: %w", where, errBlankMarker)
			}
			text, ok := strings.CutPrefix(c.Text, "//report:")
			if !ok {
				continue
			}
			test := tests[group]
			if test == nil {
				return nil, fmt.Errorf("%s: a marker outside of a test's comment", where)
			}
			r, err := readMarker(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			r.where, r.file, r.test = where, s.name, test.Name.Name
			r.here = brief(group.Text()) // without directives, such as markers
			if r.here == "" {
				return nil, fmt.Errorf("%s: %s has no comment that tells what happens", where, r.test)
			}
			reports = append(reports, r)
		}
	}
	return reports, nil
}

// scriptMarkers returns the markers in a script: lines of a comment, the rest of which
// tells what happens.
func scriptMarkers(name, text string) (reports []publicReport, err error) {
	script, _, _ := strings.Cut(text, "\n-- ")
	lines := strings.Split(script, "\n")
	for at := 0; at < len(lines); at++ {
		begin, tells := at, ""
		var markers []int
		for ; at < len(lines) && strings.HasPrefix(lines[at], "#"); at++ {
			switch {
			case blankMarker.MatchString(lines[at]):
				return nil, fmt.Errorf("%s:%d: %w", name, at+1, errBlankMarker)
			case strings.HasPrefix(lines[at], "#report:"):
				markers = append(markers, at)
			default:
				tells += lines[at][1:] + "\n"
			}
		}
		for _, marker := range markers {
			where := fmt.Sprintf("%s:%d", name, marker+1)
			r, err := readMarker(strings.TrimPrefix(lines[marker], "#report:"))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
			r.where, r.file, r.test, r.here = where, name, path.Base(name), brief(tells)
			if r.here == "" {
				return nil, fmt.Errorf("%s: the comment from line %d on does not tell what happens", where, begin+1)
			}
			reports = append(reports, r)
		}
	}
	return reports, nil
}

// brief returns a comment in one line, of a long one the first sentence.
func brief(comment string) string {
	const short = 200
	text := strings.Join(strings.Fields(comment), " ")
	if end := strings.Index(text, ". "); end >= 0 && utf8.RuneCountInString(text) > short {
		text = text[:end+1]
	}
	return text
}

func TestScriptMarkers(t *testing.T) {
	const marker = "#report:hosts a/b#1 odd lists\n"
	reports, err := scriptMarkers("x/y.txtar", "exec true\n\n# They are\n# refused.\n"+marker+"exec false\n\n# Others.\n")
	require.NoError(t, err)
	require.Equal(t, []publicReport{{where: "x/y.txtar:5", area: "hosts", sources: []string{"a/b#1"}, subject: "odd lists", here: "They are refused.", test: "y.txtar", file: "x/y.txtar"}}, reports)
	_, err = scriptMarkers("x", "exec true\n"+marker+"exec true\n# after\n")
	require.EqualError(t, err, "x:2: the comment from line 2 on does not tell what happens")
	_, err = scriptMarkers("x", "# text\n#report:hosts b#1 x\n")
	require.EqualError(t, err, `x:2: source "b#1" is not OWNER/REPOSITORY#NUMBER`)
}

func TestGoMarkers(t *testing.T) {
	const marker = "//report:ends a/b#1 the end"
	read := func(text string) ([]publicReport, error) {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "x_test.go", "package x\n"+text, parser.ParseComments)
		require.NoError(t, err)
		return goMarkers(&source{name: "x_test.go", test: true, file: f, fset: fset})
	}
	reports, err := read("\n// It ends.\n//\n" + marker + "\nfunc TestEnd(t *testing.T) {}\n")
	require.NoError(t, err)
	require.Equal(t, []publicReport{{where: "x_test.go:5", area: "ends", sources: []string{"a/b#1"}, subject: "the end", here: "It ends.", test: "TestEnd", file: "x_test.go"}}, reports)
	for text, want := range map[string]string{
		marker + "\nfunc TestEnd(t *testing.T) {}":                           "x_test.go:2: TestEnd has no comment that tells what happens",
		"// It ends.\n" + marker + "\nfunc help() {}":                        "x_test.go:3: a marker outside of a test's comment",
		"func TestEnd(t *testing.T) {\n" + marker + "\n}":                    "x_test.go:3: a marker outside of a test's comment",
		"// It ends.\n// report:ends a/b#1 x\nfunc TestEnd(t *testing.T) {}": "x_test.go:3: a blank before report: makes text of a marker",
		"// It ends.\n//report:ends b#1 x\nfunc TestEnd(t *testing.T) {}":    `x_test.go:3: source "b#1" is not OWNER/REPOSITORY#NUMBER`,
	} {
		_, err := read(text)
		require.EqualError(t, err, want)
	}
}

// publicReports gathers the markers of all tests.
func publicReports(t *testing.T) (reports []publicReport) {
	t.Helper()
	for _, s := range scan(t) {
		found, err := goMarkers(&s)
		require.NoError(t, err)
		reports = append(reports, found...)
	}
	root := repository(t)
	scripts, err := filepath.Glob(filepath.Join(root, "cmd", "*", "testdata", "script", "*.txtar"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range scripts {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		name, err := filepath.Rel(root, script)
		require.NoError(t, err)
		found, err := scriptMarkers(filepath.ToSlash(name), string(text))
		require.NoError(t, err)
		reports = append(reports, found...)
	}
	return reports
}

// The page of public reports agrees with the markers of the tests.
func TestPageOfReports(t *testing.T) {
	const begin, end = "<!-- reports -->\n", "<!-- end of reports -->\n"
	page := filepath.Join(repository(t), "docs", "reports.md")
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(text), begin)
	require.True(t, ok)
	_, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := head + begin + reportsText(publicReports(t)) + end + tail
	if os.Getenv("UPDATE_PAGES") != "" {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o600))
		return
	}
	have := strings.Split(string(text), "\n")
	for i, line := range strings.Split(want, "\n") {
		require.Greater(t, len(have), i)
		require.Equal(t, line, have[i], "line %d: UPDATE_PAGES=1 go test -run TestPageOfReports ./internal/archtest writes it", i+1)
	}
}

// reportsText returns the reports as Markdown.
func reportsText(reports []publicReport) string {
	slices.SortStableFunc(reports, func(a, b publicReport) int { return cmp.Compare(a.subject, b.subject) })
	var b strings.Builder
	for _, area := range areas {
		fmt.Fprintf(&b, "\n## %s\n\n| reported | subject | here | test |\n|---|---|---|---|\n", area[1])
		for _, r := range reports {
			if r.area == area[0] {
				fmt.Fprintf(&b, "| %s | %s | %s | [%s](../%s) |\n", linked(r.sources), cell(r.subject), cell(r.here), r.test, r.file)
			}
		}
	}
	b.WriteString("\n## Not yet\n\n| reported | subject | instead |\n|---|---|---|\n")
	for _, w := range wishes {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", linked(strings.Split(w[0], ", ")), w[1], w[2])
	}
	b.WriteByte('\n')
	return b.String()
}

// linked returns sources as links.
func linked(sources []string) string {
	var links []string
	for _, s := range sources {
		links = append(links, reportSource.ReplaceAllString(s, "[$1#$2](https://github.com/$1/issues/$2)"))
	}
	return strings.Join(links, ", ")
}

// cell is text that means itself in a table of Markdown.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`).Replace(text)
}
