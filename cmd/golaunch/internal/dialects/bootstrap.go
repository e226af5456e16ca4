package dialects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
)

// bootstrapWord is Hydra's name of how to log in.
func bootstrapWord(v []string) ([]string, string) {
	kind, ok := registry.Find(v[0])
	if ok && !slices.ContainsFunc(kind.Options, func(o bootstrap.Option) bool { return o.Own }) { // else it needs these
		return []string{"--bootstrap", kind.Name}, ""
	}
	names := registry.Names()
	last := len(names) - 1
	return nil, fmt.Sprintf("use --bootstrap %s or %s", strings.Join(names[:last], ", "), names[last])
}
