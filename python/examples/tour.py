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

    out = numbers(-1, count)
    c.exscan(mine, out)
    assert out == numbers(c.rank * (c.rank + 1) // 2 if c.rank > 0 else -1, count)
    c.reduce_scatter(everyone, out)
    assert out == numbers((c.rank + 1) * c.size, count)
    c.alltoall(everyone, whole)
    assert whole == numbers(c.rank + 1, count * c.size)

    lengths = [r % 3 * count for r in range(c.size)]
    parts = c.allgatherv(numbers(c.rank, lengths[c.rank]))
    assert parts == [bytes(numbers(r, lengths[r])) for r in range(c.size)]
    assert c.gatherv(numbers(c.rank, lengths[c.rank]), root) == (parts if c.rank == root else None)


def messages(c: golaunch.Comm, count: int) -> None:
    right, left = (c.rank + 1) % c.size, (c.rank - 1) % c.size
    if c.size > 1:  # once around, from rank 0
        out = numbers(0, count)
        if c.rank == 0:
            c.send(numbers(0, count), right, 3)
        got = c.recv(out, left, 3)
        assert got == (left, 3, 8 * count) and out == numbers(left, count), got
        if c.rank > 0:
            c.send(numbers(c.rank, count), right, 3)
    assert c.tryprobe(left, 99) is None
    sent = [c.isend(b"x" * n, right, 4) for n in range(20)]  # to itself, if it is alone
    for n in range(20):
        assert c.probe(tag=4) == (left, 4, n)
        assert c.recv_bytes(left) == (b"x" * n, (left, 4, n))
    for request in sent:
        request.wait()


def at_once(c: golaunch.Comm, count: int) -> None:
    """Operations under way together, and who waits for one of them."""
    mine, sums, news = numbers(c.rank, count), numbers(0, count), numbers(c.rank, count)
    under_way = [c.iallreduce(mine, sums, golaunch.SUM), c.ibcast(news, c.size - 1), c.ibarrier()]
    under_way.append(c.irecv_bytes((c.rank - 1) % c.size, 5))
    assert not under_way[3].test()
    try:
        under_way[3].wait(timeout=0.01)
    except TimeoutError as e:
        assert str(e) == "recv_alloc: not complete after 0.01 s", e
    else:
        raise AssertionError("a message came that nobody has sent")
    c.barrier()
    left = list(under_way[:3])
    while left:
        left.pop(golaunch.waitany(left)).wait()
    assert sums == numbers(c.size * (c.size - 1) // 2, count) and news == numbers(c.size - 1, count)
    c.send(mine, (c.rank + 1) % c.size, 5)
    for _ in range(2):  # the same again
        assert under_way[3].wait()[0] == bytes(numbers((c.rank - 1) % c.size, count))
    assert under_way[3].test()


def communicators(job: golaunch.Job) -> None:
    world = job.world
    half = world.split(world.rank % 2, -world.rank)
    assert half.size == (world.size + (world.rank + 1) % 2) // 2
    assert half.locate(half.rank) == (world.rank, job.node)
    operations(half, 2)
    half.free()
    assert world.split(-1) is None
    alone = job.sub([world.rank])
    assert (alone.rank, alone.size) == (0, 1)
    alone.barrier()
    same = world.shrink()
    assert (same.rank, same.size) == (world.rank, world.size)
    same.barrier()
    assert job.network_depth() == 0


def threads(world: golaunch.Comm) -> None:
    """Threads that wait for messages keep nobody from sending them, nor from a barrier."""
    right, got = (world.rank + 1) % world.size, []

    def receive(tag: int) -> None:
        for n in range(25):
            data, _ = world.recv_bytes(tag=tag)
            assert data == b"%d" % n, data
        got.append(tag)

    def send(tag: int) -> None:
        for n in range(25):
            world.send(b"%d" % n, right, tag)

    calls = [threading.Thread(target=call, args=(tag,)) for call in (receive, send) for tag in (6, 7, 8)]
    for thread in calls:
        thread.start()
    for _ in range(5):
        world.barrier()
    for thread in calls:
        thread.join()
    assert sorted(got) == [6, 7, 8], got


def board(job: golaunch.Job) -> None:
    world = job.world
    job.put(f"tour-{world.rank}", b"of \0 %d" % world.rank)
    job.fence()
    for r in range(world.size):
        assert job.get(f"tour-{r}") == b"of \0 %d" % r
    assert job.get("tour-none") is None


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with golaunch.Job() as job:
        world = job.world
        operations(world, count)
        messages(world, count)
        at_once(world, count)
        communicators(job)
        board(job)
        threads(world)
        if world.rank == 0:
            print(f"tour of {world.size} ranks on {job.nodes} nodes: ok")


main()
