package tree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// HeaderSize is the length of a frame's header, in bytes.
const HeaderSize = 16

// MaxMessage bounds a message put together from fragments, in bytes; a peer
// that sends more is cut off before the memory is taken.
const MaxMessage = 256 << 20

// Addresses of a frame that are not one host.
const (
	Launcher job.HostIndex = -1 // up, to the launcher
	Everyone job.HostIndex = -2 // down, to every node below the sender
	Neighbor job.HostIndex = -3 // to the other end of this link only
)

// Kind is the kind of a frame's payload. The tree does not interpret it.
type Kind uint8

const flagMore = 1 // more fragments of the same message follow on this stream

// Header begins every frame, in big-endian order:
//
//	0      1      2         4        8                 12           16
//	| kind | flags| world(2)| job (4)| destination (4) | source (4) | payload ...
type Header struct {
	Kind  Kind
	More  bool          // another fragment of this message follows
	World uint16        // the job's world that the message is about; 0 for its own, and for none
	Job   job.Number    // the job that the message is about; job.TreeItself for the tree's own
	To    job.HostIndex // a host, Launcher, Everyone or Neighbor
	From  job.HostIndex // the host that made the message; Launcher for the launcher
}

// AppendHeader appends h's wire form to b.
func AppendHeader(b []byte, h Header) []byte {
	var flags byte
	if h.More {
		flags = flagMore
	}
	b = append(b, byte(h.Kind), flags)
	b = binary.BigEndian.AppendUint16(b, h.World)
	b = binary.BigEndian.AppendUint32(b, uint32(h.Job))
	b = binary.BigEndian.AppendUint32(b, uint32(int32(h.To)))
	return binary.BigEndian.AppendUint32(b, uint32(int32(h.From)))
}

// ParseHeader splits a frame into its header and its payload, which aliases
// frame.
func ParseHeader(frame []byte) (Header, []byte, error) {
	if len(frame) < HeaderSize {
		return Header{}, nil, fmt.Errorf("frame of %d bytes is shorter than its header", len(frame))
	}
	if frame[1]&^flagMore != 0 {
		return Header{}, nil, fmt.Errorf("frame header % x has unknown flags", frame[:4])
	}
	h := Header{
		Kind:  Kind(frame[0]),
		More:  frame[1]&flagMore != 0,
		World: binary.BigEndian.Uint16(frame[2:]),
		Job:   job.Number(binary.BigEndian.Uint32(frame[4:])),
		To:    job.HostIndex(int32(binary.BigEndian.Uint32(frame[8:]))),
		From:  job.HostIndex(int32(binary.BigEndian.Uint32(frame[12:]))),
	}
	if h.To < Neighbor || h.From < Launcher {
		return Header{}, nil, errors.New("frame header has a destination or source that is none")
	}
	return h, frame[HeaderSize:], nil
}

// Fragments calls send with the frames that carry payload under h, none longer
// than limit bytes, in order, and stops at its first error. buf is reused for
// the frames; the grown buffer is returned.
func Fragments(buf []byte, h Header, payload []byte, limit int, send func(frame []byte) error) ([]byte, error) {
	for {
		n := min(len(payload), limit-HeaderSize)
		h.More = n < len(payload)
		buf = append(AppendHeader(buf[:0], h), payload[:n]...)
		if err := send(buf); err != nil {
			return buf, err
		}
		if payload = payload[n:]; !h.More {
			return buf, nil
		}
	}
}

// frameCost is the bytes that a kept fragment takes beside its own.
const frameCost = 64

// Assembler puts the fragments of one stream of one link together again. The
// zero value takes every message of at most MaxMessage bytes.
type Assembler struct {
	// Admit is asked of every message when it begins: how many bytes it may
	// have, or why it may not be. It may be nil.
	Admit func(Header) (most int, err error)
	// Charge is told how many bytes more are kept of unfinished messages, or
	// fewer, and reports whether that may be. It may be nil.
	Charge func(bytes int) bool

	head   Header
	open   bool
	most   int
	size   int
	cost   int
	frames [][]byte // payloads
}

// Add takes the next frame, which is the assembler's from then on. It returns a
// message once its last fragment came; done is false before that. The message
// aliases frame if it was the only one.
func (a *Assembler) Add(frame []byte) (h Header, msg []byte, done bool, err error) {
	h, payload, err := ParseHeader(frame)
	if err != nil {
		return h, nil, false, err
	}
	if a.open {
		if h.Kind != a.head.Kind || h.World != a.head.World || h.Job != a.head.Job || h.To != a.head.To || h.From != a.head.From {
			return h, nil, false, fmt.Errorf("frame of kind %d breaks into a message of kind %d", h.Kind, a.head.Kind)
		}
	} else if a.most = MaxMessage; a.Admit != nil {
		if a.most, err = a.Admit(h); err != nil {
			return h, nil, false, err
		}
	}
	if a.size+len(payload) > a.most {
		return h, nil, false, fmt.Errorf("message of kind %d exceeds %d bytes", h.Kind, a.most)
	}
	if !a.open && !h.More {
		return h, payload, true, nil
	}
	if a.Charge != nil && !a.Charge(len(frame)+frameCost) {
		return h, nil, false, fmt.Errorf("message of kind %d: too much is under way on this link", h.Kind)
	}
	a.size, a.cost = a.size+len(payload), a.cost+len(frame)+frameCost
	a.frames = append(a.frames, payload)
	a.head, a.open = h, h.More
	if h.More {
		return h, nil, false, nil
	}
	msg = slices.Concat(a.frames...)
	a.drop()
	return h, msg, true, nil
}

// drop lets go of the fragments.
func (a *Assembler) drop() {
	if a.Charge != nil {
		a.Charge(-a.cost)
	}
	a.frames, a.size, a.cost = nil, 0, 0
}

// MoreFollow reports whether a well-formed frame is not the last of its
// message.
func MoreFollow(frame []byte) bool { return len(frame) > 1 && frame[1]&flagMore != 0 }
