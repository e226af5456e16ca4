package bootstrap

import "sync"

// TailSize is the number of bytes that a Tail keeps.
const TailSize = 4 << 10

// Tail keeps the last TailSize bytes written to it: Pipers hand them out as
// Pipe.Diagnostics. The zero value is ready. It may be used from several goroutines;
// Write never fails.
type Tail struct {
	mu   sync.Mutex
	buf  []byte // grows up to TailSize, then used as a ring
	next int    // offset of the next byte once the ring is full
}

// Write keeps the end of p.
func (t *Tail) Write(p []byte) (int, error) {
	n := len(p)
	if len(p) > TailSize {
		p = p[len(p)-TailSize:]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := TailSize - len(t.buf); room > 0 {
		fill := min(room, len(p))
		t.buf = append(t.buf, p[:fill]...)
		p = p[fill:]
	}
	for len(p) > 0 {
		c := copy(t.buf[t.next:], p)
		t.next = (t.next + c) % TailSize
		p = p[c:]
	}
	return n, nil
}

// String returns the bytes kept, oldest first.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf[t.next:]) + string(t.buf[:t.next])
}
