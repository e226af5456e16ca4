package rendezvous

import (
	"encoding/binary"
	"fmt"
	"io"
)

// maxText bounds a host's name, an address or a reason, in bytes.
const maxText = 1 << 10

// verb is the action of an order.
type verb byte

const (
	doLink verb = 'l' // this connection is the link: say so, and begin
	doDial verb = 'd' // hang up and call the address in the text
	doEnd  verb = 'r' // nobody wants it, for the reason in the text
)

// present is the agent's answer to doLink.
const present = 'l'

// order is a message to an agent.
type order struct {
	verb verb
	text string
}

// appendText appends a text, shortened to its bound, behind its length.
func appendText(b []byte, text string) []byte {
	text = text[:min(len(text), maxText)]
	return append(binary.BigEndian.AppendUint16(b, uint16(len(text))), text...)
}

// readText reads a text of appendText's, and no byte more.
func readText(r io.Reader) (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	n := binary.BigEndian.Uint16(head[:])
	if n > maxText {
		return "", fmt.Errorf("a text of %d bytes, of at most %d", n, maxText)
	}
	text := make([]byte, n)
	_, err := io.ReadFull(r, text)
	return string(text), err
}

// call encodes an agent's first message: the name of its host.
func call(host string) []byte { return appendText(nil, host) }

func readCall(r io.Reader) (host string, err error) {
	if host, err = readText(r); err == nil && host == "" {
		err = fmt.Errorf("it does not say on which host it is")
	}
	return host, err
}

func (o order) encode() []byte { return appendText([]byte{byte(o.verb)}, o.text) }

func readOrder(r io.Reader) (o order, err error) {
	var head [1]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return order{}, err
	}
	if o.verb = verb(head[0]); o.verb != doLink && o.verb != doDial && o.verb != doEnd {
		return order{}, fmt.Errorf("order %q is not known", head[0])
	}
	o.text, err = readText(r)
	return o, err
}
