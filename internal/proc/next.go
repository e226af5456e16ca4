package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// Next waits for events and returns those of one message, in order. It returns
// io.EOF when the warden has ended after Finish, os.ErrClosed after Close, and
// otherwise ErrLost: the warden died, or this process ran out of descriptors for
// what it sent.
func (w *Warden) Next() ([]Event, error) {
	for {
		kind, body, fds, err := w.message()
		switch {
		case err != nil && w.isClosed():
			return nil, os.ErrClosed
		case w.bye && errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, w.lost(err)
		}
		switch kind {
		case msgBye:
			w.bye = true
			closeAll(fds)
		case msgEvents:
			events, err := takeEvents(body, fds)
			if err != nil {
				return nil, w.lost(err)
			}
			return events, nil
		default:
			closeAll(fds)
			return nil, w.lost(fmt.Errorf("unexpected message of kind %d", kind))
		}
	}
}

// message waits for a message from the warden. The descriptors are the caller's.
func (w *Warden) message() (kind msgKind, body []byte, fds []int, err error) {
	for kind == 0 {
		var packet []byte
		var rerr error
		err := w.raw.Read(func(fd uintptr) bool {
			packet, fds, rerr = w.recv.Recv(int(fd))
			return !errors.Is(rerr, unix.EAGAIN)
		})
		switch {
		case err != nil:
			return 0, nil, nil, err
		case errors.Is(rerr, syscall.ECONNRESET): // it died with commands unread
			return 0, nil, nil, io.EOF
		case rerr != nil:
			return 0, nil, nil, rerr
		}
		if kind, body, err = w.packets.add(packet); err != nil {
			closeAll(fds)
			return 0, nil, nil, err
		}
		if kind == 0 && len(fds) > 0 {
			closeAll(fds)
			return 0, nil, nil, errors.New("descriptors with a part of a message")
		}
	}
	return kind, body, fds, nil
}

// takeEvents decodes a message of events and gives each its descriptors. On
// error none is left open.
func takeEvents(body []byte, fds []int) ([]Event, error) {
	events, err := parseEvents(body, fds)
	if err != nil {
		closeAll(fds)
		return nil, err
	}
	for _, fd := range fds {
		if err := unix.SetNonblock(fd); err != nil {
			closeAll(fds)
			return nil, err
		}
	}
	return events, nil
}

func parseEvents(body []byte, fds []int) ([]Event, error) {
	var wire []wireEvent
	if err := decode(msgEvents, body, wireEvents(&wire)); err != nil {
		return nil, err
	}
	events := make([]Event, 0, len(wire))
	for i := range wire {
		e := &wire[i]
		if e.fds() > len(fds) {
			return nil, fmt.Errorf("rank or helper %d: started with %d descriptors instead of %d", e.Rank, len(fds), e.fds())
		}
		event, err := e.event(fds)
		if err != nil {
			return nil, err
		}
		events, fds = append(events, event), fds[e.fds():]
	}
	if len(fds) > 0 {
		return nil, fmt.Errorf("%d descriptors belong to no event", len(fds))
	}
	return events, nil
}

// event converts to what the package's user sees; fds begins with the event's
// own.
func (e *wireEvent) event(fds []int) (Event, error) {
	rank := job.Rank(e.Rank)
	switch e.Kind {
	case evStarted:
		s := Started{Job: e.Job, World: e.World, Rank: rank, PID: e.PID, Stdin: -1, At: time.Unix(0, e.At)}
		switch {
		case e.Terminal:
			s.Stdin, s.Stdout, s.Stderr, s.PMI = fds[0], fds[1], -1, fds[2]
			return s, nil
		case e.StdinPipe:
			s.Stdin, fds = fds[0], fds[1:]
		}
		s.Stdout, s.Stderr, s.PMI = fds[0], fds[1], fds[2]
		return s, nil
	case evStartFailed:
		return StartFailed{Job: e.Job, World: e.World, Rank: rank, Code: e.Code, Text: e.Text, Provoked: e.Provoked}, nil
	case evExited:
		return Exited{
			Job: e.Job, World: e.World, Rank: rank, PID: e.PID, Status: syscall.WaitStatus(e.Code), Killer: e.Text,
			Usage: Usage{User: e.User, System: e.System, MaxRSS: e.MaxRSS},
			At:    time.Unix(0, e.At), Clock: e.Clock, Provoked: e.Provoked, Cut: e.Cut,
		}, nil
	case evNote:
		return Note{Job: e.Job, Level: e.Code, Text: e.Text}, nil
	case evBeat:
		return Beat{}, nil
	case evGone:
		return Gone{Job: e.Job, Text: e.Text}, nil
	case evHelperStarted:
		return HelperStarted{Job: e.Job, Number: e.Rank, PID: e.PID, Socket: fds[0], Output: fds[1]}, nil
	case evHelperEnded:
		return HelperEnded{Job: e.Job, Number: e.Rank, PID: e.PID, Status: syscall.WaitStatus(e.Code), Text: e.Text, Provoked: e.Provoked}, nil
	case evClosed:
		return JobClosed{e.Job}, nil
	}
	return nil, fmt.Errorf("event of unknown kind %d", e.Kind)
}
