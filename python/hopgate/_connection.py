"""Calls of Arrow Flight with their headers, trailers and errors."""
from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyarrow.flight as flight

from ._errors import HopgateError, translate

_T = TypeVar("_T")
_calls = threading.local()


class Call:
    """A call in progress. ``headers`` has those of the answer, its trailers included, once they have arrived."""

    def __init__(self) -> None:
        self.headers: dict[str, list[Any]] = {}

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Raises the exceptions of pyarrow as those of this package."""
        before = getattr(_calls, "now", None)
        _calls.now = self  # the middleware of a call begins in the thread that makes it
        try:
            yield
        except BaseException as err:
            better = translate(err, self.headers)
            if better is err:
                raise
            raise better from None
        finally:
            _calls.now = before


class Scope:
    """The calls of a request, which another thread may cancel."""

    def __init__(self) -> None:
        self._lock, self._cancelled = threading.Lock(), False
        self._calls: list[Callable[[], None]] = []

    def add(self, cancel: Callable[[], None]) -> None:
        """Adds a call by the function that cancels it, and calls that if the request has been cancelled."""
        with self._lock:
            self._calls.append(cancel)
            cancelled = self._cancelled
        if cancelled:
            cancel()

    def cancel(self) -> None:
        """Cancels the calls, and those to come."""
        with self._lock:
            self._cancelled, calls = True, list(self._calls)
        for cancel in calls:
            cancel()


# The scope of the request that this thread makes; None if nobody can cancel it.
scope: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("hopgate_scope", default=None)


def cancellable(cancel: Callable[[], None]) -> None:
    """Adds a call to the scope of this thread's request, if it has one."""
    now = scope.get()
    if now is not None:
        now.add(cancel)


async def awaited(f: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    """Makes a request in a thread, and cancels its calls if the task is cancelled."""
    calls = Scope()

    def work() -> _T:
        scope.set(calls)  # in the thread's copy of the context
        return f(*args, **kwargs)

    try:
        return await asyncio.to_thread(work)
    except asyncio.CancelledError:
        calls.cancel()
        raise


class _Middleware(flight.ClientMiddleware):  # type: ignore[misc]
    def __init__(self, call: Call):
        self.call = call

    def received_headers(self, headers: dict[str, list[Any]]) -> None:
        self.call.headers.update({k.lower(): v for k, v in headers.items()})


class _Factory(flight.ClientMiddlewareFactory):  # type: ignore[misc]
    def start_call(self, info: Any) -> flight.ClientMiddleware | None:
        call = getattr(_calls, "now", None)
        return _Middleware(call) if call is not None else None


class Connection:
    """A connection to a server, which threads may share."""

    def __init__(self, location: str, token: str | None, tls_ca: bytes | None = None, tls_cert: bytes | None = None, tls_key: bytes | None = None):
        self.location, self.token, self.tls_ca = location, token, tls_ca
        self.uri = location if "://" in location else "grpc://" + location
        for scheme, flight_scheme in (("grpc://", "grpc+tcp://"), ("grpcs://", "grpc+tls://")):
            if self.uri.startswith(scheme):
                self.uri = flight_scheme + self.uri[len(scheme):]
        tls = {"tls_root_certs": tls_ca, "cert_chain": tls_cert, "private_key": tls_key}
        try:
            self.client = flight.FlightClient(self.uri, middleware=[_Factory()], **{k: v for k, v in tls.items() if v is not None})
        except Exception as err:  # an address that is none
            raise HopgateError(f"{self.location}: {err}") from None

    def options(self, timeout: float | None = None) -> flight.FlightCallOptions:
        headers = [(b"authorization", b"Bearer " + self.token.encode())] if self.token else []
        return flight.FlightCallOptions(timeout=timeout, headers=headers)

    def close(self) -> None:
        self.client.close()
