package archtest

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxColumns bounds a line of a page, outside of tables and code.
const maxColumns = 120

// page is a Markdown page, or another text for users.
type page struct {
	name string // slash-separated, from the top of the repository
	text string
}

// textsOf reads the files of the repository with one of the extensions.
func textsOf(t *testing.T, extensions ...string) (pages []page) {
	t.Helper()
	root := repository(t)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() {
			if name != root && (base[0] == '.' || base == "testdata" || base == "bin") {
				return fs.SkipDir
			}
			return nil
		}
		for _, extension := range extensions {
			if filepath.Ext(name) != extension {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			pages = append(pages, page{filepath.ToSlash(rel), string(text)})
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, pages)
	return pages
}

// prose calls line with each line of a Markdown page outside of code blocks,
// and its number, from 1.
func prose(text string, line func(number int, text string)) {
	code := false
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			code = !code
		} else if !code {
			line(i+1, l)
		}
	}
}

// link finds the target of a link in Markdown.
var link = regexp.MustCompile(`\]\(([^()\s]+)\)`)

// linksOf returns what a page links to.
func linksOf(text string) (targets []string) {
	prose(text, func(_ int, l string) {
		for _, m := range link.FindAllStringSubmatch(l, -1) {
			targets = append(targets, m[1])
		}
	})
	return targets
}

// Each page of docs has a row in docs/README.md, and each page of docs/results
// one in docs/results/README.md.
func TestEveryPageIsListed(t *testing.T) {
	listed := map[string]bool{}
	pages := textsOf(t, ".md")
	for _, p := range pages {
		if path.Base(p.name) != "README.md" || !within(p.name, []string{"docs"}) {
			continue
		}
		prose(p.text, func(_ int, l string) {
			if strings.HasPrefix(l, "|") {
				for _, target := range linksOf(l) {
					listed[path.Join(path.Dir(p.name), target)] = true
				}
			}
		})
	}
	seen := 0
	for _, p := range pages {
		if within(p.name, []string{"docs"}) && p.name != "docs/README.md" {
			seen++
			assert.True(t, listed[p.name], "%s has no row in the README.md beside it", p.name)
		}
	}
	require.NotZero(t, seen)
}

// Each link of a page to another, or to a part of one, leads there.
func TestLinks(t *testing.T) {
	pages := textsOf(t, ".md")
	anchors := map[string]map[string]bool{}
	for _, p := range pages {
		anchors[p.name] = anchorsOf(p.text)
	}
	for _, p := range pages {
		for _, target := range linksOf(p.text) {
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, part := strings.Cut(target, "#")
			name := path.Join(path.Dir(p.name), file)
			if file == "" {
				name = p.name
			}
			if _, err := os.Stat(filepath.Join(repository(t), name)); err != nil {
				assert.Fail(t, "link to nothing", "%s: %s: no such file", p.name, target)
			} else if part && anchors[name] != nil {
				assert.True(t, anchors[name][anchor], "%s: %s: no such heading", p.name, target)
			}
		}
	}
}

// anchorsOf returns the names by which links lead to the headings of a page: lower
// case, without punctuation, "-" for each space.
func anchorsOf(text string) map[string]bool {
	anchors := map[string]bool{}
	prose(text, func(_ int, l string) {
		heading := strings.TrimLeft(l, "#")
		if heading == l || !strings.HasPrefix(heading, " ") {
			return
		}
		heading = link.ReplaceAllString(heading, "")
		anchors[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(heading))] = true
	})
	return anchors
}

func TestAnchorsOf(t *testing.T) {
	anchors := anchorsOf("# In a job\n```\n# no heading\n```\n## `--dry-run`, and 3\n#!no\n")
	assert.Equal(t, map[string]bool{"in-a-job": true, "--dry-run-and-3": true}, anchors)
}

// wide are pages whose lines may be long: programs write those of docs/results.
var wide = []string{"docs/results"}

func TestColumns(t *testing.T) {
	for _, p := range textsOf(t, ".md") {
		if within(p.name, wide) {
			continue
		}
		prose(p.text, func(number int, l string) {
			if !strings.HasPrefix(l, "|") {
				assert.LessOrEqual(t, utf8.RuneCountInString(l), maxColumns, "%s:%d: columns", p.name, number)
			}
		})
	}
}

// list finds the flags that take a list of hosts, here and in other launchers, with
// brackets that no quotes protect; command is a line that calls golaunch, quoted what
// quotes protect in it, and brackets a list anywhere.
var (
	list     = regexp.MustCompile(`(?:^|[^\w-])(?:-H|-w|-{1,2}hosts?)[ =][^\s'"]*\[`)
	command  = regexp.MustCompile(`^\s*(?:\$ )?(?:bin/)?golaunch `)
	quoted   = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	brackets = regexp.MustCompile(`\w\[\d`)
)

// bare says whether a line has a list of hosts with brackets and no quotes. zsh refuses
// such a list, and other shells replace it by the name of a file that matches.
func bare(line string) bool {
	return list.MatchString(line) || command.MatchString(line) && brackets.MatchString(quoted.ReplaceAllString(line, ""))
}

func TestExamplesQuoteBrackets(t *testing.T) {
	for _, p := range textsOf(t, ".md", ".in", ".txt", ".sh", ".yaml") {
		for i, l := range strings.Split(p.text, "\n") {
			assert.False(t, bare(strings.ReplaceAll(l, `\-`, "-")), "%s:%d: a list with brackets and no quotes: %s", p.name, i+1, l)
		}
	}
	for _, s := range scan(t) {
		if s.test || !within(s.dir, []string{"cmd", "launcher", "internal/bootstrap", "internal/hostlist"}) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				for l := range strings.SplitSeq(text, "\n") {
					assert.False(t, bare(l), "%v: a list with brackets and no quotes: %s", s.fset.Position(n.Pos()), l)
				}
			}
			return true
		})
	}
}

func TestBare(t *testing.T) {
	for text, want := range map[string]bool{
		"golaunch -H n[1-4] ./app": true, "--hosts=a,n[1-4]:2": true, "clush -w n[1-4]": true, "(-hosts n[1-2])": true,
		"golaunch -H 'n[1-4]' ./app": false, `--hosts "n[1-4]"`: false, "-H LIST [-n N]": false, "test -w /x ] || [": false,
		"$ golaunch topo order n[1-4]": true, "golaunch topo order 'n[1-4]'": false, "golaunch: hosts n[1-4]: lost": false,
		"n[1-4]:2 of a host file": false, "raw-hosts n[1-2]": false,
	} {
		assert.Equal(t, want, bare(text), text)
	}
}
