"""The tree of a golaunch job as a service to its programs, by libgolaunch.

    import array, golaunch

    with golaunch.Job() as job:
        world = job.world
        ours = array.array("d", [0.0])
        world.allreduce(array.array("d", [1.0]), ours, golaunch.SUM)

Data are buffers: bytes, bytearray, array.array, memoryview, NumPy's arrays and others
that lie in one piece. What a call fills must be writable. Operations of a communicator
are collective: every member calls the same ones, in the same order. Each call waits
until it is complete. Threads may call at any time; a call waits for those of other
threads. What goes wrong is an Error, arguments that cannot be right a ValueError or a
TypeError. docs/client.md tells of the service, golaunch.h of each operation.
"""

import threading
from typing import NamedTuple, Optional

from . import _library
from ._library import Error, check, given, integer, taken

SUM, PROD, MIN, MAX, AND, OR, XOR = range(1, 8)
ANY = -1  # any source, or any tag, of a message

__all__ = ["Job", "Comm", "Message", "Error", "SUM", "PROD", "MIN", "MAX", "AND", "OR", "XOR", "ANY"]


class Message(NamedTuple):
    """What a receive got: the sender's number, the tag, and how many bytes."""

    source: int
    tag: int
    size: int


class Job:
    """This rank's connection to the agent of its node: one in a process. It ends with
    close, or with the with-statement."""

    def __init__(self):
        self._library = _library.load()
        self._lock = threading.Lock()
        self._pointer = check(self._library, self._library.golaunch_open())
        self.world = Comm(self, _library.pointer(self._library.golaunch_world(self._pointer)))
        self.node = self._library.golaunch_node(self._pointer)
        self.nodes = self._library.golaunch_nodes(self._pointer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Says goodbye. Ranks that wait for this one get an Error that names it."""
        with self._lock:
            if self._pointer:
                self._library.golaunch_close(self._pointer)
            self._pointer = None

    def _call(self, name: str, *args) -> None:
        with self._lock:
            if not self._pointer:
                raise Error("the job was closed")
            check(self._library, getattr(self._library, name)(*args) == 0)

    def put(self, key: str, value) -> None:
        """Puts a value of up to 1024 bytes on the world's bulletin board, which others
        find after the next fence."""
        value = given(value)
        self._call("golaunch_put", self._pointer, _library.key(key), value.pointer, value.size)

    def fence(self) -> None:
        """Returns when every rank has called it."""
        self._call("golaunch_fence", self._pointer)

    def get(self, key: str) -> Optional[bytes]:
        """The value of a key of the bulletin board, or None."""
        found, size = _library.pointer(), _library.size()
        self._call("golaunch_get", self._pointer, _library.key(key), _library.to(found), _library.to(size))
        return _library.take(found, size)


class Comm:
    """A communicator: rank is this rank's number among its size members."""

    def __init__(self, job: Job, pointer):
        self._job = job
        self._pointer = pointer
        self.rank = job._library.golaunch_rank(pointer)
        self.size = job._library.golaunch_size(pointer)

    def _call(self, name: str, *args) -> None:
        self._job._call(name, self._pointer, *args)

    def barrier(self) -> None:
        """Returns when every member has called it."""
        self._call("golaunch_barrier")

    def bcast(self, buffer, root: int = 0) -> None:
        """Fills everyone's buffer with root's."""
        data = given(buffer) if self.rank == root else taken(buffer)
        self._call("golaunch_bcast", integer("root", root), data.pointer, data.size)

    def gather(self, send, recv=None, root: int = 0) -> None:
        """Fills recv at root with everyone's send, in the order of members."""
        part = given(send)
        whole = self._whole(recv, part.size) if self.rank == root else _library.NOTHING
        self._call("golaunch_gather", integer("root", root), part.pointer, whole.pointer, part.size)

    def allgather(self, send, recv) -> None:
        """Fills everyone's recv with everyone's send, in the order of members."""
        part = given(send)
        whole = self._whole(recv, part.size)
        self._call("golaunch_allgather", part.pointer, whole.pointer, part.size)

    def scatter(self, send, recv, root: int = 0) -> None:
        """Fills each member's recv with its part of root's send."""
        part = taken(recv)
        whole = given(send) if self.rank == root else _library.NOTHING
        if self.rank == root and whole.size != part.size * self.size:
            raise ValueError(f"send has {whole.size} bytes; {self.size} parts of {part.size} bytes are needed")
        self._call("golaunch_scatter", integer("root", root), whole.pointer, part.pointer, part.size)

    def _whole(self, recv, size: int):
        whole = taken(recv)
        if whole.size != size * self.size:
            raise ValueError(f"recv has {whole.size} bytes; {self.size} parts of {size} bytes need {size * self.size}")
        return whole

    def reduce(self, send, recv, op: int = SUM, root: int = 0) -> None:
        """Combines everyone's send, element by element, into recv at root."""
        part = given(send)
        whole = self._same(part, recv) if self.rank == root else _library.NOTHING
        self._call("golaunch_reduce", integer("root", root), part.type(), integer("op", op), part.pointer, whole.pointer, part.size)

    def allreduce(self, send, recv, op: int = SUM) -> None:
        """Combines everyone's send, element by element, into everyone's recv, which may
        be send itself."""
        part = given(send)
        whole = self._same(part, recv)
        self._call("golaunch_allreduce", part.type(), integer("op", op), part.pointer, whole.pointer, part.size)

    def scan(self, send, recv, op: int = SUM) -> None:
        """Combines send of all members up to this one into recv."""
        part = given(send)
        whole = self._same(part, recv)
        self._call("golaunch_scan", part.type(), integer("op", op), part.pointer, whole.pointer, part.size)

    @staticmethod
    def _same(part, recv):
        whole = taken(recv)
        if (whole.size, whole.type()) != (part.size, part.type()):
            raise ValueError(f"recv, {whole}, is not like send, {part}")
        return whole

    def send(self, data, dst: int, tag: int = 0) -> None:
        """Sends a message, and returns when the other side has it, or has room for it.
        Tags are 0 to 2**31-1."""
        message = given(data)
        self._call("golaunch_send", integer("dst", dst), integer("tag", tag), message.pointer, message.size)

    def recv(self, buffer, src: int = ANY, tag: int = ANY) -> Message:
        """Fills the buffer, from its beginning, with a message. One that is longer is
        lost, and an Error."""
        room, got = taken(buffer), _library.Message()
        self._call("golaunch_recv", integer("src", src), integer("tag", tag), room.pointer, room.size, _library.to(got))
        return Message(got.source, got.tag, got.size)

    def split(self, color: int, key: int = 0) -> Optional["Comm"]:
        """A communicator for each color, ordered by key, then by rank; None for a
        negative color."""
        made = _library.pointer()
        self._call("golaunch_split", integer("color", color), integer("key", key), _library.to(made))
        return Comm(self._job, made) if made else None

    def free(self) -> None:
        """All members give up a communicator that split made."""
        self._job._call("golaunch_comm_free", _library.to(self._pointer))  # it is None then
