package flags

import (
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"hostfile", "host-file", 1}, {"lable", "label", 1}, {"hosst", "hosts", 1}, {"ab", "ba", 1}, {"abcd", "dcba", 3}, {"degree", "degree", 0}} {
		assert.Equal(t, c.want, distance(c.a, c.b), c)
	}
}

// Each kind of value takes its own texts, shows them, and keeps its value if it refuses
// a text.
func TestValues(t *testing.T) {
	var number, size int
	var span time.Duration
	var text, word string
	var list []string
	var numbers []int
	named := map[string]string{}
	for _, kind := range []struct {
		value   pflag.Value
		good    map[string]string // text: the text shown then
		refused map[string]string // text: the error
	}{
		{Count(&number, 1, 8), map[string]string{"8": "8"}, map[string]string{"9": `"9" is not a number from 1 to 8`, "x": `"x" is not a number from 1 to 8`}},
		{Time(&span), map[string]string{"10": "10s", "2m": "2m0s", "0": ""}, map[string]string{"-1": `"-1" is not a time; write 10, 10s, 500ms or 2m`, "9999999h": `"9999999h" is too long; the longest time is 2562047h, which is 292 years`}},
		{Size(&size), map[string]string{"65536": "64K", "1M": "1M", "0": "0"}, map[string]string{"4G": `"4G" is not a size; write 65536, 64K or 1M, up to 1G`}},
		{Text(&text), map[string]string{"a b": "a b"}, map[string]string{"": "its value is empty"}},
		{OneOf(&word, []string{"a", "b"}), map[string]string{"b": "b"}, map[string]string{"c": `"c" is none; a, b are`}},
		{List(&list), map[string]string{"a": "a"}, map[string]string{"": "its value is empty"}},
		{Numbers(&numbers, func(p *int) pflag.Value { return Count(p, 1, 8) }), map[string]string{"1,8": "1,8"}, map[string]string{"1,,2": `"" is not a number from 1 to 8`}},
		{Named(named, "n", true), map[string]string{"k": "k"}, map[string]string{"": "its value is empty"}},
	} {
		for s, shown := range kind.good {
			require.NoError(t, kind.value.Set(s), s)
			assert.Equal(t, shown, kind.value.String(), s)
		}
		before := kind.value.String()
		for s, want := range kind.refused {
			assert.EqualError(t, kind.value.Set(s), want, s)
		}
		assert.Equal(t, before, kind.value.String())
	}
	require.NoError(t, List(&list).Set("b"))
	assert.Equal(t, []string{"a", "b"}, list)
	require.NoError(t, Named(named, "n", true).Set("l"))
	assert.Equal(t, "k\nl", named["n"])
}
