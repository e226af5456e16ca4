package main

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/xrcsim"
)

// The schema in docs has every member of what xrcsim prints as JSON, and no other.
func TestXrcsimSchema(t *testing.T) {
	text, err := os.ReadFile("../../docs/xrcsim-v1.schema.json")
	require.NoError(t, err)
	var root map[string]any
	require.NoError(t, json.Unmarshal(text, &root))
	c := connected{Format: "golaunch-xrcsim", Version: 1, Parameters: xrcsim.Default()}
	c.add([]xrcsim.Point{{Transport: xrcsim.XRC}})
	text, err = json.Marshal(c)
	require.NoError(t, err)
	var printed map[string]any
	require.NoError(t, json.Unmarshal(text, &printed))

	var compare func(at string, schema map[string]any, value any)
	compare = func(at string, schema map[string]any, value any) {
		if name, ok := schema["$ref"].(string); ok {
			schema = root["$defs"].(map[string]any)[strings.TrimPrefix(name, "#/$defs/")].(map[string]any)
		}
		switch v := value.(type) {
		case map[string]any:
			require.Equal(t, "object", schema["type"], at)
			properties := schema["properties"].(map[string]any)
			names := slices.Sorted(maps.Keys(v))
			require.Equal(t, names, slices.Sorted(maps.Keys(properties)), at)
			require.Len(t, schema["required"], len(names), at)
			for _, name := range names {
				require.Contains(t, schema["required"], name, at)
				compare(at+"."+name, properties[name].(map[string]any), v[name])
			}
		case []any:
			require.Equal(t, "array", schema["type"], at)
			require.NotEmpty(t, v, at)
			compare(at+"[]", schema["items"].(map[string]any), v[0])
		case string:
			require.Equal(t, "string", schema["type"], at)
		case bool:
			require.Equal(t, "boolean", schema["type"], at)
		default:
			require.Contains(t, []any{"integer", "number"}, schema["type"], at)
		}
	}
	compare("xrcsim", root, printed)
}
