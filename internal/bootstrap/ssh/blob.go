package sshboot

import "encoding/binary"

// maxString bounds a string inside a blob; certificates are the largest.
const maxString = 64 << 10

// cutString reads a string of RFC 4251 section 5 off the front of b.
func cutString(b []byte) (s, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := binary.BigEndian.Uint32(b)
	if n > maxString || int64(n) > int64(len(b)-4) {
		return nil, nil, false
	}
	return b[4 : 4+n], b[4+n:], true
}

// keyType returns the type that a public key blob begins with, "" if it has none.
func keyType(blob []byte) string {
	s, rest, ok := cutString(blob)
	if !ok || len(s) > 64 || len(rest) == 0 {
		return ""
	}
	return string(s)
}
