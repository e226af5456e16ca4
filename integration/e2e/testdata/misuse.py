"""What package golaunch says of mistakes, each on a line: misuse.py WHAT."""

import array
import os
import signal
import sys
import threading

import golaunch


def says(what, call):
    """Prints what a mistake raises; the program goes on."""
    try:
        call()
    except Exception as e:
        who = f" {e.member}" if isinstance(e, golaunch.LeftError) else ""
        print(f"{what}: {type(e).__name__}{who}: {e}")
    else:
        print(f"{what}: nothing")


def arguments(job):
    world, text = job.world, b"12345678"
    out, doubles, shorts = bytearray(8), array.array("d", [1]), array.array("h", [1])
    for what, call in {
        "recv into bytes": lambda: world.recv(text),
        "recv into a slice with gaps": lambda: world.recv(memoryview(bytearray(8))[::2]),
        "allgather into too little": lambda: world.allgather(text, bytearray(15)),
        "scatter of too little": lambda: world.scatter(text, out, world.rank),
        "alltoall of odd parts": lambda: world.alltoall(bytes(7), bytearray(7)),
        "alltoall of halves": lambda: world.alltoall(array.array("d", [1, 2, 3]), array.array("d", [0, 0, 0])),
        "sum of two types": lambda: world.allreduce(doubles, array.array("q", [1])),
        "sum of shorts": lambda: world.allreduce(shorts, shorts),
        "reduce_scatter of two types": lambda: world.reduce_scatter(array.array("d", [1, 2]), array.array("q", [1])),
        "tag of 33 bits": lambda: world.send(text, 0, 1 << 32),
        "negative tag": lambda: world.send(text, 0, -1),
        "send of str": lambda: world.send("text", 0),
        "send of a list": lambda: world.send([1, 2], 0),
        "send to nobody": lambda: world.send(text, 2),
        "root as a str": lambda: world.bcast(out, "0"),
        "root that is no member": lambda: world.bcast(out, 2),
        "negative root of gatherv": lambda: world.gatherv(text, -1),
        "operation 99": lambda: world.allreduce(out, out, 99),
        "xor of doubles": lambda: world.scan(doubles, doubles, golaunch.XOR),
        "key of int": lambda: job.put(3, b""),
        "key with a zero": lambda: job.get("a\0b"),
        "empty key": lambda: job.put("", b""),
        "long key": lambda: job.put("k" * 65, b""),
        "long value": lambda: job.put("k", bytes(1025)),
        "value of str": lambda: job.put("k", "text"),
        "free of the world": world.free,
        "sub of nobody": lambda: job.sub([]),
        "sub of others": lambda: job.sub([1 - world.rank]),
        "sub of a number": lambda: job.sub(0),
        "locate of nobody": lambda: world.locate(2),
        "cluster without a network": lambda: job.switch_cluster(0, 1),
        "waitany of nothing": lambda: golaunch.waitany([]),
        "a second job": golaunch.Job,
    }.items():
        says(what, call)
    growing = bytearray(8)
    request = world.irecv(growing, 1 - world.rank)
    says("append to what is being filled", lambda: growing.append(1))
    world.send(text, 1 - world.rank)
    request.wait()
    growing.append(1)
    print(f"afterwards: {bytes(growing[:8])}")


def freed(job):
    half = job.world.split(0)
    half.free()
    says("barrier of what was freed", half.barrier)
    says("isend over what was freed", lambda: half.isend(b"", 0))
    says("free of what was freed", half.free)


def long(job):
    """A message that is too long is lost, and no other."""
    world = job.world
    for data in (b"much", b"few"):
        world.send(data, 1 - world.rank, 7)
    out = bytearray(3)
    says("recv of too much", lambda: world.recv(out, 1 - world.rank, 7))
    print(f"the next: {world.recv(out)} {bytes(out)}")


def closed(job):
    waits = job.world.irecv(bytearray(1), job.world.rank, 9)  # nobody sends it
    thread = threading.Thread(target=lambda: says("a thread that waits", waits.wait))
    thread.start()
    job.close()
    job.close()
    thread.join()
    says("wait after close", waits.wait)
    says("barrier after close", job.world.barrier)
    says("split after close", lambda: job.world.split(0))
    says("fence after close", job.fence)
    print(f"test after close: {waits.test()}")


def forked(job):
    waits = job.world.irecv_bytes(job.world.rank, 9)
    waiter = threading.Thread(target=waits.wait)
    waiter.start()
    while job._waiting._poller is None:  # the child has no such thread
        pass
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        says("barrier of a child", job.world.barrier)
        says("fence of a child", job.fence)
        job.close()
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    job.world.send(b"", job.world.rank, 9)
    waiter.join()
    job.world.barrier()
    print("the parent goes on")


def fences(job):
    """Two threads enter two fences, one after the other."""
    other = threading.Thread(target=job.fence)
    other.start()
    job.fence()
    other.join()
    print("two fences")


def mismatch(job):
    """What rank 1 gives to rank 0 is no part of a barrier; rank 0 gives nothing."""
    world = job.world
    says("others call gather", lambda: world.barrier() if world.rank == 0 else world.gather(bytes(8)) or world.barrier())


def leaves(job):
    world = job.world
    if world.rank == 1:
        return  # the job ends with its with-statement
    says("recv of who has left", lambda: world.recv(bytearray(1), 1))
    says("barrier with who has left", world.barrier)
    says("fence with who has left", job.fence)
    rest = world.shrink()
    rest.barrier()
    print(f"left are {rest.size}")


def middle(job):
    """A rank leaves in the middle of a long message, and of a long scan."""
    world, big = job.world, bytearray(4_000_000)
    scanned = world.split(0, 0)
    if world.rank == 1:
        world.recv(bytearray(1), 0)
        world.isend(big, 0, 5)
        return
    if world.rank == 2:
        world.recv(bytearray(1), 0)
        world.send(b"late", 0, 5)
        world.send(b"later", 0, 5)
        world.recv(bytearray(1), 0)
        return
    waits, alloc = world.irecv(big, golaunch.ANY, 5), world.irecv_bytes(golaunch.ANY, 5)
    world.send(b"1", 1)
    says("recv of who has left", lambda: world.recv(bytearray(1), 1))
    world.send(b"2", 2)
    print(f"then {waits.wait()} and {alloc.wait()}")
    numbers = array.array("d", [1.0]) * 20_000
    says("long scan", lambda: scanned.scan(numbers, numbers))
    says("free", scanned.free)
    world.send(b"2", 2)


def interrupted(job):
    """A signal ends a wait, and what was begun goes on."""
    world, out = job.world, bytearray(4)
    waits = world.irecv(out, 1 - world.rank, 3)

    def interrupt(*_):
        raise KeyboardInterrupt("a key")

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        waits.wait()
    except KeyboardInterrupt as e:
        print(f"interrupted by {e}; {waits}")
    world.barrier()
    world.send(b"late", 1 - world.rank, 3)
    print(f"then {waits.wait()} {bytes(out)}; {waits}")


with golaunch.Job() as job:
    globals()[sys.argv[1]](job)
