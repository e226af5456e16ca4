package collective

import "iter"

// sequence keeps things in the order in which they came. One of them leaves without the
// others being moved: there may be as many as record.MaxWaiting.
type sequence[T any] struct {
	head, tail *item[T]
	length     int
}

// item is a thing in a sequence.
type item[T any] struct {
	value        T
	before, next *item[T]
}

func (s *sequence[T]) push(value T) *item[T] {
	i := &item[T]{value: value, before: s.tail}
	if s.tail == nil {
		s.head = i
	} else {
		s.tail.next = i
	}
	s.tail = i
	s.length++
	return i
}

func (s *sequence[T]) remove(i *item[T]) {
	if i.before == nil {
		s.head = i.next
	} else {
		i.before.next = i.next
	}
	if i.next == nil {
		s.tail = i.before
	} else {
		i.next.before = i.before
	}
	s.length--
}

// all returns those in s, of which the one at hand may leave.
func (s *sequence[T]) all() iter.Seq[*item[T]] {
	return func(yield func(*item[T]) bool) {
		for i := s.head; i != nil; {
			next := i.next
			if !yield(i) {
				return
			}
			i = next
		}
	}
}

// find returns the first that is as wanted, nil if none is.
func (s *sequence[T]) find(wanted func(*T) bool) *item[T] {
	for i := s.head; i != nil; i = i.next {
		if wanted(&i.value) {
			return i
		}
	}
	return nil
}

// leave has those leave that are as wanted.
func (s *sequence[T]) leave(wanted func(*T) bool) {
	for i := range s.all() {
		if wanted(&i.value) {
			s.remove(i)
		}
	}
}
