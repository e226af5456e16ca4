package overlay

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every option arrives at the agents, in what has it: its number is not taken there.
func TestOptionsTravel(t *testing.T) {
	var r Range
	fill(t, &r.StartOptions)
	got, err := Decode[Range](Encode(r))
	require.NoError(t, err)
	require.Equal(t, r.StartOptions, got.StartOptions)

	var l Launch
	fill(t, &l.LaunchOptions)
	launched, err := Decode[Launch](Encode(l))
	require.NoError(t, err)
	require.Equal(t, l.LaunchOptions, launched.LaunchOptions)
}

// fill gives each field of a struct a value that is not zero.
func fill(t *testing.T, options any) {
	t.Helper()
	v := reflect.ValueOf(options).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i + 1))
		case reflect.String:
			f.SetString("x")
		default:
			require.Fail(t, "a kind of option that this test does not know", v.Type().Field(i).Name)
		}
	}
}
