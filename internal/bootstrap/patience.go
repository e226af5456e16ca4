package bootstrap

import "time"

// Absence names the part of an unreachable host that is not there yet, and may come.
type Absence uint8

// The parts that may be missing.
const (
	Present    Absence = iota // something is there, or nothing is known
	NoName                    // no resolver knows the host's name
	NoListener                // the machine is up and refuses the connection
	NoAnswer                  // nobody has answered, or there is no route; the host may be missing
)

const (
	// dyingFor is the time that an agent that dies at its start is tried again.
	dyingFor = time.Second
	// tryEvery is the interval between the tries of a host that the user has counted
	// (Error.Tries).
	tryEvery = time.Second
)

// Limits bound the tries to reach a host. Those below ConnectTimeout are ConnectTimeout
// where they are 0.
type Limits struct {
	ConnectTimeout time.Duration
	// MissAfter is the time that a host that may be missing has to answer at all.
	MissAfter time.Duration
	// LateAfter is the time that a host is tried that refuses connections.
	LateAfter time.Duration
	// UnknownAfter is the time that a host is tried whose name no resolver knows.
	UnknownAfter time.Duration
}

// Patience returns the time since the first try for which a host with this error is
// worth trying: 0 where another try comes to the same. It decides on errors that may
// pass by the fields that the bootstrap has set.
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
