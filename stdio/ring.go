package stdio

// ring is a first-in-first-out queue that reuses its memory.
type ring[T any] struct {
	items []T
	head  int // index of the first
	n     int
}

func (r *ring[T]) empty() bool { return r.n == 0 }

// first returns the oldest item, which must exist.
func (r *ring[T]) first() *T { return &r.items[r.head] }

// final returns the newest item, nil if there is none.
func (r *ring[T]) final() *T {
	if r.n == 0 {
		return nil
	}
	return &r.items[(r.head+r.n-1)%len(r.items)]
}

func (r *ring[T]) push(v T) {
	if r.n == len(r.items) {
		bigger := make([]T, max(4, 2*r.n))
		k := copy(bigger, r.items[r.head:])
		copy(bigger[k:], r.items[:r.head])
		r.items, r.head = bigger, 0
	}
	r.items[(r.head+r.n)%len(r.items)] = v
	r.n++
}

// pop removes the oldest item, which must exist.
func (r *ring[T]) pop() {
	var zero T
	r.items[r.head] = zero
	r.head = (r.head + 1) % len(r.items)
	r.n--
}
