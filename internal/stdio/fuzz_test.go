package stdio

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAssembler reads its input as a list of writes: a byte that chooses rank,
// stream, a tick and a length, then the data.
func FuzzAssembler(f *testing.F) {
	f.Add([]byte("\x05hello\x45wor\nd\x85\n\n\n\n\n"), true)
	f.Add([]byte("\x0fno newline here\xcf0123456789abcde"), false)
	f.Fuzz(func(t *testing.T, in []byte, label bool) {
		a, rec := newAssembler(t, AssemblerConfig{Label: label, LineMax: 8, MemMax: 24})
		content := 0
		for i := 0; len(in) > 0; i++ {
			op := in[0]
			in = in[1:]
			n := min(int(op&15), len(in))
			data := in[:n]
			in = in[n:]
			content += n - bytes.Count(data, newline)
			r, st := rankID(op>>4&3), Stdout+Stream(op>>6&1)
			require.NoError(t, a.Add(at(i*60), r, st, bytes.Clone(data)))
			if op&128 != 0 {
				require.NoError(t, a.Tick(at(i*60+59)))
			}
		}
		require.NoError(t, a.EndAll())
		out := []byte(rec.all.String())
		if !label {
			require.Equal(t, content, len(out)-bytes.Count(out, newline), "bytes are lost or made up")
		}
		require.Zero(t, a.Held())
		require.Empty(t, a.pending)
	})
}
