package pingpong

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/network/topology/measure"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestPairs(t *testing.T) {
	words := Args([][2]int{{0, 1}, {2, 3}}, []string{"a", "b", "c", "d"})
	require.Equal(t, []string{Word, "0-1", "a", "b", "2-3", "c", "d"}, words)
	pairs, err := parsePairs(words[1:], 4)
	require.NoError(t, err)
	assert.Equal(t, []pair{{[2]int{0, 1}, [2]string{"a", "b"}}, {[2]int{2, 3}, [2]string{"c", "d"}}}, pairs)
	for text, want := range map[string]string{
		" a b":        `pair "": expected two ranks below 2`,
		"0 a b":       `pair "0": expected two ranks below 2`,
		"0-2 a b":     `pair "0-2": expected two ranks below 2`,
		"0--1 a b":    `pair "0--1": expected two ranks below 2`,
		"0-1 a":       `pair "0-1": expected the names of two hosts behind it`,
		"1-1 a b":     `pair "1-1": expected two different ranks`,
		"0-1 a b x y": `pair "x": expected the names of two hosts behind it`,
	} {
		_, err := parsePairs(strings.Split(text, " "), 2)
		require.EqualError(t, err, want, text)
	}
}

// An address that leads nowhere from the other host is refused, with both hosts.
func TestReachable(t *testing.T) {
	hosts := [2]string{"n001", "n002"}
	const lost = "n001 has the address %s, which n002 cannot reach; name the hosts by addresses at which they reach each other, or mend what the name of n001 resolves to on it"
	for _, test := range []struct {
		addr string
		same bool
		want string
	}{
		{"10.0.0.1:99", false, ""},
		{"[fd00::1]:99", false, ""},
		{"127.0.0.1:99", true, ""},
		{"127.0.1.1:99", false, fmt.Sprintf(lost, "127.0.1.1")},
		{"[::1]:99", false, fmt.Sprintf(lost, "::1")},
		{"[::]:99", true, fmt.Sprintf(lost, "::")},
		{"[::ffff:127.0.0.1]:99", false, fmt.Sprintf(lost, "127.0.0.1")},
		{"n001:99", false, `n001 says that it listens at "n001:99": ParseAddr("n001"): unable to parse IP`},
	} {
		err := reachable(test.addr, test.same, hosts)
		if test.want == "" {
			require.NoError(t, err, test.addr)
			continue
		}
		require.EqualError(t, err, test.want)
	}
}

// wire is one end of a connection of which every message is as long on its way.
type wire struct {
	out, in chan arrival
	left    []byte
}

type arrival struct {
	at   time.Time
	data []byte
}

const wireTime = 100 * time.Microsecond

func (w *wire) Write(p []byte) (int, error) {
	w.out <- arrival{time.Now().Add(wireTime), slices.Clone(p)}
	return len(p), nil
}

func (w *wire) Read(p []byte) (int, error) {
	if len(w.left) == 0 {
		a := <-w.in
		time.Sleep(time.Until(a.at)) //nolint:forbidigo // in fake time
		w.left = a.data
	}
	n := copy(p, w.left)
	w.left = w.left[n:]
	return n, nil
}

// Both tests tell the time of a message, however far the two sides are apart.
func TestTimes(t *testing.T) {
	for _, late := range []time.Duration{0, wireTime / 3, wireTime} {
		synctest.Test(t, func(t *testing.T) {
			there, back := make(chan arrival, 4), make(chan arrival, 4)
			go func() {
				time.Sleep(late) //nolint:forbidigo // in fake time
				assert.NoError(t, answerBoth(&wire{out: back, in: there}))
			}()
			samples, err := measureBoth(&wire{out: there, in: back})
			require.NoError(t, err)
			for _, s := range samples {
				require.InDelta(t, 100, s.Time, 1e-9, "%s of %d bytes", s.Test, s.Size)
			}
		})
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

// accepted is the result of accept.
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

// A caller without the secret is sent away, and the one that has it still gets in.
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

// Strangers that say nothing hold nobody up: one after the other they would take
// longer than the deadline.
func TestSilentStrangers(t *testing.T) {
	listener := listening(t)
	addr := listener.Addr().String()
	c := accepting(listener, time.Now().Add(time.Minute))
	for range maxCallers - 1 {
		stranger, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		defer stranger.Close()
	}
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
