"""libgolaunch by ctypes, and buffers for it."""

import ctypes
import operator
from ctypes import POINTER, byref as to, c_char_p, c_int, c_size_t as size, c_void_p as pointer
from pathlib import Path

VERSION = 1  # GOLAUNCH_VERSION of golaunch.h


class Error(RuntimeError):
    """What libgolaunch says: which call failed, and why."""

    __module__ = "golaunch"  # as programs know it


class Message(ctypes.Structure):
    """struct golaunch_message."""

    _fields_ = [("source", c_int), ("tag", c_int), ("size", size)]


# Functions, by their results.
_RESULTS = {
    c_char_p: {"error": []},
    pointer: {"open": [], "world": [pointer]},
    None: {"close": [pointer]},
    c_int: {
        "node": [pointer],
        "nodes": [pointer],
        "rank": [pointer],
        "size": [pointer],
        "barrier": [pointer],
        "bcast": [pointer, c_int, pointer, size],
        "gather": [pointer, c_int, pointer, pointer, size],
        "allgather": [pointer, pointer, pointer, size],
        "scatter": [pointer, c_int, pointer, pointer, size],
        "reduce": [pointer, c_int, c_int, c_int, pointer, pointer, size],
        "allreduce": [pointer, c_int, c_int, pointer, pointer, size],
        "scan": [pointer, c_int, c_int, pointer, pointer, size],
        "send": [pointer, c_int, c_int, pointer, size],
        "recv": [pointer, c_int, c_int, pointer, size, POINTER(Message)],
        "split": [pointer, c_int, c_int, POINTER(pointer)],
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


def check(library: ctypes.CDLL, well):
    """Gives back what a call returned, or raises what went wrong."""
    if well:
        return well
    raise Error(library.golaunch_error().decode(errors="replace"))


def integer(name: str, value) -> int:
    """An argument for an int."""
    value = operator.index(value)
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} is {value}, which has more than 32 bits")
    return value


def key(text: str) -> bytes:
    """A key of the bulletin board."""
    key = text.encode()
    if b"\0" in key:
        raise ValueError("a key has no zero bytes")
    return key


def take(value: pointer, length: size):
    """The bytes of a value for free(), or None."""
    if not value:
        return None
    try:
        return ctypes.string_at(value, length.value)
    finally:
        _free(value)


_free = ctypes.CDLL(None).free
_free.restype, _free.argtypes = None, [pointer]

# golaunch_type by the kind and the size of elements; kinds by the buffer protocol's letters.
_TYPES = {("i", 4): 0x10, ("i", 8): 0x20, ("u", 8): 0x30, ("f", 4): 0x40, ("f", 8): 0x50, ("u", 1): 0x60}
_LETTERS = {**dict.fromkeys("bhilqn", "i"), **dict.fromkeys("BHILQN", "u"), **dict.fromkeys("fd", "f")}


class _Buffer:
    """A buffer's memory, for as long as this lives."""

    def __init__(self, data, writable: bool):
        view = memoryview(data)
        if not view.c_contiguous:
            raise ValueError("a buffer does not lie in one piece")
        if writable and view.readonly:
            raise ValueError(f"a buffer, of {type(data).__name__}, cannot be written to")
        self.size, self._format, self._item = view.nbytes, view.format, view.itemsize
        array = ctypes.c_char * self.size
        if self.size == 0:
            self._memory = array()
        elif view.readonly:
            self._memory = array.from_buffer_copy(view)
        else:
            self._memory = array.from_buffer(view)
        self.pointer = ctypes.addressof(self._memory)

    def type(self) -> int:
        """The type of the elements, for reductions."""
        letter = self._format[1:] if self._format[0] in "@=<" else self._format
        found = _TYPES.get((_LETTERS.get(letter), self._item))
        if found is None:
            raise TypeError(
                f"elements of format {self._format}, of {self._item} bytes, are not combined:"
                " int32, int64, uint64, uint8, float and double are"
            )
        return found

    def __str__(self):
        return f"{self.size} bytes of format {self._format}"


class NOTHING:
    """No buffer, where a rank needs none."""

    pointer, size = None, 0


def given(data) -> _Buffer:
    """A buffer that is read; one that cannot be written to is copied."""
    return _Buffer(data, False)


def taken(data) -> _Buffer:
    """A buffer that is filled."""
    return _Buffer(data, True)
