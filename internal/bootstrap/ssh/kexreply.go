package sshboot

import (
	"encoding/binary"
	"net"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// witness is the transport of an SSH client that keeps the server's proof from
// the first key exchange, which is in the clear. x/crypto checks the signature
// and hands out the key alone.
type witness struct {
	transport
	exchange exchangeReader // of the goroutine that reads
	proof    atomic.Pointer[Proof]
}

// Read reads from the transport.
func (w *witness) Read(p []byte) (int, error) {
	n, err := w.transport.Read(p)
	if proof := w.exchange.feed(p[:n]); proof != nil {
		w.proof.Store(proof)
	}
	return n, err
}

var _ net.Conn = (*witness)(nil)

// Messages of the first key exchange (RFC 4250 section 4.1.2, RFC 4419
// section 5). A server's message 31 may also be the group that it proposes.
const (
	msgNewKeys       = 21
	msgKexReply      = 31
	msgKexGroupReply = 33
)

const (
	// maxPacket is the longest packet, in bytes, that x/crypto reads.
	maxPacket = 256 << 10
	// maxReply is the longest packet that is kept: certificates have room.
	maxReply = 64 << 10
	// packetHead is length, length of the padding and message number
	// (RFC 4253 section 6).
	packetHead = 6
)

// exchangeReader reads a server's bytes until it encrypts, in pieces of any size: its
// version line, and packets. It holds at most one packet.
type exchangeReader struct {
	line    []byte // the beginning of a line before the first packet
	version bool   // that line is over
	head    []byte // of the packet under way
	left    int    // bytes of the packet that are to come after its head
	keep    bool   // it may be the reply
	body    []byte // of such a packet, after the head
	over    bool   // the server encrypts, or sends what is no packet
}

// feed takes a piece, and returns the last proof in it, if there is one.
func (r *exchangeReader) feed(b []byte) (proof *Proof) {
	for len(b) > 0 && !r.over {
		if !r.version {
			b = r.feedLine(b)
			continue
		}
		if missing := packetHead - len(r.head); missing > 0 {
			n := min(missing, len(b))
			r.head, b = append(r.head, b[:n]...), b[n:]
			if n < missing {
				return proof
			}
			r.begin()
		}
		n := min(r.left, len(b))
		if r.keep {
			r.body = append(r.body, b[:n]...)
		}
		b, r.left = b[n:], r.left-n
		if r.left > 0 || r.over {
			continue
		}
		if p := r.reply(); p != nil {
			proof = p // the last counts: a server may guess a method that is not taken
		}
		r.head, r.body = r.head[:0], nil
	}
	return proof
}

// feedLine takes up to the end of a line. The line that begins with SSH- is the
// last (RFC 4253 section 4.2).
func (r *exchangeReader) feedLine(b []byte) (rest []byte) {
	const mark = "SSH-"
	for i, c := range b {
		if c == '\n' {
			r.version = string(r.line) == mark
			r.line = r.line[:0]
			return b[i+1:]
		}
		if len(r.line) < len(mark) {
			r.line = append(r.line, c)
		}
	}
	return nil
}

// begin looks at the head of a packet.
func (r *exchangeReader) begin() {
	length, padding := binary.BigEndian.Uint32(r.head), uint32(r.head[4])
	if length > maxPacket || length <= padding+1 || r.head[5] == msgNewKeys {
		r.over, r.head = true, nil
		return
	}
	r.left = int(length) - 2 // padding length and message number are in the head
	r.keep = length <= maxReply && (r.head[5] == msgKexReply || r.head[5] == msgKexGroupReply)
}

// reply reads the packet that is complete, nil if it is no reply: host key, the
// server's part of the exchange and signature, each a string.
func (r *exchangeReader) reply() *Proof {
	if !r.keep {
		return nil
	}
	payload := r.body[:max(0, len(r.body)-int(r.head[4]))]
	var fields [3][]byte
	for i := range fields {
		var ok bool
		if fields[i], payload, ok = cutString(payload); !ok {
			return nil
		}
	}
	if len(payload) > 0 || keyType(fields[0]) == "" {
		return nil
	}
	return &Proof{HostKey: fields[0], Signature: fields[2]}
}

// parseSignature reads a signature of RFC 4253 section 6.6 and nothing else.
func parseSignature(b []byte) (*ssh.Signature, bool) {
	format, rest, ok := cutString(b)
	if !ok {
		return nil, false
	}
	blob, rest, ok := cutString(rest)
	return &ssh.Signature{Format: string(format), Blob: blob}, ok && len(rest) == 0
}
