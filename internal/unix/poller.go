package unix

import (
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// wakeTag marks the poller's own event descriptor among the results.
const wakeTag = math.MaxUint64

// Ready is one descriptor that can be acted upon.
type Ready struct {
	Tag      uint64 // as given to Add
	Readable bool   // data, a connection, or end of file can be read without blocking
	Writable bool   // at least one byte can be written without blocking
	// HangUp says that the other end is gone: a reader reads the rest and then end of
	// file, a writer gets EPIPE. It is reported whether or not anything was asked for.
	HangUp bool
}

// Poller waits for readiness of many descriptors, level triggered: one is
// reported for as long as it is ready. Wait belongs to one goroutine; the other
// methods may be called from any, and return os.ErrClosed after Close.
type Poller struct {
	mu     sync.RWMutex // held for reading during every use of the descriptors
	closed atomic.Bool
	epfd   int
	wakefd int
	raw    []unix.EpollEvent // Wait's
	woken  uint64            // Wait's: the tag of the first result of the last one
	park   parking
}

// NewPoller returns an empty poller, which holds two descriptors until Close.
func NewPoller() (*Poller, error) {
	epfd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create1: %w", err)
	}
	wakefd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(epfd)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	p := &Poller{epfd: epfd, wakefd: wakefd}
	if err := p.ctl(unix.EPOLL_CTL_ADD, wakefd, wakeTag, unix.EPOLLIN); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Add watches fd for input and for the other end's hang-up. The tag, which Wait
// hands back, is the caller's; the largest uint64 is reserved.
func (p *Poller) Add(fd int, tag uint64) error {
	return p.add(fd, tag, events(true, false))
}

// AddWrite watches fd for room to write, and for the other end's hang-up.
func (p *Poller) AddWrite(fd int, tag uint64) error {
	return p.add(fd, tag, events(false, true))
}

// AddEnd watches fd for the other end's hang-up, which is reported once, and for
// nothing else. It is watched for as long as the open file lives, though fd be
// closed, if a duplicate does in another process.
func (p *Poller) AddEnd(fd int, tag uint64) error {
	return p.add(fd, tag, unix.EPOLLONESHOT)
}

func (p *Poller) add(fd int, tag uint64, ev uint32) error {
	if tag == wakeTag {
		return fmt.Errorf("epoll_ctl: descriptor %d: tag %d is reserved", fd, tag)
	}
	return p.ctl(unix.EPOLL_CTL_ADD, fd, tag, ev)
}

// Modify replaces the events that a descriptor added before is watched for, and its
// tag. With neither, only hang-ups are reported.
func (p *Poller) Modify(fd int, tag uint64, read, write bool) error {
	if tag == wakeTag {
		return fmt.Errorf("epoll_ctl: descriptor %d: tag %d is reserved", fd, tag)
	}
	return p.ctl(unix.EPOLL_CTL_MOD, fd, tag, events(read, write))
}

// Remove stops watching fd. It must be called before fd is closed if a
// duplicate of fd lives on, here or in another process: the kernel goes on
// reporting the open file otherwise.
func (p *Poller) Remove(fd int) error {
	return p.ctl(unix.EPOLL_CTL_DEL, fd, 0, 0)
}

func events(read, write bool) uint32 {
	var ev uint32
	if read {
		ev |= unix.EPOLLIN | unix.EPOLLRDHUP
	}
	if write {
		ev |= unix.EPOLLOUT
	}
	return ev
}

func (p *Poller) ctl(op, fd int, tag uint64, ev uint32) error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed.Load() {
		return fmt.Errorf("epoll_ctl: descriptor %d: %w", fd, os.ErrClosed)
	}
	e := unix.EpollEvent{Events: ev, Fd: int32(uint32(tag)), Pad: int32(uint32(tag >> 32))}
	if err := unix.EpollCtl(p.epfd, op, fd, &e); err != nil {
		return fmt.Errorf("epoll_ctl: descriptor %d: %w", fd, err)
	}
	return nil
}

// Wait fills buf with descriptors that are ready and returns how many. It
// returns 0 when the timeout has passed (rounded up to a millisecond; negative
// means none), after a Wake, and when a signal arrived. A Wake takes a place in
// buf, which must not be empty.
// Close makes it return os.ErrClosed.
func (p *Poller) Wait(buf []Ready, timeout time.Duration) (int, error) {
	if len(buf) == 0 {
		return 0, fmt.Errorf("epoll_wait: no room for results")
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.raw) < len(buf) {
		p.raw = make([]unix.EpollEvent, len(buf))
	}
	if p.closed.Load() {
		return 0, fmt.Errorf("epoll_wait: %w", os.ErrClosed)
	}
	// No more than there is room for: an end (AddEnd) is reported by the kernel once.
	got, err := epollWait(p.epfd, p.raw[:len(buf)], timeout)
	switch {
	case p.closed.Load():
		return 0, fmt.Errorf("epoll_wait: %w", os.ErrClosed)
	case err == unix.EINTR:
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("epoll_wait: %w", err)
	}
	n := 0
	p.woken = wakeTag
	if got > 0 { // they are in the order in which they became ready
		p.woken = tagOf(p.raw[0])
	}
	for _, e := range p.raw[:got] {
		tag := tagOf(e)
		if tag == wakeTag {
			p.drainWake()
			continue
		}
		buf[n] = Ready{
			Tag:      tag,
			Readable: e.Events&(unix.EPOLLIN|unix.EPOLLRDHUP|unix.EPOLLHUP) != 0,
			Writable: e.Events&unix.EPOLLOUT != 0,
			HangUp:   e.Events&(unix.EPOLLHUP|unix.EPOLLERR|unix.EPOLLRDHUP) != 0,
		}
		n++
	}
	return n, nil
}

func tagOf(e unix.EpollEvent) uint64 { return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32 }

// Woken reports whether the descriptor of this tag was the first ready one of the last
// Wait, before any Wake: if it had to wait, that ended it. It belongs to Wait's
// goroutine.
func (p *Poller) Woken(tag uint64) bool { return p.woken == tag }

// epollWait waits, if it is to wait.
func epollWait(epfd int, events []unix.EpollEvent, timeout time.Duration) (int, error) {
	if timeout == 0 {
		return tryEpollWait(epfd, events)
	}
	return unix.EpollWait(epfd, events, millis(timeout))
}

// millis converts to epoll_wait's unit, rounding up so that a short timeout does not
// become a busy loop.
func millis(d time.Duration) int {
	if d < 0 {
		return -1
	}
	// Not (d + ms - 1) / ms, which overflows for the longest durations.
	ms := d / time.Millisecond
	if d%time.Millisecond != 0 {
		ms++
	}
	return int(min(ms, math.MaxInt32))
}

// Wake makes the current or the next Wait return. Wakes that arrive before that
// Wait are one.
func (p *Poller) Wake() {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if !p.closed.Load() && !p.wakeParked() {
		p.wake()
	}
}

func (p *Poller) wake() {
	one := [8]byte{1}
	for {
		// EAGAIN means that the counter is full: the poller is awake already.
		if _, err := unix.Write(p.wakefd, one[:]); err != unix.EINTR {
			return
		}
	}
}

func (p *Poller) drainWake() {
	var count [8]byte
	for {
		if _, err := unix.Read(p.wakefd, count[:]); err != unix.EINTR {
			return
		}
	}
}

// Close makes a Wait in progress return, waits for that, and releases the
// poller. Descriptors that it watched stay open. Closing again does nothing.
func (p *Poller) Close() {
	if p.closed.Swap(true) {
		return
	}
	p.wake()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closeEpoll()
	Close(p.wakefd)
}
