package pingpong

import (
	"cmp"
	"io"
	"slices"
	"time"

	"github.com/golaunch/golaunch/network/topology/measure"
)

// sizes are the sizes of messages, in bytes.
var sizes = []int{1, 64, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20}

// Messages of each size: so many to begin with, which do not count, and then so many
// that do.
const (
	warmUp = 10
	counts = 100
)

// direct is the largest message, in bytes, that the buffers of a connection take even
// if nobody reads: no sender has to wake up for it, which takes as long as a message.
const direct = 4 << 10

// exchange is a message there and back, or one in each direction at once.
type exchange func(buf []byte) error

// measureBoth measures both tests as the one that has the clock.
//
// A round trip of ping-pong, and two exchanges of ping-ping one after the other, take
// two messages' time. One exchange of ping-ping takes anything from none to twice a
// message's time: the other side sends its next message when it has received, which
// is before or after this side does.
func measureBoth(conn io.ReadWriter) ([]measure.Sample, error) {
	var samples []measure.Sample
	err := both(conn, func(test measure.Test, buf []byte, do exchange) error {
		ends := make([]time.Time, 0, counts+1)
		for i := range warmUp + counts {
			if i == warmUp {
				ends = append(ends, time.Now())
			}
			if err := do(buf); err != nil {
				return err
			}
			if i >= warmUp {
				ends = append(ends, time.Now())
			}
		}
		exchanges := 1
		if test == measure.PingPing {
			exchanges = 2
		}
		times := make([]time.Duration, 0, counts)
		for i := exchanges; i < len(ends); i += exchanges {
			times = append(times, ends[i].Sub(ends[i-exchanges]))
		}
		slices.Sort(times)
		us := float64(times[len(times)/2].Nanoseconds()) / 2e3 // of one message
		samples = append(samples, measure.Sample{Test: test, Size: int64(len(buf)), Time: us})
		return nil
	}, func(buf []byte) error {
		if _, err := conn.Write(buf); err != nil {
			return err
		}
		_, err := io.ReadFull(conn, buf)
		return err
	})
	return samples, err
}

// answerBoth takes the other side of measureBoth.
func answerBoth(conn io.ReadWriter) error {
	return both(conn, func(_ measure.Test, buf []byte, do exchange) error {
		for range warmUp + counts {
			if err := do(buf); err != nil {
				return err
			}
		}
		return nil
	}, func(buf []byte) error {
		if _, err := io.ReadFull(conn, buf); err != nil {
			return err
		}
		_, err := conn.Write(buf)
		return err
	})
}

// both goes through the tests and sizes as both sides do.
func both(conn io.ReadWriter, each func(measure.Test, []byte, exchange) error, pingPong exchange) error {
	s := newSender(conn)
	defer s.stop()
	for _, size := range sizes {
		buf := make([]byte, size)
		if err := each(measure.PingPong, buf, pingPong); err != nil {
			return err
		}
		s.message = make([]byte, size)
		if err := each(measure.PingPing, buf, func(buf []byte) error {
			if len(buf) <= direct {
				if _, err := conn.Write(s.message); err != nil {
					return err
				}
				_, err := io.ReadFull(conn, buf)
				return err
			}
			s.begin <- struct{}{}
			_, err := io.ReadFull(conn, buf)
			return cmp.Or(err, <-s.done)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sender writes while the other direction is read.
type sender struct {
	message []byte
	begin   chan struct{}
	done    chan error
}

func newSender(w io.Writer) *sender {
	s := &sender{begin: make(chan struct{}), done: make(chan error)}
	go func() {
		for range s.begin {
			_, err := w.Write(s.message)
			s.done <- err
		}
	}()
	return s
}

func (s *sender) stop() { close(s.begin) }
