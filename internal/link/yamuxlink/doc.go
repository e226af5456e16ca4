// Package yamuxlink is a link.Link over any byte pipe: the standard input and output of
// an SSH session, a socket pair, a TLS connection. The yamux multiplexer gives the five
// streams their independence; this package adds the parts that yamux lacks: frames, an
// acknowledged end, and liveness.
//
// # Wire format
//
// The parent is yamux's client and opens five streams. The first byte it sends
// on each is the link.Stream; it sends on at once, without waiting for the
// child. From then on either side sends records:
//
//	+------+----------------------+---------------------+
//	| kind | length, 24 bits, big | length bytes        |
//	+------+----------------------+---------------------+
//
// Frame (0) carries a frame and End (1) says that none follows on its stream.
// On Control only, and there also after End, with no payload:
//
//   - Ack (2): the sender's Recv has returned io.EOF on all five streams.
//   - Done (3): the sender has sent and received Ack; it needs nothing more.
//   - Beat (4): the sender lives.
//   - Suspend (5), Resume (6): expect no life from the sender; expect it again.
//
// A connection that ends without End is a loss. Since closing a connection can
// destroy bytes that the peer has yet to read (a TCP reset), Close after a
// complete end waits for the peer's Done, at most for lingerTime.
//
// # Liveness
//
// A peer is lost when no byte of it arrived, or when it took no byte of a write
// under way, for Config.LostAfter. A side that has nothing else to send sends
// Beats. Time is counted in ticks of LostAfter/10, so that a process that was
// itself stopped, and wakes up an hour later, does not blame its peers.
//
// # Cost
//
// A link owns three goroutines, two of them yamux's, and a timer; End adds one
// while it writes. An idle side takes 20 to 30 KiB, stacks included
// (BenchmarkIdle). A frame of up to 32 KiB is one write on the connection.
//
// Not here: authentication (the pipe is authenticated, see tlslink), integrity (the
// pipe has it), and the meaning of frames (package tree).
package yamuxlink
