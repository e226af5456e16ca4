package archtest

import (
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
)

// unaware are the rooms that work with whatever bootstrap there is: one that is
// added needs no change in them.
var unaware = []string{"internal/stage", "internal/overlay", "launcher", "internal/agent", "cmd/golaunch", "cmd/nla"}

// foreign is the folder of the words of other launchers, some of which bear the name of a
// bootstrap.
const foreign = "cmd/golaunch/internal/dialects/"

// Which bootstraps there are is known to the registry alone: no other code names
// one, has a constant for it, or uses its package.
func TestNobodyKnowsWhichBootstrapItIs(t *testing.T) {
	names := registry.Names()
	require.NotEmpty(t, names)
	for _, s := range scan(t) {
		if s.test || !within(s.dir, unaware) {
			continue
		}
		for _, imported := range s.imports {
			dir := strings.TrimPrefix(imported, module)
			assert.False(t, within(dir, []string{"internal/bootstrap"}) && dir != "internal/bootstrap" && dir != "internal/bootstrap/registry",
				"%s imports %s: ask the bootstrap.Kind that package registry has", s.name, dir)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				assert.False(t, err == nil && !strings.HasPrefix(s.name, foreign) && slices.Contains(names, text),
					"%v: %s: ask package registry", s.fset.Position(n.Pos()), n.Value)
			case *ast.Ident:
				name, ok := strings.CutPrefix(strings.ToLower(n.Name), "internal/bootstrap")
				assert.False(t, ok && slices.Contains(names, name), "%v: %s: ask package registry", s.fset.Position(n.Pos()), n.Name)
			}
			return true
		})
	}
}
