package archtest

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// layerOf returns a folder's layer and room, and false if it is in none.
func layerOf(dir string) (layer int, room string, ok bool) {
	for i, rooms := range layers {
		for _, r := range rooms {
			if within(dir, []string{r}) {
				return i, r, true
			}
		}
	}
	return 0, "", false
}

func TestLayers(t *testing.T) {
	for _, s := range scan(t) {
		layer, room, ok := layerOf(s.dir)
		if !assert.True(t, ok, "%s: in no layer: say in rules_test.go where its folder belongs", s.name) || s.test {
			continue
		}
		for _, imported := range s.imports {
			dir, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			below, otherRoom, ok := layerOf(dir)
			assert.True(t, ok && (room == otherRoom || below < layer),
				"%s imports %s: a room imports only rooms of lower layers", s.name, dir)
			for _, rule := range separate {
				assert.False(t, within(s.dir, rule.folders) && within(dir, rule.from) && !within(dir, rule.folders), "%s imports %s: %s", s.name, dir, rule.why)
			}
			assert.True(t, within(s.dir, testKits) || !within(dir, testKits),
				"%s imports %s: only tests use conformance suites", s.name, dir)
		}
	}
}

func TestConfinedImports(t *testing.T) {
	for _, s := range scan(t) {
		for _, imported := range s.imports {
			for _, rule := range confined {
				if matches(imported, rule.imported) && (!s.test || rule.only == nil) {
					assert.True(t, within(s.dir, rule.only), "%s imports %s: %s (allowed in %q)",
						s.name, imported, rule.why, rule.only)
				}
			}
		}
	}
}

func TestPurePackages(t *testing.T) {
	for _, s := range scan(t) {
		if s.test || !within(s.dir, slices.Concat(pure, pureAlone)) || within(s.dir, testKits) {
			continue
		}
		for _, imported := range s.imports {
			for _, pattern := range impure {
				assert.False(t, matches(imported, pattern), "%s imports %s: its package is pure", s.name, imported)
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				assert.Fail(t, "a pure package starts no goroutine", "%v", s.fset.Position(n.Pos()))
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(impureTime, n.Sel.Name) {
					assert.Fail(t, "a pure package reads no clock", "%v: time.%s", s.fset.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

// A package is explained in one place: a comment on the package clause of
// exactly one file.
func TestPackageComments(t *testing.T) {
	type pkg struct {
		documented []string
		code       bool // has files other than tests
	}
	packages := map[string]*pkg{}
	for _, s := range scan(t) {
		p := packages[s.dir]
		if p == nil {
			p = &pkg{}
			packages[s.dir] = p
		}
		p.code = p.code || !s.test
	}
	for _, s := range scan(t) {
		if p := packages[s.dir]; s.file.Doc != nil && (!p.code || !s.test) {
			p.documented = append(p.documented, path.Base(s.name))
			want := "Package " + s.file.Name.Name + " "
			if s.file.Name.Name == "main" {
				want = "Command " + path.Base(s.dir) + " "
			}
			if got := strings.Join(strings.Fields(s.file.Doc.Text()), " "); !strings.HasPrefix(got+" ", want) {
				assert.Fail(t, "package comment begins otherwise", "%s: expected %q", s.name, want)
			}
		}
	}
	for dir, p := range packages {
		assert.Len(t, p.documented, 1, "%s: files with a package comment", dir)
	}
}

func TestFileLengths(t *testing.T) {
	for _, s := range scan(t) {
		assert.LessOrEqual(t, s.lines, maxLines, "%s: lines", s.name)
		if !s.test && s.file.Name.Name == "main" && path.Base(s.name) == "main.go" && strings.HasPrefix(s.dir, "cmd/") {
			assert.LessOrEqual(t, s.lines, maxMain, "%s: lines of a main", s.name)
		}
	}
}

// Everything exported says what it means.
func TestExportedComments(t *testing.T) {
	for _, s := range scan(t) {
		if s.test || s.file.Name.Name == "main" {
			continue
		}
		complain := func(n ast.Node, name string) {
			assert.Fail(t, "exported, without a comment", "%v: %s", s.fset.Position(n.Pos()), name)
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Doc == nil && d.Name.IsExported() && exportedReceiver(d) {
					complain(d, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
							complain(spec, spec.Name.Name)
						}
					case *ast.ValueSpec:
						if spec.Names[0].IsExported() && d.Doc == nil && spec.Doc == nil && spec.Comment == nil {
							complain(spec, spec.Names[0].Name)
						}
					}
				}
			}
		}
	}
}

// exportedReceiver says whether d is a function, or a method of an exported
// type.
func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	x := d.Recv.List[0].Type
	for {
		switch y := x.(type) {
		case *ast.StarExpr:
			x = y.X
		case *ast.IndexExpr:
			x = y.X
		case *ast.IndexListExpr:
			x = y.X
		case *ast.Ident:
			return y.IsExported()
		default:
			return true
		}
	}
}
