package yamuxlink

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/golaunch/golaunch/internal/link"
)

const (
	// DefaultLostAfter is Config.LostAfter where that is 0.
	DefaultLostAfter = 10 * time.Second

	// window bounds the unread bytes per stream and direction.
	window = 1 << 20
	// lingerTime bounds the wait for a peer before a connection is closed: for its Done
	// after a complete end, and for the last bytes of one that takes no more.
	lingerTime = time.Second

	// maxControlBacklog bounds the bytes received on Control and not yet asked for.
	// Control never waits, so that a peer that leaves more unread loses the link.
	maxControlBacklog = 16 << 20
)

// Config configures one side of a link.
type Config struct {
	// Parent is true on exactly one of the two sides.
	Parent bool
	// LostAfter is the time that a peer may be silent, or refuse bytes, before the link
	// is lost; 0 means DefaultLostAfter. Both sides should have the same: each sends
	// beats by its own.
	LostAfter time.Duration
	// Silent, if not nil, is told that the link is lost for the peer's silence, and
	// how, before the connection is closed: closing it may take its time. It must
	// not call the link.
	Silent func(cause error)
	// Log receives the multiplexer's messages, a line at a time without its end,
	// possibly from several goroutines at once; nil discards it. It must not call the
	// link.
	Log func(line string)
}

func (c Config) validate() (Config, error) {
	if c.LostAfter < 0 {
		return c, fmt.Errorf("link: LostAfter is negative: %v", c.LostAfter)
	}
	if c.LostAfter == 0 {
		c.LostAfter = DefaultLostAfter
	}
	if c.Silent == nil {
		c.Silent = func(error) {}
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	return c, nil
}

// muxConfig turns off all decisions of yamux's own: liveness, write timeouts and the
// closing of sessions are the link's.
func (c Config) muxConfig() *yamux.Config {
	return &yamux.Config{
		AcceptBacklog:          int(link.NumStreams), // streams that the parent opens without waiting
		EnableKeepAlive:        false,
		KeepAliveInterval:      math.MaxInt64, // unused, but must not be 0
		ConnectionWriteTimeout: math.MaxInt64, // see vigil: a stalled write ends the session
		MaxStreamWindowSize:    window,
		StreamOpenTimeout:      0, // would close a healthy session
		StreamCloseTimeout:     0, // streams end with their session
		LogOutput:              nil,
		Logger:                 muxLogger(c.Log),
	}
}

// open starts the multiplexer over conn.
func (c Config) open(conn io.ReadWriteCloser) (*yamux.Session, error) {
	if c.Parent {
		return yamux.Client(conn, c.muxConfig())
	}
	return yamux.Server(conn, c.muxConfig())
}

// muxLogger adapts Config.Log to yamux.Logger.
type muxLogger func(line string)

func (l muxLogger) Print(v ...any)                 { l(trim(fmt.Sprint(v...))) }
func (l muxLogger) Printf(format string, v ...any) { l(trim(fmt.Sprintf(format, v...))) }
func (l muxLogger) Println(v ...any)               { l(trim(fmt.Sprintln(v...))) }

func trim(s string) string { return strings.TrimRight(s, "\n") }
