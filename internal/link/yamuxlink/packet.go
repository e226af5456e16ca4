package yamuxlink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/golaunch/golaunch/internal/link"
)

// kind is the first byte of a packet (see the package comment).
type kind uint8

const (
	kindFrame kind = iota
	kindEnd
	kindAck
	kindDone
	kindBeat
	kindSuspend
	kindResume
	numKinds
)

const packetHeader = 4 // bytes: kind, 24 bits of length

// A frame's length fits the header's 24 bits.
const _ = uint(1<<24 - 1 - link.MaxFrame)

// appendHeader appends the header of a packet with n bytes of payload.
func appendHeader(b []byte, k kind, n int) []byte {
	return binary.BigEndian.AppendUint32(b, uint32(k)<<24|uint32(n))
}

// readPacket reads one packet of stream s. It takes memory for the payload only
// after the header was found legal. A stream that stops inside a packet is
// io.ErrUnexpectedEOF.
func readPacket(r io.Reader, s link.Stream) (kind, []byte, error) {
	var head [packetHeader]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	k := kind(head[0])
	n := int(binary.BigEndian.Uint32(head[:]) & (1<<24 - 1))
	switch {
	case k >= numKinds:
		return 0, nil, protocolError("stream %v: unknown packet kind %d", s, k)
	case k > kindEnd && s != link.Control:
		return 0, nil, protocolError("stream %v: packet kind %d belongs on control", s, k)
	case k != kindFrame && n > 0:
		return 0, nil, protocolError("stream %v: packet kind %d with a payload of %d bytes", s, k, n)
	case n > link.MaxFrameOf(s):
		return 0, nil, protocolError("stream %v: a frame of %d bytes exceeds the limit of %d", s, n, link.MaxFrameOf(s))
	case n == 0:
		return k, nil, nil
	}
	payload := make([]byte, n)
	if _, err := io.ReadFull(r, payload); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return k, payload, nil
}

// protocolError says that the peer broke the protocol of this package.
func protocolError(format string, args ...any) error {
	return fmt.Errorf("protocol error: "+format, args...)
}
