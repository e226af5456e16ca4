package archtest

import (
	"go/ast"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// declared is a type declaration, and the methods that are declared for it.
type declared struct {
	source  source
	spec    *ast.TypeSpec
	methods []string
}

// declarations are all types of the repository, by folder and name, as in "tree.Header".
type declarations map[string]*declared

func declarationsOf(all []source) declarations {
	types := declarations{}
	for _, s := range all {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				if spec, ok := spec.(*ast.TypeSpec); ok {
					types[s.dir+"."+spec.Name.Name] = &declared{source: s, spec: spec}
				}
			}
		}
	}
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && !s.test {
				if t := types[s.dir+"."+typeName(f.Recv.List[0].Type)]; t != nil {
					t.methods = append(t.methods, f.Name.Name)
				}
			}
		}
	}
	return types
}

// typeName is the name of a type of the same package, without a star and type arguments;
// "" for any other.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		return typeName(x.X)
	case *ast.IndexExpr:
		return typeName(x.X)
	case *ast.IndexListExpr:
		return typeName(x.X)
	}
	return ""
}

// embedded finds the type of an embedded field; nil for one of another module.
func (types declarations) embedded(s source, x ast.Expr) *declared {
	if star, ok := x.(*ast.StarExpr); ok {
		x = star.X
	}
	selector, ok := x.(*ast.SelectorExpr)
	if !ok {
		return types[s.dir+"."+typeName(x)]
	}
	pkg, ok := selector.X.(*ast.Ident)
	if !ok {
		return nil
	}
	for i, imported := range s.imports {
		dir, ours := strings.CutPrefix(imported, module)
		alias := s.file.Imports[i].Name
		if ours && (alias != nil && alias.Name == pkg.Name || alias == nil && path.Base(dir) == pkg.Name) {
			return types[dir+"."+selector.Sel.Name]
		}
	}
	return nil
}

// count notes the names of the fields and methods of a type, with those that are promoted
// from what it embeds, interfaces included.
func (types declarations) count(t *declared, fields, methods map[string]bool) {
	for _, name := range t.methods {
		methods[name] = true
	}
	var list *ast.FieldList
	switch x := t.spec.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	_, isStruct := t.spec.Type.(*ast.StructType)
	for _, f := range list.List {
		for _, name := range f.Names {
			if isStruct {
				fields[name.Name] = true
			} else {
				methods[name.Name] = true
			}
		}
		if len(f.Names) > 0 {
			continue
		}
		if inner := types.embedded(t.source, f.Type); inner != nil {
			if isStruct {
				fields[inner.spec.Name.Name] = true
			}
			types.count(inner, fields, methods)
		} else if isStruct {
			fields[typeName(f.Type)] = true
		}
	}
}

// No struct of a room that is held, test kits aside, has more fields or methods than one head can hold.
func TestStructSizes(t *testing.T) {
	types := declarationsOf(scan(t))
	for name, d := range types {
		if _, ok := d.spec.Type.(*ast.StructType); !ok || !within(d.source.dir, heldRooms) || within(d.source.dir, testKits) {
			continue
		}
		fields, methods := map[string]bool{}, map[string]bool{}
		types.count(d, fields, methods)
		got := size{len(fields), len(methods)}
		limit, exceeds := oversized[name]
		if !exceeds {
			limit = size{maxFields, maxMethods}
		}
		assert.True(t, got.fields <= limit.fields && got.methods <= limit.methods,
			"%s: %d fields and %d methods, with those that it embeds; at most %d and %d", name, got.fields, got.methods, limit.fields, limit.methods)
		if exceeds {
			assert.Equal(t, size{max(got.fields, maxFields), max(got.methods, maxMethods)}, limit, "%s: enter the lower figures in oversized", name)
		}
	}
	for name := range oversized {
		assert.Contains(t, types, name, "oversized has a type that is no more")
	}
}
