package cache

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The state against a map.
func TestStateAgainstAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s state
		want := map[string]string{}
		keys := rapid.IntRange(1, 60).Draw(t, "keys")
		for range rapid.IntRange(0, 30).Draw(t, "fences") {
			var body []byte
			for range rapid.IntRange(0, 40).Draw(t, "entries") {
				key := fmt.Sprint("key-", rapid.IntRange(0, keys).Draw(t, "key"))
				value := strings.Repeat("v", rapid.SampledFrom([]int{0, 1, 200, 3000}).Draw(t, "length")) + fmt.Sprint(len(want))
				body = appendEntry(body, key, value)
				want[key] = value
			}
			s.install(string(body))
			if rapid.Bool().Draw(t, "ask") {
				for i := range keys + 2 { // one that nobody puts, too
					key := fmt.Sprint("key-", i)
					value, found := s.get([]byte(key))
					expected, put := want[key]
					require.Equal(t, put, found, key)
					require.Equal(t, expected, value, key)
				}
				live := 0
				for key, value := range want {
					live += entrySize(len(key), len(value))
				}
				require.Equal(t, live, s.live)
				require.LessOrEqual(t, s.held, 2*live+compactSlack)
				require.Equal(t, len(want), s.keys)
				require.LessOrEqual(t, s.size(), 2*live+compactSlack+slotBytes*max(8, 4*(len(want)+40)))
			}
		}
	})
}

func BenchmarkStateIndex(b *testing.B) {
	var body []byte
	for i := range 512 {
		body = appendEntry(body, fmt.Sprintf("P%d-businesscard-0", i), strings.Repeat("v", 100))
	}
	text := string(body)
	for b.Loop() {
		var s state
		s.install(text)
		s.get([]byte("P7-businesscard-0"))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/512, "ns/entry")
}
