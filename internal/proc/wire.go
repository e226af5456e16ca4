package proc

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// The socket between agent and warden keeps message boundaries. A message is
// cut into packets: one byte that says what it is, one that says whether more
// of it follows, and a piece of its body. Descriptors travel with messages
// of one packet only. Both ends are the same executable, so there is no version.
const (
	packetHeader = 2
	packetSize   = 32 << 10 // largest packet sent; well below the kernel's default send buffer
	packetRoom   = 64 << 10 // largest packet received
	maxMessage   = 64 << 20 // largest message; a Spec with argv and environment is far below
	ranksPerMsg  = 64       // children per message, so that the first start while the last are encoded
)

// msgKind tells messages apart.
type msgKind uint8

const (
	// From the agent to the warden, about a job, whose number comes first.
	msgOpen    msgKind = iota + 1 // nil
	msgSpec                       // Spec, for the msgRanks after it
	msgRanks                      // []Child
	msgSignal                     // wireSignal
	msgKill                       // time.Duration
	msgScratch                    // []string
	msgHelper                     // Helper
	msgClose                      // nil
	// From the agent to the warden.
	msgFinish // nil
	msgBeat   // nil, see heartbeat
	// From the warden to the agent.
	msgHello  // hello
	msgEvents // []wireEvent
	msgBye    // nil; the end of the socket follows
)

// wireSignal is a signal for the ranks of one world, or of everyWorld.
type wireSignal struct {
	World  int
	Signal int
}

const everyWorld = -1

// hello is the warden's first message.
type hello struct {
	PID      int
	Cgroup   string // directory of the tree's cgroup, below which jobs have theirs; empty if there is none
	NoCgroup string // why there is none
}

// eventKind tells wireEvents apart.
type eventKind uint8

const (
	evStarted eventKind = iota + 1
	evStartFailed
	evExited
	evNote
	evGone
	evBeat
	evHelperStarted
	evHelperEnded
	evClosed
)

// wireEvent is any Event. A started rank's descriptors are, in the order of the
// events of a message, stdin if StdinPipe, stdout, stderr, PMI; with a Terminal its
// master twice, to write and to read, and PMI; a helper's its socket and its output.
type wireEvent struct {
	Kind      eventKind
	Job       job.Number // 0 for none
	World     int
	Rank      int // or the number of a helper
	PID       int
	Code      int // exit code of StartFailed, wait status of Exited and HelperEnded, level of Note
	StdinPipe bool
	Terminal  bool
	Provoked  bool
	Cut       bool
	Text      string // of StartFailed, Note, Gone and HelperEnded; Killer of Exited
	User      time.Duration
	System    time.Duration
	MaxRSS    int64
	At        int64         // of Started and Exited: nanoseconds of Unix time
	Clock     time.Duration // of Exited
}

// fds returns the number of descriptors that come with the event.
func (e *wireEvent) fds() int {
	switch {
	case e.Kind == evHelperStarted:
		return 2
	case e.Kind != evStarted:
		return 0
	case e.StdinPipe:
		return 4
	}
	return 3
}

// encode returns the packets of a message whose fields are described; nil has
// none.
func encode(kind msgKind, fields func(*coder)) ([][]byte, error) {
	b := encodeBody(fields)
	if len(b) > maxMessage {
		return nil, fmt.Errorf("message of %d bytes is over the limit of %d: shorten the arguments or the environment", len(b), maxMessage)
	}
	var packets [][]byte
	for {
		piece := b[:min(len(b), packetSize-packetHeader)]
		b = b[len(piece):]
		p := make([]byte, packetHeader, packetHeader+len(piece))
		p[0] = byte(kind)
		if len(b) > 0 {
			p[1] = 1
		}
		packets = append(packets, append(p, piece...))
		if len(b) == 0 {
			return packets, nil
		}
	}
}

// assembler puts messages together from packets.
type assembler struct {
	kind    msgKind
	partial []byte
}

// add takes one packet. It returns the message that the packet completes, whose
// body is valid until the packet's buffer is reused, or kind 0.
func (a *assembler) add(packet []byte) (msgKind, []byte, error) {
	if len(packet) < packetHeader || packet[1] > 1 {
		return 0, nil, fmt.Errorf("malformed packet of %d bytes", len(packet))
	}
	kind, more, body := msgKind(packet[0]), packet[1] == 1, packet[packetHeader:]
	switch {
	case kind < msgOpen || kind > msgBye:
		return 0, nil, fmt.Errorf("packet of unknown kind %d", kind)
	case a.kind != 0 && a.kind != kind:
		return 0, nil, fmt.Errorf("packet of kind %d inside a message of kind %d", kind, a.kind)
	case len(a.partial)+len(body) > maxMessage:
		return 0, nil, fmt.Errorf("message of kind %d is over the limit of %d bytes", kind, maxMessage)
	case more:
		a.kind, a.partial = kind, append(a.partial, body...)
		return 0, nil, nil
	case a.kind != 0:
		body = append(a.partial, body...)
		a.kind, a.partial = 0, nil
	}
	return kind, body, nil
}
