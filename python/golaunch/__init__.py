"""The tree of a golaunch job as a service to its programs, by libgolaunch.

    import array, golaunch

    with golaunch.Job() as job:
        world = job.world
        ours = array.array("d", [0.0])
        world.allreduce(array.array("d", [1.0]), ours, golaunch.SUM)

Data are buffers: bytes, bytearray, array.array, memoryview, NumPy's arrays and others
that lie in one piece. What a call fills must be writable. For other things there is
pickle.dumps, and recv_bytes, which receives what is however long.

Operations of a communicator are collective: every member begins the same ones, in the
same order. Each call waits until it is complete; those whose name begins with i begin
only, and return a Request to wait for. Threads may call at any time.

What goes wrong is an Error: a LeftError where a rank has left that is needed, a
MismatchError where members disagree about an operation. Arguments that cannot be right are a
ValueError or a TypeError.
docs/client.md tells of the service, golaunch.h of each operation.
"""

from ._buffer import AND, MAX, MIN, OR, PROD, SUM, XOR
from ._comm import ANY, Comm
from ._job import Job
from ._library import Error, LeftError, MismatchError
from ._request import Message, Request, waitany

__all__ = ["Job", "Comm", "Request", "Message", "Error", "LeftError", "MismatchError", "waitany", "SUM", "PROD", "MIN", "MAX", "AND", "OR", "XOR", "ANY"]
