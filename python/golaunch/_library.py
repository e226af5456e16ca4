"""libgolaunch by ctypes."""

import ctypes
from ctypes import POINTER, byref as to, c_char_p, c_int, c_short as short, c_size_t as size, c_ulong, c_void_p as pointer
from pathlib import Path
from typing import Optional

VERSION = 1  # GOLAUNCH_VERSION of golaunch.h


class Error(RuntimeError):
    """libgolaunch's error: the call that failed, and the reason."""

    __module__ = "golaunch"  # as programs know it


class LeftError(Error):
    """A rank that is needed has left, or ended: member is its number in the communicator
    (in the world, of Job.sub), None where it is not known."""

    __module__ = "golaunch"
    member: Optional[int] = None


class MismatchError(Error):
    """Members disagree about an operation: none of the communicator succeeds any more."""

    __module__ = "golaunch"


class Message(ctypes.Structure):
    """struct golaunch_message."""

    _fields_ = [("source", c_int), ("tag", c_int), ("size", size)]


# golaunch_waits: a descriptor, events, data.
Waits = ctypes.CFUNCTYPE(c_int, c_int, short, pointer)

# Functions, by their results.
_RESULTS = {
    c_char_p: {"error": []},
    pointer: {
        "open": [],
        "world": [pointer],
        "sub": [pointer, POINTER(c_int), c_int],
        "shrink": [pointer],
        "ibarrier": [pointer],
        "ibcast": [pointer, c_int, pointer, size],
        "igather": [pointer, c_int, pointer, pointer, size],
        "iallgather": [pointer, pointer, pointer, size],
        "iscatter": [pointer, c_int, pointer, pointer, size],
        "ialltoall": [pointer, pointer, pointer, size],
        "ireduce": [pointer, c_int, c_int, c_int, pointer, pointer, size],
        "iallreduce": [pointer, c_int, c_int, pointer, pointer, size],
        "ireduce_scatter": [pointer, c_int, c_int, pointer, pointer, size],
        "iscan": [pointer, c_int, c_int, pointer, pointer, size],
        "iexscan": [pointer, c_int, c_int, pointer, pointer, size],
        "isend": [pointer, c_int, c_int, pointer, size],
        "irecv": [pointer, c_int, c_int, pointer, size],
        "irecv_alloc": [pointer, c_int, c_int, POINTER(pointer)],
        "isplit": [pointer, c_int, c_int, POINTER(pointer)],
    },
    None: {"close": [pointer]},
    c_ulong: {"heard": [pointer]},
    c_int: {
        "node": [pointer],
        "nodes": [pointer],
        "rank": [pointer],
        "size": [pointer],
        "fd": [pointer, POINTER(short)],
        "wait_by": [pointer, Waits, pointer],
        "test": [pointer],
        "testany": [POINTER(pointer), c_int],
        "error_cause": [POINTER(c_int)],
        "wait_message": [POINTER(pointer), POINTER(Message)],
        "probe": [pointer, c_int, c_int, POINTER(Message)],
        "tryprobe": [pointer, c_int, c_int, POINTER(Message)],
        "gatherv": [pointer, c_int, pointer, size, size, POINTER(pointer), POINTER(size)],
        "allgatherv": [pointer, pointer, size, size, POINTER(pointer), POINTER(size)],
        "locate": [pointer, c_int, POINTER(c_int), POINTER(c_int)],
        "network_depth": [pointer],
        "switch_clusters": [pointer, c_int],
        "switch_cluster": [pointer, c_int, c_int],
        "comm_free": [POINTER(pointer)],
        "put": [pointer, c_char_p, pointer, size],
        "fence": [pointer],
        "get": [pointer, c_char_p, POINTER(pointer), POINTER(size)],
    },
}


def load() -> ctypes.CDLL:
    """The library that the dynamic linker finds, or else the one that was installed, or
    built, with this module."""
    name, here = f"libgolaunch.so.{VERSION}", Path(__file__).resolve()
    places = [name, here.parents[4] / "lib" / name if len(here.parents) > 4 else name, here.parents[2] / "bin" / "lib" / name]
    why = []
    for place in places:
        try:
            library = ctypes.CDLL(str(place))
        except OSError as error:
            why.append(str(error))
            continue
        for result, functions in _RESULTS.items():
            for function, arguments in functions.items():
                f = getattr(library, "golaunch_" + function)
                f.restype, f.argtypes = result, arguments
        return library
    raise Error("; ".join(dict.fromkeys(why)) + "; make install installs it, LD_LIBRARY_PATH names its directory")


_LEFT, _MISMATCH = 1, 2  # golaunch_cause


def check(library: ctypes.CDLL, well):
    """Gives back what a call returned, or raises what went wrong."""
    if well:
        return well
    member = c_int()
    cause = library.golaunch_error_cause(to(member))
    error = {_LEFT: LeftError, _MISMATCH: MismatchError}.get(cause, Error)(library.golaunch_error().decode(errors="replace"))
    if cause == _LEFT and member.value >= 0:
        error.member = member.value
    raise error


def take(value: pointer, length: int) -> Optional[bytes]:
    """The bytes of a value for free(), or None."""
    if not value:
        return None
    try:
        return ctypes.string_at(value, length)
    finally:
        _free(value)


_free = ctypes.CDLL(None).free
_free.restype, _free.argtypes = None, [pointer]
