package cache_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/cache"
)

// lookUp finds a key in an image as docs/pmi.md says.
func lookUp(t require.TestingT, image []byte, key string) (value string, found bool) {
	le := binary.LittleEndian
	require.Equal(t, "golaunch", string(image[:8]))
	require.EqualValues(t, 1, le.Uint32(image[8:]))
	slots := le.Uint32(image[12:])
	table, text := image[32:32+8*slots], image[32+8*slots:]
	require.EqualValues(t, len(text), le.Uint64(image[24:]))
	h := uint64(0xcbf29ce484222325)
	for _, c := range []byte(key) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	hash := uint32(h ^ h>>32)
	for i := hash % slots; ; i = (i + 1) % slots {
		place := le.Uint32(table[8*i+4:])
		if place == 0 {
			return "", false
		}
		if le.Uint32(table[8*i:]) != hash {
			continue
		}
		field := func(at int) (string, int) {
			n, size := binary.Uvarint(text[at:])
			require.Positive(t, size)
			return string(text[at+size : at+size+int(n)]), at + size + int(n)
		}
		name, next := field(int(place - 1))
		if name == key {
			value, _ := field(next)
			return value, true
		}
	}
}

// Whatever was put is in the image, as of the last fence and nothing newer.
func TestImage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, err := cache.New(cache.Config{Policy: cache.HCMAB, Root: true, LocalRanks: 1, Size: 1, MaxValue: 1 << 16})
		require.NoError(t, err)
		var out cache.Effects
		want := map[string]string{}
		for fence := range rapid.IntRange(0, 5).Draw(t, "fences") {
			for i := range rapid.IntRange(0, 60).Draw(t, "puts") {
				key := fmt.Sprint("key-", rapid.IntRange(0, 100).Draw(t, "key"))
				want[key] = strings.Repeat("v", rapid.SampledFrom([]int{0, 1, 127, 128, 3000}).Draw(t, "length")) + fmt.Sprint(fence, i)
				require.NoError(t, b.Put([]byte(key), []byte(want[key]), &out))
			}
			require.NoError(t, b.Enter(&out))
			require.NoError(t, b.Put([]byte("later"), []byte("x"), &out))
			image, epoch, err := b.(cache.Imager).Image()
			require.NoError(t, err)
			require.EqualValues(t, fence+1, epoch)
			require.EqualValues(t, epoch, binary.LittleEndian.Uint64(image[16:]))
			for i := range 102 {
				key := fmt.Sprint("key-", i)
				value, found := lookUp(t, image, key)
				expected, put := want[key]
				require.Equal(t, put, found, key)
				require.Equal(t, expected, value, key)
			}
			_, found := lookUp(t, image, "later")
			require.Equal(t, fence > 0, found, "what was put after a fence counts from the next one on")
		}
	})
}

func TestImageOfAPart(t *testing.T) {
	b, err := cache.New(cache.Config{Policy: cache.HCMABLRU, Root: true, LocalRanks: 1, Size: 1, Nodes: 1})
	require.NoError(t, err)
	_, _, err = b.(cache.Imager).Image()
	require.ErrorContains(t, err, "under hcmab-lru a node holds a part of the keys only")
	for _, policy := range []cache.Policy{cache.HCS, cache.HCMA, cache.Distributed} {
		b, err := cache.New(cache.Config{Policy: policy, Root: true, LocalRanks: 1, Size: 1, Nodes: 1})
		require.NoError(t, err)
		_, is := b.(cache.Imager)
		require.False(t, is, policy)
	}
}
