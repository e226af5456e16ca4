package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// A PMI-2 message is six bytes of length, digits padded with blanks, and then
// "cmd=NAME;key=value;…;", every pair ended by a semicolon. A semicolon inside
// a value is doubled: the client libraries do so when they write and undo it
// when they read.

// headerSize is the length of a PMI-2 message's length.
const headerSize = 6

// maxThread bounds the thrid that a reply echoes, in bytes. Clients print a
// pointer.
const maxThread = 64

// form is a kind of request, by its first bytes.
type form uint8

const (
	unclear form = iota // too few bytes to tell
	oneLine             // a PMI-1 line
	framed              // a PMI-2 message
)

// errForeign refuses bytes that begin no PMI command.
var errForeign = errors.New("not a PMI command, which begins with cmd= or mcmd= (PMI-1) or with six bytes of length (PMI-2)")

// classify tells PMI-1 from PMI-2 by the first bytes of a request. size is
// that of a PMI-2 message without its header.
func classify(b []byte) (f form, size int, err error) {
	if b[0] == 'c' || b[0] == 'm' {
		if begins(b, "cmd=") || begins(b, "mcmd=") {
			return oneLine, 0, nil
		}
		return unclear, 0, errForeign
	}
	head := b[:min(len(b), headerSize)]
	for _, c := range head {
		if c != ' ' && (c < '0' || c > '9') {
			return unclear, 0, errForeign
		}
	}
	if len(head) < headerSize {
		return unclear, 0, nil
	}
	digits := bytes.Trim(head, " ")
	size, err = strconv.Atoi(string(digits))
	switch {
	case err != nil: // no digit, or a blank between digits
		return unclear, 0, errForeign
	case size == 0 || size > MaxLine:
		return unclear, 0, fmt.Errorf("PMI-2 message of %d bytes: must have 1 to %d", size, MaxLine)
	}
	return framed, size, nil
}

// message is the text of a PMI-2 message that check has let pass.
type message []byte

// next cuts the first pair off m. The value is as it came, semicolons doubled.
func (m message) next() (key, value []byte, rest message, err error) {
	eq := bytes.IndexByte(m, '=')
	semi := bytes.IndexByte(m, ';')
	if eq <= 0 || semi >= 0 && semi < eq {
		return nil, nil, nil, errors.New("no key=value pair")
	}
	end := eq + 1
	for {
		i := bytes.IndexByte(m[end:], ';')
		if i < 0 {
			return nil, nil, nil, errors.New("no semicolon at the end")
		}
		end += i
		if end+1 == len(m) || m[end+1] != ';' {
			return m[:eq], m[eq+1 : end], m[end+1:], nil
		}
		end += 2
	}
}

// check reports an error at the place where m stops being a list of pairs that begins
// with cmd.
func (m message) check() error {
	rest := m
	for first := true; len(rest) > 0; first = false {
		key, _, after, err := rest.next()
		switch at := len(m) - len(rest); {
		case err != nil:
			return fmt.Errorf("malformed PMI-2 message: %w, offset %d", err, at)
		case first != (string(key) == "cmd"):
			return fmt.Errorf("malformed PMI-2 message: cmd= must come first and once, offset %d", at)
		}
		rest = after
	}
	return nil
}

// get returns the value of the first pair with that key, semicolons single.
func (m message) get(name string) (value []byte, found bool) {
	for len(m) > 0 {
		key, value, rest, err := m.next()
		if err != nil {
			return nil, false // check has excluded it
		}
		if string(key) == name {
			return single(value), true
		}
		m = rest
	}
	return nil, false
}

// number returns the value of a pair that must be a decimal number.
func (m message) number(name string) (n int, ok bool) {
	value, found := m.get(name)
	if !found {
		return 0, false
	}
	n, err := strconv.Atoi(string(value))
	return n, err == nil
}

// single undoes the doubling of semicolons; it copies only where there are any.
func single(value []byte) []byte {
	if bytes.IndexByte(value, ';') < 0 {
		return value
	}
	return bytes.ReplaceAll(value, []byte(";;"), []byte(";"))
}

// response is a PMI-2 reply under construction, at the end of p.Data.
type response struct {
	p     *Reply
	start int
}

// respond begins the response to a request whose reply has form d. Nothing else
// may be appended to e until its end is called.
func (e *Effects) respond(r job.Rank, d due, rc int) response {
	return e.begin(r, d, "-response", rc)
}

// begin is respond for a reply that is named otherwise than by -response.
func (e *Effects) begin(r job.Rank, d due, suffix string, rc int) response {
	p := e.reply(r)
	f := response{p: p, start: len(p.Data)}
	p.Data = append(p.Data, "      cmd="...)
	p.Data = append(append(append(p.Data, d.cmd...), suffix...), ';')
	if d.thrid != "" {
		f.text("thrid", d.thrid)
	}
	f.number("rc", rc)
	return f
}

func (f response) text(key, value string) {
	f.p.Data = append(append(f.p.Data, key...), '=')
	for i := strings.IndexByte(value, ';'); i >= 0; i = strings.IndexByte(value, ';') {
		f.p.Data = append(append(f.p.Data, value[:i+1]...), ';')
		value = value[i+1:]
	}
	f.p.Data = append(append(f.p.Data, value...), ';')
}

func (f response) number(key string, n int) {
	f.p.Data = append(append(f.p.Data, key...), '=')
	f.p.Data = append(strconv.AppendInt(f.p.Data, int64(n), 10), ';')
}

// end fills in the length. It fits: the limits of requests bound their responses.
func (f response) end() {
	n := len(f.p.Data) - f.start - headerSize
	for i := headerSize - 1; n > 0; i-- {
		f.p.Data[f.start+i] = byte('0' + n%10)
		n /= 10
	}
}

// refuse answers a PMI-2 request with an error.
func (e *Effects) refuse(r job.Rank, d due, rc int, cause string) {
	f := e.respond(r, d, rc)
	f.text("errmsg", word(cause))
	f.end()
}
