package record

import (
	"encoding/binary"
	"fmt"
)

// Undefined is the colour of a member that wants no communicator of a Split.
const Undefined = 1<<32 - 1

const choiceBytes = 8

// AppendChoice appends a member's choice in a Split, the body of its Enter: its colour,
// then its key, four little-endian bytes each.
func AppendChoice(b []byte, color uint32, key int32) []byte {
	b = binary.LittleEndian.AppendUint32(b, color)
	return binary.LittleEndian.AppendUint32(b, uint32(key))
}

// ParseChoice reads it.
func ParseChoice(b []byte) (color uint32, key int32, err error) {
	if len(b) != choiceBytes {
		return 0, 0, fmt.Errorf("a colour and a key in %d bytes", len(b))
	}
	return binary.LittleEndian.Uint32(b), int32(binary.LittleEndian.Uint32(b[4:])), nil
}
