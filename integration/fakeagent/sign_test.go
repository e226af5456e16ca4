package fakeagent

import (
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"
)

// A server's words in clear are looked at as they come, in pieces of any size.
func TestTapFindsTheProof(t *testing.T) {
	packet := func(payload []byte) []byte {
		return append([]byte{0, 0, 0, byte(1 + len(payload)), 0}, payload...) // without padding
	}
	reply := ssh.Marshal(struct{ HostKey, Share, Signature []byte }{[]byte("key"), []byte("share"), []byte("signature")})
	const banner = "SSH-2.0-x\r\n"
	for name, x := range map[string]struct {
		answer []byte
		proof  proof
		over   bool
	}{
		"proof":           {append([]byte(banner), append(packet([]byte{20}), packet(append([]byte{31}, reply...))...)...), proof{[]byte("key"), []byte("signature")}, true},
		"none":            {append([]byte(banner), packet([]byte{21})...), proof{}, true},
		"empty packet":    {[]byte(banner + "\x00\x00\x00\x00\x00\x00"), proof{}, true},
		"no payload":      {[]byte(banner + "\x00\x00\x00\x01\x00\x00"), proof{}, true},
		"not whole":       {[]byte(banner + "\x00\x00\x00\x09\x00\x1f"), proof{}, false},
		"no banner's end": {[]byte("SSH-2.0-x"), proof{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := net.Pipe()
			defer ours.Close()
			go func() { // ends with all that was said
				for _, b := range x.answer {
					_, _ = theirs.Write([]byte{b})
				}
				theirs.Close()
			}()
			tapped := &tap{Conn: ours}
			for buffer := make([]byte, 16); ; {
				if _, err := tapped.Read(buffer); err != nil {
					break
				}
			}
			require.Equal(t, x.proof, tapped.proof)
			require.Equal(t, x.over, tapped.over)
		})
	}
}
