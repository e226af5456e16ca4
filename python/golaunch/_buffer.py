"""Arguments of programs, as libgolaunch takes them."""

import ctypes
import operator

SUM, PROD, MIN, MAX, AND, OR, XOR = range(1, 8)  # golaunch_op

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
        self.size, self._format, self.item = view.nbytes, view.format, view.itemsize
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
        found = _TYPES.get((_LETTERS.get(letter), self.item))
        if found is None:
            raise TypeError(
                f"elements of format {self._format}, of {self.item} bytes, are not combined:"
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


def integer(name: str, value) -> int:
    """An argument for an int."""
    value = operator.index(value)
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"{name} is {value}, which has more than 32 bits")
    return value


def key(text: str) -> bytes:
    """A key of the bulletin board."""
    if not isinstance(text, str):
        raise TypeError(f"a key is a str, not {type(text).__name__}")
    key = text.encode()
    if b"\0" in key:
        raise ValueError("a key has no zero bytes")
    return key
