package commsplit

import (
	"encoding/binary"
	"fmt"
)

// Sizes of a message's parts, in bytes.
const (
	WordBytes = 8
	RankBytes = 4
)

// Tag names the step of an algorithm that a message belongs to. Two processes can be a
// step apart, so a process that awaits one tag may be sent another.
type Tag uint32

// Message goes from one process to another in one step. Within one address space the
// slices may be passed on as they are: the receiver only reads them and keeps none
// after its step, and the sender leaves them alone during its next step. Across a link
// they are copied.
type Message struct {
	From, To int // process numbers
	Tag      Tag
	Rows     []Row
	Words    []uint64
	Ranks    []uint32 // old ranks
}

// Size returns the payload in bytes: 12 per row, 8 per word, 4 per rank.
func (m *Message) Size() int {
	return RowBytes*len(m.Rows) + WordBytes*len(m.Words) + RankBytes*len(m.Ranks)
}

// headerBytes holds the numbers of rows and of words; the ranks are the rest.
const headerBytes = 8

// AppendPayload appends the message's contents as they travel on a link: two
// 32-bit counts, then Size bytes, little-endian.
func (m *Message) AppendPayload(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Rows)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(m.Words)))
	for _, r := range m.Rows {
		b = appendRow(b, r)
	}
	for _, w := range m.Words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	for _, r := range m.Ranks {
		b = binary.LittleEndian.AppendUint32(b, r)
	}
	return b
}

// ParsePayload sets the message's contents from the output of AppendPayload.
func (m *Message) ParsePayload(b []byte) error {
	if len(b) < headerBytes {
		return fmt.Errorf("commsplit: message of %d bytes is too short", len(b))
	}
	rows, words := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
	b = b[headerBytes:]
	rest := len(b) - rows*RowBytes - words*WordBytes
	if rest < 0 || rest%RankBytes != 0 {
		return fmt.Errorf("commsplit: message of %d bytes cannot hold %d rows and %d words", len(b), rows, words)
	}
	m.Rows, m.Words, m.Ranks = make([]Row, rows), make([]uint64, words), make([]uint32, rest/RankBytes)
	for i := range m.Rows {
		m.Rows[i], b = parseRow(b), b[RowBytes:]
	}
	for i := range m.Words {
		m.Words[i], b = binary.LittleEndian.Uint64(b), b[WordBytes:]
	}
	for i := range m.Ranks {
		m.Ranks[i], b = binary.LittleEndian.Uint32(b), b[RankBytes:]
	}
	return nil
}

// Outbox is the outcome of a process's step: messages to send, and those it awaits
// before its next step.
type Outbox struct {
	Messages []Message

	from  int
	tag   Tag
	count int
	done  bool
	err   error
	stats *Stats
}

// Awaits says that the process's next step needs count messages with this tag.
func (o *Outbox) Awaits() (tag Tag, count int) { return o.tag, o.count }

// Done reports that the process has its result and takes no further step.
func (o *Outbox) Done() bool { return o.done }

// Err returns the error of a process that ended without a result: others do not keep to
// the algorithm.
func (o *Outbox) Err() error { return o.err }

func (o *Outbox) send(m Message) {
	m.From = o.from
	o.Messages = append(o.Messages, m)
	o.stats.Messages++
	o.stats.Bytes += m.Size()
}

func (o *Outbox) await(tag Tag, count int) { o.tag, o.count = tag, count }
