package lines

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
)

func TestReader(t *testing.T) {
	r := New(strings.NewReader("one\r\ntwo\n\nlast"), "f")
	var got []string
	for r.Next() {
		got = append(got, r.Text())
	}
	assert.Equal(t, []string{"one", "two", "", "last"}, got)
	assert.NoError(t, r.Err())
	assert.Equal(t, 4, r.Line())
	assert.EqualError(t, r.Expected("x", "a y"), `f:4: "x": expected a y`)
	assert.EqualError(t, r.At(2, "wrong: %d", 7), "f:2: wrong: 7")
	assert.EqualError(t, r.At(0, "empty"), "f: empty")
	assert.Len(t, Show(strings.Repeat("x", 100)), 85)
	n, err := r.Number("7", "a number", 7)
	assert.NoError(t, err)
	assert.Equal(t, int64(7), n)
	for _, word := range []string{"8", "", "-0", "+1", "1.0", "9223372036854775808"} {
		_, err := r.Number(word, "a number", 7)
		assert.EqualError(t, err, "f:4: \""+word+"\": expected a number, 0 to 7")
	}
}

func TestReaderFails(t *testing.T) {
	r := New(strings.NewReader("one\n"+strings.Repeat("x", MaxLine+1)), "f")
	for r.Next() {
	}
	assert.EqualError(t, r.Err(), "f:2: line of more than 1048576 bytes")
	broken := errors.New("broken")
	r = New(io.MultiReader(strings.NewReader("one\ntwo\n"), iotest.ErrReader(broken)), "f")
	for r.Next() {
	}
	assert.ErrorIs(t, r.Err(), broken)
	assert.EqualError(t, r.Err(), "f:3: broken")
}
