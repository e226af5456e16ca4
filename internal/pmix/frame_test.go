package pmix

import (
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// anyValue fills a message with anything.
func anyValue(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint8:
		v.SetUint(uint64(rapid.Byte().Draw(t, "byte")))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "number")))
	case reflect.Uint64:
		v.SetUint(rapid.Uint64().Draw(t, "number"))
	case reflect.Int32:
		v.SetInt(int64(rapid.Int32().Draw(t, "number")))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Struct:
		for i := range v.NumField() {
			anyValue(t, v.Field(i))
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 3).Draw(t, "items")
		for range n {
			item := reflect.New(v.Type().Elem()).Elem()
			anyValue(t, item)
			v.Set(reflect.Append(v, item))
		}
	default:
		t.Fatalf("a message has a %v", v.Type())
	}
}

func TestEachMessageSurvivesTheWire(t *testing.T) {
	for kind, typ := range messages {
		t.Run(typ.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				v := reflect.New(typ).Elem()
				anyValue(t, v)
				request := rapid.Uint32().Draw(t, "request")
				b := Append(nil, request, v.Interface())
				for cut := range len(b) {
					_, n, err := Next(b[:cut])
					require.NoError(t, err)
					require.Zero(t, n)
				}
				f, n, err := Next(append(b, 1, 2, 3))
				require.NoError(t, err)
				require.Len(t, b, n)
				require.Equal(t, Frame{kind, request, v.Interface()}, f)
			})
		})
	}
}

// layout describes a type as it travels: its fields in their order.
func layout(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Struct:
		fields := "("
		for i := range t.NumField() {
			fields += t.Field(i).Name + " " + layout(t.Field(i).Type)
		}
		return fields + ")"
	case t.Kind() == reflect.Slice:
		return "[" + layout(t.Elem()) + "]"
	}
	return t.Kind().String() + " "
}

// A helper of another build has to be told by its version: whoever changes a message
// raises Version, and gives the new sum here.
func TestVersionIsThatOfTheMessages(t *testing.T) {
	sum := fnv.New32a()
	for _, kind := range slices.Sorted(maps.Keys(messages)) {
		fmt.Fprintf(sum, "%d %s %s\n", kind, messages[kind].Name(), layout(messages[kind]))
	}
	require.Equal(t, map[int]uint32{2: 0x3b7e91ff}, map[int]uint32{Version: sum.Sum32()})
}

func TestBadFramesAreRefused(t *testing.T) {
	for text, b := range map[string][]byte{
		"a frame of 4 bytes":                      {4, 0, 0, 0},
		"a frame of 4294967295 bytes":             {255, 255, 255, 255},
		"a frame of kind 200":                     {5, 0, 0, 0, 200, 0, 0, 0, 0},
		"frame Done: it ends within a field":      {7, 0, 0, 0, 5, 0, 0, 0, 0, 1, 2},
		"frame Forget: it ends within a field":    {9, 0, 0, 0, 3, 0, 0, 0, 0, 255, 255, 255, 255},
		"frame End: 1 bytes too many":             {6, 0, 0, 0, 12, 0, 0, 0, 0, 1},
		"frame Log: 2 where 0 or 1 should be":     {14, 0, 0, 0, 47, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
		"frame Unpublish: it ends within a field": {14, 0, 0, 0, 39, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2},
	} {
		_, _, err := Next(b)
		require.EqualError(t, err, text)
	}
}

func FuzzNext(f *testing.F) {
	f.Add(Append(nil, 7, Fence{Procs: []Proc{{"a", Wildcard}}, Blob: []byte("blob")}))
	f.Add(Append(nil, 1, World{Namespace: "a", Hosts: []string{"n1"}, Blocks: []Block{{Count: 2}}, Locals: []Local{{0, "0-1"}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, n, err := Next(b)
		if err != nil || n == 0 {
			return
		}
		require.Equal(t, b[:n], Append(nil, frame.Request, frame.Body))
	})
}
