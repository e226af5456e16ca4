"""Operations under way, and who waits for them."""

import itertools
import math
import os
import select
import threading
import time
from typing import Any, Callable, List, NamedTuple, Optional, Sequence

from . import _library
from ._library import Error, check


_LONGEST = 3600.0  # seconds that are waited at a time


class Message(NamedTuple):
    """A received message: the sender's number, the tag, and the number of bytes."""

    source: int
    tag: int
    size: int


class Request:
    """An operation that was begun. Until it is complete its buffers are the library's:
    a program neither changes them nor reads those that are filled."""

    def __init__(self, waiting: "Waiting", name: str, handle: int, keeps, result: Callable):
        self._waiting, self.name, self.handle = waiting, name, handle
        self._keeps, self._result = keeps, result  # memory that the library uses; function for the result
        self._value, self._error = None, None

    def test(self) -> bool:
        """Whether wait would return, or raise, at once."""
        self._waiting.look([self])
        return self.done()

    def wait(self, timeout: Optional[float] = None):
        """Returns what the call without an i would have returned, when it is complete;
        again, when called again. After timeout seconds it raises TimeoutError, and the
        operation goes on."""
        self._waiting.wait([self], timeout)
        if self._error:
            raise self._error
        return self._value

    # The rest is the package's own, and needs the turn.

    def done(self) -> bool:
        return self.handle is None

    def take(self) -> None:
        """Ends the request, which is complete."""
        library, message = self._waiting.library, _library.Message()
        try:
            check(library, library.golaunch_wait_message(_library.to(_library.pointer(self.handle)), _library.to(message)) == 0)
            self._value = self._result(Message(message.source, message.tag, message.size))
        except Error as error:
            self._error = error
        self.end()

    def end(self, error: Optional[Error] = None) -> None:
        self.handle, self._keeps, self._result = None, None, None
        self._error = self._error or error
        self._waiting.under_way.discard(self)

    def __repr__(self):
        return f"<golaunch.Request: {self.name}, {'complete' if self.done() else 'under way'}>"


def waitany(requests: Sequence[Optional[Request]], timeout: Optional[float] = None) -> int:
    """Waits until one of the requests is complete, and returns its place in the list, the
    first of several. Its wait returns, or raises, at once then. None is passed over."""
    places = {place: request for place, request in enumerate(requests) if request is not None}
    if not places:
        raise ValueError("no request to wait for")
    for request in places.values():
        if not isinstance(request, Request):
            raise TypeError(f"a {type(request).__name__} is no request")
    if len({id(request._waiting) for request in places.values()}) > 1:
        raise ValueError("requests of different jobs")
    some = list(places.values())
    return list(places)[some[0]._waiting.wait(some, timeout)]


class Waiting:
    """The threads that wait in a job. libgolaunch is called by one thread at a time, which
    has the turn. One of those that wait polls, without the turn; messages are for all.
    Functions of the library that wait do so here, too."""

    def __init__(self, library):
        self.library = library
        self.job: Optional[int] = None  # the library's; None: closed
        self.turn = threading.Condition()
        self.under_way = set()
        self.beginning: List[Any] = []  # memory of what is about to be under way
        self._swept = 1000  # as many requests that nobody waits for are kept
        self._waited: List[List[Request]] = []
        self._inside: List[int] = []  # threads that are in functions of the library
        self._raised = threading.local()  # raised by a signal's handler meanwhile
        self._waits = _library.Waits(self._wait_inside)  # must live as long
        self._poller: Optional[int] = None  # the thread that polls
        self._heard = 0  # golaunch_heard
        self._process = os.getpid()
        self._bell = os.pipe()  # ends the poll
        for end in self._bell:
            os.set_blocking(end, False)

    def open(self, job: int) -> None:
        self.job = job
        self.library.golaunch_wait_by(job, self._waits, None)

    def call(self, function: Callable, *args):
        """Calls a function of the library, for who has the turn."""
        self._raised.error = None
        self._inside.append(threading.get_ident())
        try:
            result = function(*args)
        finally:
            self._inside.remove(threading.get_ident())
            if self.job:
                self._tell()
                self.ring()
            if self._inside or not self.job:
                self.turn.notify_all()  # a caller that frees, or closes, waits for this
        if self._raised.error:
            raise self._raised.error
        if not self.job:
            raise Error("the job was closed")
        return result

    def _tell(self) -> None:
        """Has other threads look, where something came: it may have been for them."""
        heard = self.library.golaunch_heard(self.job)
        if heard != self._heard:
            self._heard = heard
            self.turn.notify_all()

    def _wait_inside(self, _fd: int, _events: int, _data) -> int:
        """Waits for a function of the library, which this thread is in, with the turn."""
        try:
            heard = self._heard
            if self.job:
                self.look(())
            if heard != self._heard:
                pass  # it may have been for this thread
            elif self._others_poll():
                self.turn.wait()
            elif self.job:
                ready = self._prepare()
                self.turn.release()
                try:
                    self._poll(ready, None)
                finally:
                    self.turn.acquire()
        except BaseException as error:  # the function cannot be left
            self._raised.error = error
        return 0 if self.job else 1

    def sweep(self) -> None:
        """Ends requests that are complete, where many have not been waited for: a program
        that has forgotten them does not keep their buffers."""
        if len(self.under_way) < 2 * self._swept:
            return
        for request in list(self.under_way):
            if self.library.golaunch_test(request.handle) == 1:
                request.take()
        self._swept = max(1000, len(self.under_way))
        self.turn.notify_all()

    def wait(self, requests: List[Request], timeout: Optional[float]) -> int:
        """Returns the place of the first request that is complete."""
        if timeout is not None and math.isnan(timeout):
            raise ValueError("a timeout is a number of seconds")
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            with self.turn:
                self._waited.append(requests)
                self.look(())
            while True:
                with self.turn:
                    if not self._others_poll():
                        self.look(())
                    for place, request in enumerate(requests):
                        if request.done():
                            return place
                    left = None if deadline is None else deadline - time.monotonic()
                    if left is not None and left <= 0:
                        raise TimeoutError(f"{' and '.join(r.name for r in requests[:3])}: not complete after {timeout} s")
                    if left is not None:
                        left = min(left, _LONGEST)
                    if self._others_poll() or not self.job:  # the closer tells, too
                        self.turn.wait(left)
                        continue
                    ready = self._prepare()
                self._poll(ready, left)
        finally:
            with self.turn:
                self._waited = [other for other in self._waited if other is not requests]

    def look(self, requests: Sequence[Request]) -> None:
        """Ends the complete ones of these and of all that are waited for, and tells the
        others. A message for one may end another: they are looked at together."""
        with self.turn:
            mine = [r for r in dict.fromkeys(itertools.chain(requests, *self._waited)) if not r.done()]
            before = len(mine)
            while mine:
                handles = (_library.pointer * len(mine))(*(r.handle for r in mine))
                place = check(self.library, self.library.golaunch_testany(handles, len(mine)) + 1) - 1
                if place == len(mine):
                    break
                mine.pop(place).take()
            if len(mine) < before:
                self.turn.notify_all()
            self._tell()
            self.ring()

    def forked(self) -> bool:
        """Tell whether this is a child of the process that opened the job."""
        return os.getpid() != self._process

    def _others_poll(self) -> bool:
        """Tell whether another thread polls: this one may do so, and be in a signal's handler."""
        return self._poller is not None and self._poller != threading.get_ident()

    def _prepare(self) -> "tuple[select.poll, Optional[int]]":
        """Has this thread poll, before it gives up the turn: from now on others ring."""
        poll, events = select.poll(), _library.short()
        poll.register(self.library.golaunch_fd(self.job, _library.to(events)), events.value)
        poll.register(self._bell[0], select.POLLIN)
        before, self._poller = self._poller, threading.get_ident()
        return poll, before

    def _poll(self, prepared, left: Optional[float]) -> None:
        poll, before = prepared
        try:
            for ready, _ in poll.poll(None if left is None else left * 1000):
                if ready == self._bell[0] and self.job:  # else a handler has closed it
                    os.read(ready, 4096)
        finally:
            with self.turn:
                self._poller = before
                self.turn.notify_all()

    def ring(self) -> None:
        """Has the thread that polls look: a call of another may have taken what came for
        it, or left something to send."""
        if self._poller is not None:
            try:
                os.write(self._bell[1], b"\0")
            except BlockingIOError:
                pass  # it rings already

    def close(self) -> None:
        """Ends the job and all that is under way."""
        with self.turn:
            job, self.job = self.job, None
            if not job:
                return
            if threading.get_ident() in self._inside:
                self.job = job
                raise Error("close: this thread is in a call of the job")
            self.ring()
            self.turn.notify_all()
            while (self._others_poll() or self._inside) and not self.forked():  # a child has no such threads
                self.turn.wait()
            self.library.golaunch_close(job)
            for request in list(self.under_way):
                request.end(Error("the job was closed"))
            self.turn.notify_all()
            for end in self._bell:
                os.close(end)
