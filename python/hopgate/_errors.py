"""Exceptions, and how those of Arrow Flight become them."""
from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.flight as flight

if TYPE_CHECKING:
    from ._load import LoadResult


class HopgateError(Exception):
    """An error of the server or of this package.

    Attributes:
        code: Neo4j's status code, such as ``Neo.ClientError.Statement.SyntaxError``; "" for an error of this package.
        detail: the kind of the error in openCypher's classification, such as ``UndefinedVariable``.
        line, column, offset: the place in the statement, from 1, 1 and 0; None if the error has none.
        retry_after: the seconds after which the server asks to try again; None if it does not.
    """

    def __init__(self, message: str, *, code: str = "", detail: str = "", line: int | None = None, column: int | None = None,
                 offset: int | None = None, retry_after: float | None = None):
        super().__init__(message)
        self.message, self.code, self.detail = message, code, detail
        self.line, self.column, self.offset, self.retry_after = line, column, offset, retry_after

    def __str__(self) -> str:
        place = f" (line {self.line}, column {self.column})" if self.line is not None else ""
        return f"{self.message}{place}"


class RequestError(HopgateError):
    """The statement, its parameters or the request is wrong, or a constraint forbids the change."""


class NotFoundError(HopgateError):
    """There is no such graph or table."""


class AccessError(HopgateError):
    """The token is missing or wrong, or its role does not suffice."""


class ConflictError(HopgateError):
    """Another transaction has changed the same data: run the whole transaction again."""


class LimitError(HopgateError):
    """The request exceeds a limit of memory, rows or requests."""


class TimeoutError(HopgateError):
    """The request exceeded its timeout or was cancelled."""


class UnavailableError(HopgateError):
    """The server cannot be reached, or cannot serve the request now. It has changed nothing."""


class OutcomeUnknownError(HopgateError):
    """The answer to a commit is lost: look before you write again."""


class RejectedError(HopgateError):
    """A load refused more rows than ``max_rejects``. ``result`` has the rows; those that it accepted stay in the graph."""

    def __init__(self, message: str, result: LoadResult):
        super().__init__(message)
        self.result = result


_DETAILS = "grpc-status-details-bin"

# By the code of gRPC. Others are a HopgateError.
_BY_STATUS: dict[int, type[HopgateError]] = {
    1: TimeoutError, 2: OutcomeUnknownError, 3: RequestError, 4: TimeoutError, 5: NotFoundError, 6: RequestError, 7: AccessError,
    8: LimitError, 10: ConflictError, 14: UnavailableError, 16: AccessError,
}


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of Protocol Buffers: its number, and an integer or bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        n = shift = 0
        while True:
            b = data[at]
            at += 1
            n |= (b & 0x7F) << shift
            shift += 7
            if b < 0x80:
                return n

    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            yield tag >> 3, varint()
        elif tag & 7 == 2:
            size = varint()
            at += size
            yield tag >> 3, data[at - size:at]
        else:
            raise ValueError("unexpected field")


def _details(status: bytes) -> tuple[int, str, dict[str, str], float | None]:
    """The code, the message, the ErrorInfo and the delay of the RetryInfo in a google.rpc.Status."""
    code, message, info, retry = 0, "", {}, None
    for number, value in _fields(status):
        if number == 1:
            code = value
        elif number == 2:
            message = value.decode("utf-8", "replace")
        elif number == 3:
            detail = dict(_fields(value))
            name, body = detail.get(1, b""), detail.get(2, b"")
            if name.endswith(b"google.rpc.ErrorInfo"):
                for n, v in _fields(body):
                    if n == 1:
                        info["reason"] = v.decode()
                    elif n == 3:
                        entry = dict(_fields(v))
                        info[entry.get(1, b"").decode()] = entry.get(2, b"").decode("utf-8", "replace")
            elif name.endswith(b"google.rpc.RetryInfo"):
                delay = dict(_fields(dict(_fields(body)).get(1, b"")))
                retry = delay.get(1, 0) + delay.get(2, 0) / 1e9
    return code, message, info, retry


def translate(err: BaseException, headers: dict[str, list[Any]]) -> BaseException:
    """The exception for one of pyarrow, given the headers of the call."""
    if isinstance(err, HopgateError) or not isinstance(err, (pa.ArrowException, flight.FlightError, OSError, ValueError, NotImplementedError, RuntimeError)):
        return err
    raw = headers.get(_DETAILS)
    if raw:
        try:
            code, message, info, retry = _details(raw[0] if isinstance(raw[0], bytes) else raw[0].encode("latin-1"))
        except (ValueError, IndexError):
            pass
        else:
            place = {k: int(info[k]) for k in ("line", "column", "offset") if k in info}
            return _BY_STATUS.get(code, HopgateError)(
                message, code=info.get("reason", ""), detail=info.get("detail", ""), retry_after=retry, **place)
    text = str(err).split(". gRPC client debug context:")[0].split(". Client context:")[0]
    if isinstance(err, flight.FlightUnavailableError):
        return UnavailableError(text)
    if isinstance(err, (flight.FlightTimedOutError, flight.FlightCancelledError)):
        return TimeoutError(text)
    if isinstance(err, (flight.FlightUnauthenticatedError, flight.FlightUnauthorizedError)):
        return AccessError(text)
    return HopgateError(text)
