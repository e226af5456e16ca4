package proc

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// coder is a message's body while it is written or read: its fields one after the
// other, numbers as in encoding/binary, strings and lists behind their length.
// One description of a message serves both ways, so that they agree. A warden
// lives for little longer than its ranks: a coder that learns types at run time would
// cost more than all other work on messages.
type coder struct {
	bytes   []byte // written so far, or to be read
	reading bool
	bad     bool // something read was not there, or no value of its kind
}

// encodeBody returns the body of a message whose fields are described; nil has
// none.
func encodeBody(fields func(*coder)) []byte {
	var b coder
	if fields != nil {
		fields(&b)
	}
	return b.bytes
}

// decode reads the body of a message whose fields are described.
func decode(kind msgKind, bytes []byte, fields func(*coder)) error {
	b := coder{bytes: bytes, reading: true}
	fields(&b)
	if b.bad || len(b.bytes) > 0 {
		return fmt.Errorf("decode message of kind %d: malformed", kind)
	}
	return nil
}

// number is a signed number of any type.
func number[T ~int | ~int32 | ~int64](b *coder, v *T) {
	if !b.reading {
		b.bytes = binary.AppendVarint(b.bytes, int64(*v))
		return
	}
	n, size := binary.Varint(b.bytes)
	if b.taken(size); !b.bad {
		*v = T(n)
		b.bad = int64(*v) != n
	}
}

func (b *coder) unsigned(v *uint64) {
	if !b.reading {
		b.bytes = binary.AppendUvarint(b.bytes, *v)
		return
	}
	n, size := binary.Uvarint(b.bytes)
	b.taken(size)
	*v = n
}

func (b *coder) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	b.unsigned(&n)
	b.bad = b.bad || n > 1
	*v = n == 1
}

func (b *coder) string(v *string) {
	n := b.length(len(*v))
	if !b.reading {
		b.bytes = append(b.bytes, *v...)
		return
	}
	*v = string(b.bytes[:n])
	b.bytes = b.bytes[n:]
}

// list is a list of what each describes.
func list[T any](b *coder, l *[]T, each func(*T, *coder)) {
	n := b.length(len(*l))
	if b.reading {
		*l = nil
	}
	for i := 0; i < n && !b.bad; i++ {
		if b.reading {
			*l = append(*l, *new(T)) // as many as bytes are left at most, however many are announced
		}
		each(&(*l)[i], b)
	}
}

func (b *coder) strings(l *[]string) {
	list(b, l, func(s *string, b *coder) { b.string(s) })
}

// length is that of a string or a list, which takes a byte for each element at
// least.
func (b *coder) length(n int) int {
	v := uint64(n)
	b.unsigned(&v)
	if b.reading && v > uint64(len(b.bytes)) {
		b.bad = true
		return 0
	}
	return int(v)
}

// taken drops what was read; 0 or less bytes are none that could be.
func (b *coder) taken(size int) {
	if size <= 0 {
		b.bad, b.bytes = true, nil
		return
	}
	b.bytes = b.bytes[size:]
}

func (s *Spec) fields(b *coder) {
	b.strings(&s.Env)
	list(b, &s.Apps, (*App).fields)
	number(b, &s.Umask)
	list(b, &s.Rlimits, func(l *Rlimit, b *coder) {
		number(b, &l.Resource)
		b.unsigned(&l.Cur)
		b.unsigned(&l.Max)
	})
	b.string(&s.Socket)
}

func (a *App) fields(b *coder) {
	b.strings(&a.Argv)
	b.strings(&a.Env)
	b.string(&a.Dir)
	b.bool(&a.DirGiven)
	b.string(&a.Path)
}

// children describes the body of msgRanks.
func children(l *[]Child) func(*coder) {
	return func(b *coder) {
		list(b, l, func(c *Child, b *coder) {
			number(b, &c.World)
			number(b, &c.Rank)
			number(b, &c.App)
			b.strings(&c.Env)
			b.bool(&c.StdinPipe)
			window(b, &c.Terminal)
			b.bool(&c.Unbuffered)
			list(b, &c.CPUs, func(cpu *int, b *coder) { number(b, cpu) })
		})
	}
}

// window is the size of a terminal, or nil for none.
func window(b *coder, w **unix.Window) {
	present := *w != nil
	if b.bool(&present); !present {
		return
	}
	if b.reading {
		*w = new(unix.Window)
	}
	for _, v := range []*uint16{&(*w).Rows, &(*w).Columns} {
		n := uint64(*v)
		b.unsigned(&n)
		*v = uint16(n)
		b.bad = b.bad || uint64(*v) != n
	}
}

// jobNumber is a job's number.
func jobNumber(b *coder, n *job.Number) {
	v := uint64(*n)
	b.unsigned(&v)
	*n = job.Number(v)
	b.bad = b.bad || uint64(*n) != v
}

// ofJob describes the body of a message about a job; fields may be nil.
func ofJob(n job.Number, fields func(*coder)) func(*coder) {
	return func(b *coder) {
		jobNumber(b, &n)
		if fields != nil {
			fields(b)
		}
	}
}

// splitJob takes the job's number off the body of such a message.
func splitJob(kind msgKind, body []byte) (n job.Number, rest []byte, err error) {
	b := coder{bytes: body, reading: true}
	if jobNumber(&b, &n); b.bad {
		return 0, nil, fmt.Errorf("decode message of kind %d: it names no job", kind)
	}
	return n, b.bytes, nil
}

// duration describes the body of msgKill.
func duration(d *time.Duration) func(*coder) {
	return func(b *coder) { number(b, d) }
}

// wireEvents describes the body of msgEvents.
func wireEvents(l *[]wireEvent) func(*coder) {
	return func(b *coder) { list(b, l, (*wireEvent).fields) }
}

func (e *wireEvent) fields(b *coder) {
	kind := int(e.Kind)
	number(b, &kind)
	e.Kind = eventKind(kind)
	b.bad = b.bad || int(e.Kind) != kind
	jobNumber(b, &e.Job)
	number(b, &e.World)
	number(b, &e.Rank)
	number(b, &e.PID)
	number(b, &e.Code)
	b.bool(&e.StdinPipe)
	b.bool(&e.Terminal)
	b.bool(&e.Provoked)
	b.bool(&e.Cut)
	b.string(&e.Text)
	number(b, &e.User)
	number(b, &e.System)
	number(b, &e.MaxRSS)
	number(b, &e.At)
	number(b, &e.Clock)
}

func (h *hello) fields(b *coder) {
	number(b, &h.PID)
	b.string(&h.Cgroup)
	b.string(&h.NoCgroup)
}

func (s *wireSignal) fields(b *coder) {
	number(b, &s.World)
	number(b, &s.Signal)
}
