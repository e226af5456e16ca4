package unix

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// parking is the state of Park in a Poller.
type parking struct {
	file atomic.Pointer[os.File] // owns epfd once it is there
	conn syscall.RawConn

	// Of the Park under way; here, so that it allocates nothing.
	buf []Ready
	got int
	err error
	try func(fd uintptr) bool
}

// Park is Wait without a timeout, for a goroutine that is not locked to its
// thread: it waits in the runtime's own poller. A thread that waits in the
// kernel keeps the runtime's monitor awake, which looks after it many times a
// millisecond at first; where many processes share a processor, as the agents of
// a test cluster do, that was a sixth of their time.
func (p *Poller) Park(buf []Ready) (int, error) {
	conn, err := p.parkingConn()
	if err != nil {
		return 0, err
	}
	p.park.buf, p.park.got, p.park.err = buf, 0, nil
	err = conn.Read(p.park.try)
	if errors.Is(err, os.ErrDeadlineExceeded) { // woken
		if err = p.park.file.Load().SetReadDeadline(time.Time{}); err == nil {
			p.park.try(0) // constant wake-ups must not hide ready descriptors
		}
	}
	switch {
	case p.closed.Load():
		return 0, fmt.Errorf("epoll_wait: %w", os.ErrClosed)
	case p.park.err != nil:
		return 0, p.park.err
	case err != nil:
		return 0, fmt.Errorf("epoll_wait: %w", err)
	}
	return p.park.got, nil
}

// parkingConn returns the epoll instance as the runtime's poller knows it. Like
// anything else in it, it is watched for edges: each Park looks itself first.
func (p *Poller) parkingConn() (syscall.RawConn, error) {
	if p.park.file.Load() != nil {
		return p.park.conn, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed.Load() {
		return nil, fmt.Errorf("epoll_wait: %w", os.ErrClosed)
	}
	if err := SetNonblock(p.epfd); err != nil { // or the runtime would not watch it
		return nil, err
	}
	file := os.NewFile(uintptr(p.epfd), "epoll")
	conn, err := file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p.park.conn = conn
	p.park.try = func(uintptr) bool {
		k := &p.park
		k.got, k.err = p.Wait(k.buf, 0)
		return k.got > 0 || k.err != nil
	}
	p.park.file.Store(file)
	// A Wake before this one went to the event descriptor.
	return conn, file.SetReadDeadline(past)
}

// past is a deadline that is over.
var past = time.Unix(1, 0)

// wakeParked ends the Park under way, or the next one, without a system call:
// its wait is over in time. It reports whether the poller is one for Park.
func (p *Poller) wakeParked() bool {
	file := p.park.file.Load()
	return file != nil && file.SetReadDeadline(past) == nil
}

// closeEpoll closes the epoll instance, by its owner.
func (p *Poller) closeEpoll() {
	if file := p.park.file.Load(); file != nil {
		file.Close()
		return
	}
	Close(p.epfd)
}
