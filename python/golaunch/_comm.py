"""Communicators."""

from typing import List, NamedTuple, Optional, Tuple

from . import _library
from ._buffer import NOTHING, SUM, given, integer, taken
from ._request import Message, Request

ANY = -1  # any source, or any tag, of a message


class Place(NamedTuple):
    """The place of a member: its rank in the world, and its node."""

    rank: int
    node: int


class Comm:
    """A communicator: rank is this rank's number among its size members."""

    def __init__(self, job, pointer: _library.pointer):
        self._job = job
        self._pointer = pointer
        self.rank = job._library.golaunch_rank(pointer)
        self.size = job._library.golaunch_size(pointer)

    # Operations of all members.

    def barrier(self) -> None:
        """Returns when every member has called it."""
        self.ibarrier().wait()

    def ibarrier(self) -> Request:
        return self._begin("barrier")

    def bcast(self, buffer, root: int = 0) -> None:
        """Fills everyone's buffer with root's."""
        self.ibcast(buffer, root).wait()

    def ibcast(self, buffer, root: int = 0) -> Request:
        data = given(buffer) if self.rank == root else taken(buffer)
        return self._begin("bcast", integer("root", root), data.pointer, data.size, keeps=data)

    def gather(self, send, recv=None, root: int = 0) -> None:
        """Fills recv at root with everyone's send, in the order of members."""
        self.igather(send, recv, root).wait()

    def igather(self, send, recv=None, root: int = 0) -> Request:
        part = given(send)
        whole = self._whole("recv", taken(recv), part.size) if self.rank == root else NOTHING
        return self._begin("gather", integer("root", root), part.pointer, whole.pointer, part.size, keeps=(part, whole))

    def allgather(self, send, recv) -> None:
        """Fills everyone's recv with everyone's send, in the order of members."""
        self.iallgather(send, recv).wait()

    def iallgather(self, send, recv) -> Request:
        part = given(send)
        whole = self._whole("recv", taken(recv), part.size)
        return self._begin("allgather", part.pointer, whole.pointer, part.size, keeps=(part, whole))

    def scatter(self, send, recv, root: int = 0) -> None:
        """Fills each member's recv with its part of root's send."""
        self.iscatter(send, recv, root).wait()

    def iscatter(self, send, recv, root: int = 0) -> Request:
        part = taken(recv)
        whole = self._whole("send", given(send), part.size) if self.rank == root else NOTHING
        return self._begin("scatter", integer("root", root), whole.pointer, part.pointer, part.size, keeps=(part, whole))

    def alltoall(self, send, recv) -> None:
        """Fills each member's recv with the parts of everyone's send that are for it, in
        the order of members: send and recv have as many parts, of equal sizes."""
        self.ialltoall(send, recv).wait()

    def ialltoall(self, send, recv) -> Request:
        parts, whole = given(send), taken(recv)
        if parts.size // parts.item % self.size != 0:
            raise ValueError(f"send has {parts.size // parts.item} elements, which are no {self.size} equal parts")
        self._whole("recv", whole, parts.size // self.size)
        return self._begin("alltoall", parts.pointer, whole.pointer, parts.size // self.size, keeps=(parts, whole))

    def gatherv(self, send, root: int = 0) -> Optional[List[bytes]]:
        """Everyone's send, of any lengths, at root; None elsewhere."""
        part, found, sizes = given(send), _library.pointer(), (_library.size * self.size)()
        self._call("gatherv", integer("root", root), part.pointer, part.size, 1, _library.to(found), sizes)
        return _parts(found, sizes) if self.rank == root else None

    def allgatherv(self, send) -> List[bytes]:
        """Everyone's send, of any lengths."""
        part, found, sizes = given(send), _library.pointer(), (_library.size * self.size)()
        self._call("allgatherv", part.pointer, part.size, 1, _library.to(found), sizes)
        return _parts(found, sizes)

    # Those that combine what members send, element by element, by op.

    def reduce(self, send, recv=None, op: int = SUM, root: int = 0) -> None:
        """Combines everyone's send into recv at root."""
        self.ireduce(send, recv, op, root).wait()

    def ireduce(self, send, recv=None, op: int = SUM, root: int = 0) -> Request:
        part = given(send)
        whole = _same(part, taken(recv)) if self.rank == root else NOTHING
        return self._combine("reduce", part, whole, op, part.size, integer("root", root))

    def allreduce(self, send, recv, op: int = SUM) -> None:
        """Combines everyone's send into everyone's recv, which may be send itself."""
        self.iallreduce(send, recv, op).wait()

    def iallreduce(self, send, recv, op: int = SUM) -> Request:
        part = given(send)
        return self._combine("allreduce", part, _same(part, taken(recv)), op, part.size)

    def reduce_scatter(self, send, recv, op: int = SUM) -> None:
        """Fills each member's recv with its part of what an allreduce of send makes."""
        self.ireduce_scatter(send, recv, op).wait()

    def ireduce_scatter(self, send, recv, op: int = SUM) -> Request:
        whole, part = given(send), taken(recv)
        self._whole("send", whole, part.size)
        if whole.type() != part.type():
            raise ValueError(f"recv, {part}, is not like send, {whole}")
        return self._combine("reduce_scatter", whole, part, op, part.size)

    def scan(self, send, recv, op: int = SUM) -> None:
        """Combines send of all members up to this one into recv."""
        self.iscan(send, recv, op).wait()

    def iscan(self, send, recv, op: int = SUM) -> Request:
        part = given(send)
        return self._combine("scan", part, _same(part, taken(recv)), op, part.size)

    def exscan(self, send, recv, op: int = SUM) -> None:
        """Combines send of all members before this one into recv; member 0's stays as it
        is."""
        self.iexscan(send, recv, op).wait()

    def iexscan(self, send, recv, op: int = SUM) -> Request:
        part = given(send)
        return self._combine("exscan", part, _same(part, taken(recv)), op, part.size)

    # Messages.

    def send(self, data, dst: int, tag: int = 0) -> None:
        """Sends a message, and returns when the other side has it, or has room for it.
        Tags are 0 to 2**31-1. A rank that sends itself much begins the receive before."""
        self.isend(data, dst, tag).wait()

    def isend(self, data, dst: int, tag: int = 0) -> Request:
        message = given(data)
        return self._begin("send", integer("dst", dst), integer("tag", tag), message.pointer, message.size, keeps=message)

    def recv(self, buffer, src: int = ANY, tag: int = ANY) -> Message:
        """Fills the buffer, from its beginning, with a message. One that is longer is
        lost, and an Error."""
        return self.irecv(buffer, src, tag).wait()

    def irecv(self, buffer, src: int = ANY, tag: int = ANY) -> Request:
        room = taken(buffer)
        where = integer("src", src), integer("tag", tag)
        return self._begin("recv", *where, room.pointer, room.size, keeps=room, result=lambda got: got)

    def recv_bytes(self, src: int = ANY, tag: int = ANY) -> Tuple[bytes, Message]:
        """A message however long, and whose it is."""
        return self.irecv_bytes(src, tag).wait()

    def irecv_bytes(self, src: int = ANY, tag: int = ANY) -> Request:
        data = _library.pointer()
        where = integer("src", src), integer("tag", tag), _library.to(data)
        return self._begin("recv_alloc", *where, keeps=data, result=lambda got: (_library.take(data, got.size), got))

    def probe(self, src: int = ANY, tag: int = ANY) -> Message:
        """Waits until there is a message for a receive of src and tag, and describes it.
        It stays."""
        found = _library.Message()
        self._call("probe", integer("src", src), integer("tag", tag), _library.to(found))
        return Message(found.source, found.tag, found.size)

    def tryprobe(self, src: int = ANY, tag: int = ANY) -> Optional[Message]:
        """Describes such a message if there is one at this rank's node, or None."""
        found = _library.Message()
        if self._call("tryprobe", integer("src", src), integer("tag", tag), _library.to(found)) == 0:
            return None
        return Message(found.source, found.tag, found.size)

    # Communicators.

    def split(self, color: int, key: int = 0) -> Optional["Comm"]:
        """A communicator for each color, ordered by key, then by rank; None for a
        negative color."""
        return self.isplit(color, key).wait()

    def isplit(self, color: int, key: int = 0) -> Request:
        made = _library.pointer()
        choice = integer("color", color), integer("key", key), _library.to(made)
        return self._begin("split", *choice, keeps=made, result=lambda _: Comm(self._job, made) if made else None)

    def shrink(self) -> "Comm":
        """A communicator of the members that live, in their order; all of them call it."""
        return Comm(self._job, self._job._made("shrink", comm=self))

    def locate(self, rank: int) -> Place:
        """Return the place of a member."""
        world, node = _library.c_int(), _library.c_int()
        self._call("locate", integer("rank", rank), _library.to(world), _library.to(node))
        return Place(world.value, node.value)

    def free(self) -> None:
        """All members give up a communicator that was made."""
        self._call("comm_free")

    # The rest is the package's own.

    def _call(self, name: str, *args) -> int:
        return self._job._call(name, *args, comm=self)

    def _begin(self, name: str, *args, **made) -> Request:
        return self._job._begin(name, *args, comm=self, **made)

    def _combine(self, name: str, part, whole, op: int, size: int, *root: int) -> Request:
        return self._begin(name, *root, part.type(), integer("op", op), part.pointer, whole.pointer, size, keeps=(part, whole))

    def _whole(self, name: str, whole, size: int):
        if whole.size != size * self.size:
            raise ValueError(f"{name} has {whole.size} bytes; {self.size} parts of {size} bytes need {size * self.size}")
        return whole


def _same(part, whole):
    if (whole.size, whole.type()) != (part.size, part.type()):
        raise ValueError(f"recv, {whole}, is not like send, {part}")
    return whole


def _parts(found: _library.pointer, sizes) -> List[bytes]:
    """The parts of what a call has gathered."""
    whole, at, parts = _library.take(found, sum(sizes)), 0, []
    for size in sizes:
        parts.append(whole[at : at + size])
        at += size
    return parts
