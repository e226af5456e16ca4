"""Every operation of package golaunch, as an example and a test.

    PYTHONPATH=python golaunch -n 8 python3 python/examples/tour.py [ELEMENTS]

Each rank checks what it gets; rank 0 says that all is well.
"""

import array
import sys
import threading

import golaunch


def numbers(value, count):
    return array.array("q", [value] * count)


def operations(c: golaunch.Comm, count: int) -> None:
    root = c.size // 2
    mine, out = numbers(c.rank + 1, count), numbers(0, count)
    everyone = array.array("q", [r + 1 for r in range(c.size) for _ in range(count)])
    whole = numbers(0, count * c.size)

    news = numbers(7 if c.rank == root else 0, count)
    c.bcast(news, root)
    assert news == numbers(7, count)
    c.bcast(b"only the root's may be read-only" if c.rank == 0 else bytearray(32))

    c.gather(mine, whole if c.rank == root else None, root)
    assert c.rank != root or whole == everyone
    c.allgather(mine, whole)
    assert whole == everyone
    c.scatter(whole if c.rank == root else None, out, root)
    assert out == mine

    total = c.size * (c.size + 1) // 2
    c.allreduce(mine, out)
    assert out == numbers(total, count)
    c.reduce(mine, out if c.rank == root else None, golaunch.MAX, root)
    assert c.rank != root or out == numbers(c.size, count)
    c.scan(mine, out, golaunch.SUM)
    assert out == numbers((c.rank + 1) * (c.rank + 2) // 2, count)
    place = array.array("d", [0.5])
    c.allreduce(place, place)  # in place
    assert place[0] == c.size / 2

    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    if c.rank > 0:  # once around, from rank 0
        got = c.recv(out, tag=3)
        assert got == (left, 3, 8 * count) and out == numbers(left + 1, count), got
    if c.size > 1:
        c.send(mine, right, 3)
    if c.rank == 0 and c.size > 1:
        got = c.recv(out, left)
        assert got == (left, 3, 8 * count) and out == numbers(left + 1, count), got
    c.barrier()


def board(job: golaunch.Job) -> None:
    world = job.world
    job.put(f"tour-{world.rank}", b"of \0 %d" % world.rank)
    job.fence()
    for r in range(world.size):
        assert job.get(f"tour-{r}") == b"of \0 %d" % r
    assert job.get("tour-none") is None


def wrong(job: golaunch.Job) -> None:
    """What is wrong raises, and does no harm."""
    world, readable = job.world, b"12345678"
    out = bytearray(8)
    for error, said, call in (
        (ValueError, "cannot be written to", lambda: world.recv(readable)),
        (ValueError, "in one piece", lambda: world.recv(memoryview(bytearray(8))[::2])),
        (ValueError, "parts of 8 bytes need", lambda: world.allgather(readable, bytearray(8 * world.size - 1))),
        (ValueError, "is not like send", lambda: world.allreduce(array.array("d", [1]), array.array("q", [1]))),
        (ValueError, "more than 32 bits", lambda: world.send(readable, 0, 1 << 32)),
        (ValueError, "zero bytes", lambda: job.get("a\0b")),
        (TypeError, "not combined", lambda: world.allreduce(array.array("h", [1]), array.array("h", [1]))),
        (TypeError, "bytes-like", lambda: world.send("text", 0)),
        (TypeError, "interpreted as an integer", lambda: world.barrier() or world.bcast(out, "0")),
        (golaunch.Error, "-1", lambda: world.send(readable, -1)),
        (golaunch.Error, "no operation", lambda: world.allreduce(out, out, 99)),
        (golaunch.Error, "bitwise", lambda: world.scan(array.array("d", [1]), array.array("d", [1]), golaunch.XOR)),
        (golaunch.Error, "at most 64", lambda: job.put("k" * 65, b"")),
        (golaunch.Error, "world cannot be freed", world.free),
    ):
        try:
            call()
        except error as e:
            assert said in str(e), e
        else:
            raise AssertionError(f"nothing was said of what is wrong: {said}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with golaunch.Job() as job:
        world = job.world
        operations(world, count)
        half = world.split(world.rank % 2, -world.rank)
        operations(half, count)
        half.free()
        assert world.split(-1) is None
        board(job)
        wrong(job)
        thread = threading.Thread(target=world.barrier)
        thread.start()
        thread.join()
        if world.rank == 0:
            print(f"tour of {world.size} ranks on {job.nodes} nodes: ok")
    for call in (world.barrier, half.barrier, job.fence):
        try:
            call()
        except golaunch.Error as e:
            assert str(e) == "the job was closed", e
        else:
            raise AssertionError("a job that was closed was used")


main()
