package linktest

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
)

// loadTests: every stream and direction at once.
var loadTests = []testCase{
	{"all streams both ways", testAllAtOnce},
}

func testAllAtOnce(t *testing.T, p *pair) {
	const budget = 1 << 20 // bytes per stream and direction
	type flow struct{ sent, received []byte }
	var flows [2][link.NumStreams]flow
	var all sync.WaitGroup
	for dir, ends := range [][2]link.Link{{p.parent, p.child}, {p.child, p.parent}} {
		from, to := ends[0], ends[1]
		var senders sync.WaitGroup
		for _, s := range streams() {
			f := &flows[dir][s]
			senders.Go(func() { f.sent = sendRandom(t, from, s, budget, dir) })
			all.Go(func() { f.received = recvHashed(t, to, s) })
		}
		all.Go(func() {
			senders.Wait()
			assert.NoError(t, from.End(p.context()))
		})
	}
	all.Wait()
	for dir := range flows {
		for s, f := range flows[dir] {
			require.Equal(t, f.sent, f.received, "direction %d, stream %d", dir, s)
		}
	}
}

// sendRandom sends frames of random sizes, mostly small, and returns the hash
// of their sizes and contents.
func sendRandom(t *testing.T, l link.Link, s link.Stream, budget int, seed int) []byte {
	source := rand.NewChaCha8([32]byte{byte(seed), byte(s)})
	r := rand.New(source)
	content := make([]byte, link.MaxFrame)
	_, _ = source.Read(content) // never fails
	h := sha256.New()
	for budget > 0 {
		n := r.IntN(300)
		switch r.IntN(100) {
		case 0:
			n = r.IntN(link.MaxFrameOf(s) + 1)
		case 1, 2, 3:
			n = r.IntN(20 << 10)
		}
		frame := content[r.IntN(len(content)-n+1):][:n]
		addFrame(h, frame)
		if err := l.Send(s, frame); err != nil {
			t.Errorf("stream %d: %v", s, err)
			return nil
		}
		budget -= n + 100 // frames of no bytes cost, too
	}
	return h.Sum(nil)
}

func recvHashed(t *testing.T, l link.Link, s link.Stream) []byte {
	h := sha256.New()
	for {
		frame, err := l.Recv(s)
		if err == io.EOF {
			return h.Sum(nil)
		}
		if err != nil {
			t.Errorf("stream %d: %v", s, err)
			return nil
		}
		addFrame(h, frame)
	}
}

func addFrame(h hash.Hash, frame []byte) {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(len(frame)))
	h.Write(size[:])
	h.Write(frame)
}
