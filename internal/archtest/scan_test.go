// Package archtest holds the repository to its layout (docs/architecture.md): who
// may import whom, what pure packages may not touch, one package comment per
// package, short files. The rules are data, in rules_test.go.
//
// It reads source files only, and has no code but tests.
package archtest

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/golaunch/golaunch/"

// source is one parsed Go file.
type source struct {
	name    string // slash-separated, from the top of the repository
	dir     string
	test    bool
	lines   int
	file    *ast.File
	imports []string
	fset    *token.FileSet
}

// scan returns every Go file of the repository, parsed.
func scan(t *testing.T) []source {
	t.Helper()
	if sources == nil {
		var err error
		sources, err = parse(repository(t))
		require.NoError(t, err)
		require.NotEmpty(t, sources)
	}
	return sources
}

// sources is what scan returned first: no test changes it, none is parallel.
var sources []source

// parse parses the Go files below a folder.
func parse(root string) ([]source, error) {
	fset := token.NewFileSet()
	var all []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if d.IsDir() {
			if name != root && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "bin") {
				return fs.SkipDir
			}
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && name != root {
				return fs.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(base, ".go") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, rel, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s := source{
			name:  filepath.ToSlash(rel),
			dir:   path.Dir(filepath.ToSlash(rel)),
			test:  strings.HasSuffix(base, "_test.go"),
			lines: bytes.Count(text, []byte("\n")),
			file:  f,
			fset:  fset,
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	return all, err
}

// repository finds the top of the repository: the folder of go.mod.
func repository(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		require.NotEqual(t, dir, up, "no go.mod above the test's folder")
		dir = up
	}
}

// within says whether dir is one of the folders or below one.
func within(dir string, folders []string) bool {
	for _, f := range folders {
		if dir == f || strings.HasPrefix(dir, f+"/") {
			return true
		}
	}
	return false
}

// matches says whether an import path is meant by a pattern of rules_test.go.
func matches(imported, pattern string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return imported == base || strings.HasPrefix(imported, base+"/")
	}
	return imported == pattern
}
