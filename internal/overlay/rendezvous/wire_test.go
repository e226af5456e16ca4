package rendezvous

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWire(t *testing.T) {
	for _, o := range []order{{verb: doLink}, {doDial, "[::1]:99"}, {doEnd, "na\xffme"}, {doEnd, ""}} {
		got, err := readOrder(bytes.NewReader(o.encode()))
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	got, err := readOrder(bytes.NewReader(order{doEnd, strings.Repeat("x", 5000)}.encode()))
	require.NoError(t, err)
	require.Len(t, got.text, maxText, "a reason is cut")
	host, err := readCall(bytes.NewReader(call("n1")))
	require.NoError(t, err)
	require.Equal(t, "n1", host)
	for text, want := range map[string]string{
		"":             "EOF",
		"\x00":         "unexpected EOF",
		"\x00\x02a":    "unexpected EOF",
		"\x00\x00":     "does not say on which host",
		"\xff\xffabcd": "a text of 65535 bytes, of at most 1024",
	} {
		_, err := readCall(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
	_, err = readOrder(strings.NewReader("x\x00\x00"))
	require.ErrorContains(t, err, "order 'x' is not known")
	_, err = readOrder(strings.NewReader(""))
	require.ErrorIs(t, err, io.EOF)
}

// Whatever comes is an order or an error, and what follows it is left alone.
func FuzzOrder(f *testing.F) {
	f.Add(order{doDial, "10.0.0.1:99"}.encode())
	f.Add(append(order{verb: doLink}.encode(), "more"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		o, err := readOrder(r)
		if err != nil {
			return
		}
		require.LessOrEqual(t, len(o.text), maxText)
		require.Equal(t, b, append(o.encode(), b[len(b)-r.Len():]...))
	})
}
