// Package link defines the edge of the tree: an ordered, reliable pipe between
// a parent and a child that carries five independent streams of frames (docs/architecture.md). Implementations: memlink (in process), yamuxlink (over any byte
// pipe) and tlslink (a TCP connection authenticated by a per-job secret, under
// a yamuxlink). linktest holds the one conformance suite all of them pass and
// the decorator that injects faults.
//
// A link knows nothing of its frames' meaning; package tree does.
package link

import (
	"context"
	"errors"
)

// Stream is one of a link's five independent channels.
type Stream uint8

// The streams of a link. Each is FIFO; nothing is ordered between them.
const (
	Control Stream = iota // small messages, always read, never waiting for credit
	KVS                   // puts, aggregates, fences and their answers
	Data                  // point-to-point and collective payload
	Stdio                 // input and output of ranks
	Service               // signing, staging, ranges
	NumStreams
)

// MaxControlFrame and MaxFrame bound one frame, in bytes. A longer frame is
// refused by Send, and ends the link when a peer sends it.
const (
	MaxControlFrame = 64 << 10
	MaxFrame        = 1<<20 + 64
)

// MaxFrameOf returns the bound on a frame of stream s.
func MaxFrameOf(s Stream) int {
	if s == Control {
		return MaxControlFrame
	}
	return MaxFrame
}

// Recv and Send return ErrLost, wrapped with the cause, when the link ended without the
// peer's END: a failure of the peer or of the network between. ErrClosed is returned
// after this side's own Close.
var (
	ErrLost   = errors.New("link lost")
	ErrClosed = errors.New("link closed")
)

// Link is one side of a parent–child edge.
//
// Each stream may be used by one sending and one receiving goroutine at a
// time; different streams are independent: a stream that nobody reads never
// holds up another.
type Link interface {
	// Send writes one frame to stream s. It may block until the peer has
	// read enough of that stream (at most 1 MiB is ever under way per stream
	// and direction). The frame may be reused once Send returns. An empty
	// frame is legal. After End: ErrClosed.
	Send(s Stream, frame []byte) error
	// Recv returns the next frame of stream s, which the caller then owns.
	// It returns io.EOF once the peer has ended and every frame it sent on s
	// was returned, and an error wrapping ErrLost if the link died first.
	Recv(s Stream) ([]byte, error)
	// End says that this side sends no more frames on any stream, and waits
	// until the peer has received all that were sent, or ctx is done. Both
	// sides End independently; receiving goes on until the peer ends too.
	// No Send may be under way.
	End(ctx context.Context) error
	// Close tears the link down at once and releases its resources. Without a preceding
	// End the peer sees ErrLost. It unblocks every call and may be called from any
	// goroutine, repeatedly.
	Close() error
}

// Suspender is a Link that can be told that this process is about to be stopped
// (on), or runs again: in between neither side counts the other as lost because
// it is silent. It returns once the peer has been told.
type Suspender interface{ Suspend(on bool) error }
