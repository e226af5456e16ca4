package e2e

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pythonHere has python3 find the module of this checkout, and the library that the
// tests run.
func pythonHere(t *testing.T) {
	t.Helper()
	needShell(t, "python3")
	module, err := filepath.Abs("../../python")
	require.NoError(t, err)
	t.Setenv("PYTHONPATH", module)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	t.Setenv("LD_LIBRARY_PATH", bin("lib"))
}

// Ranks in Python do every operation of their module, with short and long data, and
// what is wrong raises.
func TestPythonTour(t *testing.T) {
	pythonHere(t)
	for _, x := range []struct{ ranks, nodes, elements int }{{1, 1, 1}, {8, 4, 10}, {5, 2, 20_000}} {
		r := local(t, "", "-n", fmt.Sprint(x.ranks), "--nodes", fmt.Sprint(x.nodes), "python3", "../../python/examples/tour.py", fmt.Sprint(x.elements))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, fmt.Sprintf("tour of %d ranks on %d nodes: ok\n", x.ranks, x.nodes), r.stdout)
	}
}

// A work queue in Python, whose ranks have as much to do as they can.
func TestPythonWorkQueue(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "6", "--nodes", "3", "python3", "../../python/examples/workqueue.py", "100")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "100 tasks, results add up to 328350\n", r.stdout)
}

// anyOrder has rank 0 wait for each of the others before any of them sends, and send long
// data that these ask for in the opposite order; then all take 5,000 messages backwards.
const anyOrder = `
import golaunch
with golaunch.Job() as job:
    w, n = job.world, 5000
    if w.rank == 0:
        results = [w.irecv_bytes(r, 1) for r in range(1, w.size)]
        tasks = [w.isend(bytes([r]) * 70000, r, 2) for r in range(1, w.size)]
        for q in results + tasks:
            q.wait()
        print("results:", len(results))
    else:
        if w.rank + 1 < w.size:
            w.recv(bytearray(1), w.rank + 1, 3)  # the last one first
        task = w.recv_bytes(0, 2)[0]
        assert task == bytes([w.rank]) * 70000
        w.send(b"x", w.rank - 1, 3) if w.rank > 1 else None
        w.send(bytes([w.rank]), 0, 1)
    sends = [w.isend(tag.to_bytes(2, "big"), (w.rank + 1) % w.size, 10 + tag) for tag in range(n)]
    got = bytearray(2)
    for tag in reversed(range(n)):
        w.recv(got, (w.rank - 1) % w.size, 10 + tag)
        assert int.from_bytes(got, "big") == tag
    for q in sends:
        q.wait()
`

// Requests that nothing matches yet hold up no others.
func TestPythonRequestsInAnyOrder(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "21", "--nodes", "3", "python3", "-c", anyOrder)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "results: 20\n", r.stdout)
}

// threads has calls that wait in threads which go in another order at each rank, each
// with a communicator; then close while others wait.
const threads = `
import golaunch, threading
with golaunch.Job() as job:
    w = job.world
    comms = [w.split(0, w.rank) for _ in range(4)]

    def run(c):
        for k in range(30):
            parts = c.allgatherv(bytes([w.rank]) * (w.rank * 40000 + k))
            assert [len(p) for p in parts] == [r * 40000 + k for r in range(c.size)]
            if c.rank == 0:
                c.send(b"x", 1, 5)
            elif c.rank == 1:
                assert c.probe(0, 5).size == 1
                c.recv(bytearray(1), 0, 5)
        c.free()

    order = list(reversed(comms)) if w.rank % 2 else comms
    many = [threading.Thread(target=run, args=(c,)) for c in order]
    for t in many:
        t.start()
    for t in many:
        t.join()
    for _ in range(20):  # free waits for whole calls
        c = w.split(0)

        def gathers(c=c):
            assert [len(p) for p in c.allgatherv(bytes(100000 * w.rank))] == [100000 * r for r in range(w.size)]

        t = threading.Thread(target=gathers)
        t.start()
        while t.is_alive() and t.ident not in job._waiting._inside:
            pass
        c.free()
        t.join()
    job.fence()
    told, waits = [], threading.Barrier(4)

    def end(call):
        waits.wait()
        try:
            call()
        except golaunch.Error as error:
            told.append(str(error))

    calls = [lambda: w.probe(w.rank, 99), lambda: w.recv(bytearray(1), w.rank, 98), lambda: w.probe(w.rank, 97)]
    many = [threading.Thread(target=end, args=(call,)) for call in calls]
    for t in many:
        t.start()
    waits.wait()
    w.barrier()
    job.close()
    for t in many:
        t.join()
    assert told == ["the job was closed"] * 3, told
`

// Threads of a rank do not keep each other out, and close ends the waits of all.
func TestPythonThreads(t *testing.T) {
	pythonHere(t)
	for range 3 {
		r := local(t, "", "-n", "3", "--nodes", "2", "python3", "-c", threads)
		require.Zero(t, r.code, r.stderr)
		require.Empty(t, r.stdout+r.stderr)
	}
}

// handlers has a signal's handler call while its thread waits, and then close.
const handlers = `
import golaunch, signal
with golaunch.Job() as job:
    w = job.world

    def handler(*_):
        job.put("key", b"value")
        assert w.tryprobe(w.rank, 9) is None
        print("put", job.get("key"))
        signal.signal(signal.SIGALRM, lambda *_: job.close())
        signal.setitimer(signal.ITIMER_REAL, 0.1)

    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        w.recv(bytearray(1), w.rank, 1)
    except golaunch.Error as error:
        print(error)
    try:
        w.irecv(bytearray(1), w.rank, 1).wait(float("nan"))
    except (ValueError, golaunch.Error) as error:
        print(error)
`

// A handler may call while its thread waits.
func TestPythonHandlers(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "1", "python3", "-c", handlers)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "put b'value'\nthe job was closed\nthe job was closed\n", r.stdout)
}

// forgotten begins many messages and waits for few of them.
const forgotten = `
import golaunch, weakref, gc, array
with golaunch.Job() as job:
    w, alive = job.world, []
    for i in range(20000):
        data = array.array("q", [i])
        alive.append(weakref.ref(data))
        w.isend(data, 1 - w.rank, 1)
        w.recv(array.array("q", [0]), 1 - w.rank, 1)
        del data
    gc.collect()
    kept = sum(ref() is not None for ref in alive)
    assert kept < 5000, kept
    q = w.irecv(bytearray(1), 1 - w.rank, 2)
    w.send(b"x", 1 - w.rank, 2)
    assert q.wait(1e10).size == 1
    for wrong in ([None], [], [3]):
        try:
            golaunch.waitany(wrong)
        except (ValueError, TypeError) as error:
            print(error)
    assert golaunch.waitany([None, q]) == 1
`

// Requests that nobody waits for lose their buffers in the end.
func TestPythonForgottenRequests(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "2", "python3", "-c", forgotten)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, strings.Repeat("no request to wait for\n", 4), strings.ReplaceAll(r.stdout, "a int is no request\n", ""))
}

// TestPythonMisuse has two ranks make mistakes: each is told at once, and what is right
// goes on after it.
func TestPythonMisuse(t *testing.T) {
	pythonHere(t)
	both := func(lines string) [2]string { return [2]string{lines, lines} }
	closed := "a thread that waits: Error: %[1]s\nwait after close: Error: %[1]s\n" +
		"barrier after close: Error: the job was closed\nsplit after close: Error: the job was closed\n" +
		"fence after close: Error: the job was closed\ntest after close: True\n"
	for fault, want := range map[string][2]string{
		"arguments": both(pythonArguments),
		"freed": both("barrier of what was freed: Error: the communicator was freed\nisend over what was freed: Error: the communicator was freed\n" +
			"free of what was freed: Error: the communicator was freed\n"),
		"long": {
			"recv of too much: Error: a message of 4 bytes from member 1; there is room for 3\nthe next: Message(source=1, tag=7, size=3) b'few'\n",
			"recv of too much: Error: a message of 4 bytes from member 0; there is room for 3\nthe next: Message(source=0, tag=7, size=3) b'few'\n",
		},
		"closed": both(fmt.Sprintf(closed, "the job was closed")),
		"forked": both("barrier of a child: Error: barrier: process N has opened the job, and this is a child of it; only that one may call\n" +
			"fence of a child: Error: fence: process N has opened the job, and this is a child of it; only that one may call\nthe parent goes on\n"),
		"fences":   both("two fences\n"),
		"mismatch": both("others call gather: MismatchError: operation 0 of the world: rank 0 calls barrier; rank 1 calls gather of 8 bytes, root 0\n"),
		"leaves": {"recv of who has left: LeftError 1: rank 1 on NODE has left\nbarrier with who has left: LeftError 1: rank 1 on NODE has left\n" +
			"fence with who has left: LeftError None: rank 1 on NODE has left\nleft are 1\n", ""},
		// The receive that had a part goes on behind the other.
		"middle": {"recv of who has left: LeftError 1: rank 1 on NODE has left\n" +
			"then Message(source=2, tag=5, size=5) and (b'late', Message(source=2, tag=5, size=4))\n" +
			"long scan: LeftError 1: rank 1 on NODE has left\nfree: LeftError 1: rank 1 on NODE has left\n", ""},
		"interrupted": {
			"interrupted by a key; <golaunch.Request: recv, under way>\nthen Message(source=1, tag=3, size=4) b'late'; <golaunch.Request: recv, complete>\n",
			"interrupted by a key; <golaunch.Request: recv, under way>\nthen Message(source=0, tag=3, size=4) b'late'; <golaunch.Request: recv, complete>\n",
		},
	} {
		t.Run(fault, func(t *testing.T) {
			ranks, nodes := "2", "2"
			if fault == "mismatch" {
				nodes = "1" // its agent knows both ranks
			}
			if fault == "middle" {
				ranks = "3" // one is left to send
			}
			r := local(t, "", "-n", ranks, "--nodes", nodes, "--label", "--stall-after", "1s", "python3", "testdata/misuse.py", fault)
			require.Zero(t, r.code, r.stderr)
			varies := regexp.MustCompile(`(process )\d+|(rank \d on )\S+`)
			for rank := range want {
				var lines strings.Builder
				for line := range strings.Lines(r.stdout) {
					if text, ok := strings.CutPrefix(line, fmt.Sprintf("[%d] ", rank)); ok {
						lines.WriteString(text)
					}
				}
				text := strings.Replace(lines.String(), "rank 1 calls gather of 8 bytes, root 0; rank 0 calls barrier", // whichever came first
					"rank 0 calls barrier; rank 1 calls gather of 8 bytes, root 0", 1)
				got := varies.ReplaceAllStringFunc(text, func(s string) string {
					if pid := strings.TrimPrefix(s, "process "); pid != s {
						return "process N"
					}
					return s[:len("rank 1 on ")] + "NODE"
				})
				require.Equal(t, want[rank], got, "rank %d", rank)
			}
		})
	}
}

const pythonArguments = `recv into bytes: ValueError: a buffer, of bytes, cannot be written to
recv into a slice with gaps: ValueError: a buffer does not lie in one piece
allgather into too little: ValueError: recv has 15 bytes; 2 parts of 8 bytes need 16
scatter of too little: ValueError: send has 8 bytes; 2 parts of 8 bytes need 16
alltoall of odd parts: ValueError: send has 7 elements, which are no 2 equal parts
alltoall of halves: ValueError: send has 3 elements, which are no 2 equal parts
sum of two types: ValueError: recv, 8 bytes of format q, is not like send, 8 bytes of format d
sum of shorts: TypeError: elements of format h, of 2 bytes, are not combined: int32, int64, uint64, uint8, float and double are
reduce_scatter of two types: ValueError: recv, 8 bytes of format q, is not like send, 16 bytes of format d
tag of 33 bits: ValueError: tag is 4294967296, which has more than 32 bits
negative tag: Error: send: tag -1, which is not in 0 to 2147483647
send of str: TypeError: memoryview: a bytes-like object is required, not 'str'
send of a list: TypeError: memoryview: a bytes-like object is required, not 'list'
send to nobody: Error: send: member 2 of a communicator of 2
root as a str: TypeError: 'str' object cannot be interpreted as an integer
root that is no member: Error: bcast: member 2 of a communicator of 2
negative root of gatherv: Error: gatherv: member -1 of a communicator of 2
operation 99: Error: allreduce: 0x63 is no operation
xor of doubles: Error: scan: exclusive or of double: bitwise operations are for integers
key of int: TypeError: a key is a str, not int
key with a zero: ValueError: a key has no zero bytes
empty key: Error: put: empty key
long key: Error: put: key of 65 bytes, at most 64 are allowed
long value: Error: put: value of 1025 bytes, at most 1024 are allowed
value of str: TypeError: memoryview: a bytes-like object is required, not 'str'
free of the world: Error: free: the world cannot be freed
sub of nobody: Error: sub: a communicator of 0 ranks
sub of others: Error: a communicator of others
sub of a number: TypeError: 'int' object is not iterable
locate of nobody: Error: locate: member 2 of a communicator of 2
cluster without a network: Error: no network is known, and so no switch cluster; golaunch --topology names it
waitany of nothing: ValueError: no request to wait for
a second job: Error: golaunch_open: a process opens the job once, and this one, or the one that it was forked from, has done so
append to what is being filled: BufferError: Existing exports of data: object cannot be re-sized
afterwards: b'12345678'
`

// Python's errors without the library, and without a job.
func TestPythonWithoutAJob(t *testing.T) {
	pythonHere(t)
	r := local(t, "", "-n", "1", "sh", "-c", "unset GOLAUNCH_FD; exec python3 -c 'import golaunch; golaunch.Job()'")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "golaunch.Error: $GOLAUNCH_FD is not set: not a rank of a golaunch job")
	r = local(t, "", "-n", "1", "python3", "-c", "import golaunch; golaunch._library.VERSION = 999; golaunch.Job()")
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "golaunch.Error: libgolaunch.so.999: cannot open shared object file")
	require.Contains(t, r.stderr, "make install installs it, LD_LIBRARY_PATH names its directory")
}
