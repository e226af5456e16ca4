"""A rank's connection to the agent of its node."""

import threading
from typing import Optional, Sequence

from . import _buffer, _library
from ._buffer import given, integer
from ._comm import Comm
from ._library import Error, check
from ._request import Request, Waiting


class Job:
    """This rank's connection to the agent of its node: one in a process. It ends with
    close, or with the with-statement."""

    def __init__(self):
        library = _library.load()
        self._fences = threading.Lock()
        self._waiting = Waiting(library)
        self._waiting.open(check(library, library.golaunch_open()))
        self.world = Comm(self, _library.pointer(library.golaunch_world(self._waiting.job)))
        self.node = library.golaunch_node(self._waiting.job)
        self.nodes = library.golaunch_nodes(self._waiting.job)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self) -> None:
        """Says goodbye. Ranks that wait for this one get an Error that names it, and so
        does who waits here for what is under way."""
        self._waiting.close()

    def put(self, key: str, value) -> None:
        """Puts a value of up to 1024 bytes on the world's bulletin board, which others
        find after the next fence."""
        value = given(value)
        self._call("put", _buffer.key(key), value.pointer, value.size)

    def fence(self) -> None:
        """Returns when every rank has called it."""
        if self._waiting.forked():
            self._call("fence")  # the library says so
        with self._fences:  # libgolaunch takes one at a time
            self._call("fence")

    def get(self, key: str) -> Optional[bytes]:
        """The value of a key of the bulletin board, or None."""
        found, size = _library.pointer(), _library.size()
        self._call("get", _buffer.key(key), _library.to(found), _library.to(size))
        return _library.take(found, size.value)

    def sub(self, ranks: Sequence[int]) -> Comm:
        """A communicator of some ranks of the world, in the order given; these ranks, and
        no others, call it with the same list."""
        ranks = [integer("a rank", rank) for rank in ranks]
        return Comm(self, self._made("sub", (_library.c_int * len(ranks))(*ranks), len(ranks)))

    def network_depth(self) -> int:
        """The number of levels of switches between the job's hosts; 0 if it is not known."""
        return self._call("network_depth")

    def switch_clusters(self, depth: int) -> int:
        """In how many switch clusters the world's hosts are at a depth, from 1."""
        return self._call("switch_clusters", integer("depth", depth))

    def switch_cluster(self, rank: int, depth: int) -> int:
        """The switch cluster, at a depth, of the host that a rank of the world is on."""
        return self._call("switch_cluster", integer("rank", rank), integer("depth", depth))

    # The rest is the package's own. Functions are called for the job, or for comm.

    def _call(self, name: str, *args, comm: Optional[Comm] = None) -> int:
        """Calls a function that gives 0 or more, or -1."""
        return check(self._library, self._do(name, args, comm) + 1) - 1

    def _made(self, name: str, *args, comm: Optional[Comm] = None):
        """Calls a function that gives a communicator."""
        return _library.pointer(check(self._library, self._do(name, args, comm)))

    def _begin(self, name: str, *args, comm: Comm, keeps=None, result=lambda message: None) -> Request:
        """Begins an operation, whose memory the request keeps; the result is made of what
        a receive got."""
        beginning = self._waiting.beginning
        with self._waiting.turn:
            beginning.append(keeps)  # for good, if a signal's handler raises before there is a request
            try:
                handle = check(self._library, self._do("i" + name, args, comm))
            except Error:
                beginning.pop()
                raise
            request = Request(self._waiting, name, handle, keeps, result)
            self._waiting.under_way.add(request)
            beginning.pop()
            self._waiting.sweep()
        return request

    @property
    def _library(self):
        return self._waiting.library

    def _do(self, name: str, args, comm: Optional[Comm]):
        with self._waiting.turn:
            if not self._waiting.job:
                raise Error("the job was closed")
            if comm and not comm._pointer:
                raise Error("the communicator was freed")
            of = comm._pointer if comm else self._waiting.job
            if name == "comm_free":
                of = _library.to(of)  # it is None then
            return self._waiting.call(getattr(self._library, "golaunch_" + name), of, *args)
