package bootstrap

import "time"

// Absence is what is not there yet of a host that could not be reached, and may come.
type Absence uint8

// What may not be there.
const (
	Present    Absence = iota // something is there, or nothing is known
	NoName                    // no resolver knows the host's name
	NoListener                // the machine is up and refuses the connection
	NoAnswer                  // nobody has answered, or there is no route; the host may be missing
)

const (
	// dyingFor is how long an agent that dies at its start is tried again.
	dyingFor = time.Second
	// tryEvery is how often a host is tried of which the user said how often (Error.Tries).
	tryEvery = time.Second
)

// Limits bound the tries to reach a host. Those below ConnectTimeout are ConnectTimeout
// where they are 0.
type Limits struct {
	ConnectTimeout time.Duration
	// MissAfter is how long a host that may be missing has to answer at all.
	MissAfter time.Duration
	// LateAfter is how long a host is tried that refuses connections.
	LateAfter time.Duration
	// UnknownAfter is how long a host is tried whose name no resolver knows.
	UnknownAfter time.Duration
}

// Patience is for how long, since the first try, a host with this error is worth trying:
// 0 where another try comes to the same. Which errors may pass, and when, is decided
// here, by what the bootstrap says of them.
func (e *Error) Patience(l Limits) time.Duration {
	patience := time.Duration(0)
	switch {
	case e.Permanent:
		return 0
	case e.Phase == Stage, e.Phase == Handshake:
		return dyingFor
	case e.Absent == NoName:
		patience = l.UnknownAfter
	case e.Absent == NoListener:
		patience = l.LateAfter
	case e.Absent == NoAnswer:
		patience = l.MissAfter
	}
	if patience <= 0 || patience > l.ConnectTimeout {
		return l.ConnectTimeout
	}
	return patience
}

// Again tells whether a host with this error is worth another try, which would begin when
// that much time is spent since the first of so many.
func (e *Error) Again(l Limits, tries int, spent time.Duration) bool {
	switch {
	case e.Permanent:
		return false
	case spent <= e.Patience(l):
		return true
	}
	return tries < e.Tries || spent <= time.Duration(e.Tries-1)*tryEvery
}
