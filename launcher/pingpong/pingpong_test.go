package pingpong

import (
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/topology/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPairs(t *testing.T) {
	words := Args([][2]int{{0, 1}, {2, 10}})
	require.Equal(t, []string{Word, "0-1,2-10"}, words)
	pairs, err := parsePairs(words[1], 11)
	require.NoError(t, err)
	assert.Equal(t, [][2]int{{0, 1}, {2, 10}}, pairs)
	for text, want := range map[string]string{
		"":       `pair "": expected two ranks below 2`,
		"0":      `pair "0": expected two ranks below 2`,
		"0-2":    `pair "0-2": expected two ranks below 2`,
		"0--1":   `pair "0--1": expected two ranks below 2`,
		"0-1,":   `pair "": expected two ranks below 2`,
		"1-1":    `pair "1-1": expected two different ranks`,
		"0-1,ab": `pair "ab": expected two ranks below 2`,
	} {
		_, err := parsePairs(text, 2)
		require.EqualError(t, err, want, text)
	}
}

func TestOutsideOfAJob(t *testing.T) {
	assert.Equal(t, 1, Main(nil))
	t.Setenv("GOLAUNCH_FD", "")
	assert.Equal(t, 1, Main([]string{"0-1"}))
}

func listening(t *testing.T) *net.TCPListener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	return listener.(*net.TCPListener)
}

var known = secrets{call: [secretLen]byte{1}, answer: [secretLen]byte{2}}

// accepted is what accept returns, once.
type accepted struct {
	conn net.Conn
	err  error
}

func accepting(listener *net.TCPListener, deadline time.Time) chan accepted {
	c := make(chan accepted, 1)
	go func() {
		conn, err := accept(listener, known, deadline)
		c <- accepted{conn, err}
	}()
	return c
}

// Two that know the secrets measure; each time is there for each test and size, and
// nobody listens any more.
func TestBothSides(t *testing.T) {
	listener := listening(t)
	c := accepting(listener, time.Now().Add(time.Minute))
	caller, err := call(listener.Addr().String(), known)
	require.NoError(t, err)
	defer caller.Close()
	a := <-c
	require.NoError(t, a.err)
	defer a.conn.Close()
	_, err = net.Dial("tcp", listener.Addr().String())
	require.ErrorContains(t, err, "refused")
	answered := make(chan error, 1)
	go func() { answered <- answerBoth(caller) }()
	samples, err := measureBoth(a.conn)
	require.NoError(t, err)
	require.NoError(t, <-answered)
	require.Len(t, samples, 2*len(sizes))
	for i, s := range samples {
		require.NoError(t, s.Check())
		assert.Equal(t, int64(sizes[i/2]), s.Size)
		assert.Equal(t, []measure.Test{measure.PingPong, measure.PingPing}[i%2], s.Test)
	}
}

// Who does not know the secret is sent away, and the one that does still gets in.
func TestStrangers(t *testing.T) {
	listener := listening(t)
	addr := listener.Addr().String()
	c := accepting(listener, time.Now().Add(time.Minute))
	_, err := call(addr, secrets{call: [secretLen]byte{9}, answer: known.answer})
	require.Error(t, err)
	gone, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	gone.Close()
	caller, err := call(addr, known)
	require.NoError(t, err)
	defer caller.Close()
	a := <-c
	require.NoError(t, a.err)
	a.conn.Close()
}

// Nor is the one that listens taken at its word.
func TestStrangerListens(t *testing.T) {
	listener := listening(t)
	c := accepting(listener, time.Now().Add(time.Minute))
	_, err := call(listener.Addr().String(), secrets{call: known.call})
	require.ErrorIs(t, err, errStranger)
	a := <-c
	require.NoError(t, a.err)
	a.conn.Close()
}

func TestNobodyCalls(t *testing.T) {
	a := <-accepting(listening(t), time.Now().Add(-time.Second))
	require.ErrorContains(t, a.err, "nobody called at 127.0.0.1:")
	require.ErrorContains(t, a.err, "; a firewall between the hosts may be why")
}

// A side that ends in the middle is an error of the other, not a wait.
func TestLostPeer(t *testing.T) {
	for _, side := range []func(net.Conn) error{
		func(c net.Conn) error { return answerBoth(c) },
		func(c net.Conn) error { _, err := measureBoth(c); return err },
	} {
		listener := listening(t)
		c := accepting(listener, time.Now().Add(time.Minute))
		caller, err := call(listener.Addr().String(), known)
		require.NoError(t, err)
		a := <-c
		require.NoError(t, a.err)
		caller.Close()
		require.Error(t, side(a.conn))
		a.conn.Close()
	}
}
