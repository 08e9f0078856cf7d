"""Servers that hopgate.open starts, shares between processes and ends."""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._client import Database
from ._connection import Connection
from ._errors import HopgateError

_WINDOWS = os.name == "nt"
_END = 15  # the seconds that a server may take to end: those of its drain-timeout, and some more
if not _WINDOWS:
    import fcntl


def binary() -> str:
    """The server's program: PYTHON_HOPGATE_BINARY, else the one in this package, else the one on PATH."""
    given = os.environ.get("PYTHON_HOPGATE_BINARY")
    if given:
        return given
    name = "hopgate.exe" if _WINDOWS else "hopgate"
    bundled = Path(__file__).parent / "_bin" / name
    found = str(bundled) if bundled.is_file() else shutil.which(name)
    if not found:
        raise HopgateError("this package has no server for this platform, and no hopgate is on PATH: set PYTHON_HOPGATE_BINARY, or connect to a server")
    return found


def open(path: str | os.PathLike[str], *, graph: str = "", memory: str | None = None, timeout: float = 60, **settings: Any) -> Database:
    """Opens the graphs in a directory, which is created if it does not exist.

    The bundled server starts on loopback ports with a token of its own. It ends when the last process that has opened the directory ends or
    has closed its Database, however it ends. A server that another process has opened so is shared.

    Args:
        path: the directory.
        graph: the graph; by default ``default``.
        memory: the memory of the server, such as ``"2GiB"``; by default half of the machine's.
        timeout: the seconds to wait until the server is ready.
        settings: other settings of ``hopgate serve``, with underscores: ``query_timeout="5m"``. A server that runs keeps its own.
    """
    directory = Path(path).resolve()
    (directory / "python").mkdir(parents=True, exist_ok=True)
    if memory is not None:
        settings["memory"] = memory
    server = Server(directory / "python", directory, settings, timeout)
    ready = server.ready
    return Database(Connection(f"grpc://{ready['grpc']}", ready["token"]), graph, server)


class Server:
    """A server of a directory that this process uses.

    The server reads its standard input, a named pipe that all who use it hold open for writing, and stops at its end: the operating system
    closes the pipe for a process that is killed. On Windows the pipe has no name, and belongs to the process that has started the server.
    """

    def __init__(self, place: Path, data: Path, settings: dict[str, Any], timeout: float):
        self.place, self.data = place, data
        self.process: subprocess.Popen[bytes] | None = None
        self._pipe: int | None = None
        self._users: Any = None
        until = time.monotonic() + timeout
        with self._locked():
            while True:
                found = self._join()
                if found is not None:
                    self.ready = found
                    break
                self.ready = self._start(settings, until)
                break
        if not _WINDOWS:
            self._users = (place / "users").open("a")
            fcntl.flock(self._users, fcntl.LOCK_SH)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Holds the lock of those who start or join a server."""
        with (self.place / "lock").open("a+") as f:
            if _WINDOWS:
                import msvcrt

                msvcrt.locking(f.fileno(), msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined]
            else:
                fcntl.flock(f, fcntl.LOCK_EX)
            yield

    def _join(self) -> dict[str, Any] | None:
        """Joins the server that runs, if one does."""
        try:
            ready: dict[str, Any] = json.loads((self.place / "ready.json").read_text())
            token = (self.place / "token").read_text()
        except (OSError, ValueError):
            return None
        if not _WINDOWS:
            try:
                self._pipe = os.open(self.place / "alive", os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                return None  # nobody reads the pipe
        ready["token"] = token
        try:
            with Database(Connection(f"grpc://{ready['grpc']}", token)) as db:
                db.query("RETURN 1")
        except HopgateError:  # it is about to end
            self._drop()
            return None
        return ready

    def _start(self, settings: dict[str, Any], until: float) -> dict[str, Any]:
        token = secrets.token_urlsafe(24)
        ready = self.place / "ready.json"
        for name in ("ready.json", "token", "tokens.yaml", "alive"):
            (self.place / name).unlink(missing_ok=True)
        self._write("token", token)
        self._write("tokens.yaml", f'tokens:\n  - {{name: python, sha256: {hashlib.sha256(token.encode()).hexdigest()}, role: admin}}\n')
        stdin: int = subprocess.PIPE
        if not _WINDOWS:
            pipe = self.place / "alive"
            os.mkfifo(pipe, 0o600)
            stdin = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self._pipe = os.open(pipe, os.O_WRONLY)
            os.set_blocking(stdin, True)
        flags = {
            "data_dir": str(self.data), "http": "127.0.0.1:0", "grpc": "127.0.0.1:0", "admin": "127.0.0.1:0", "bolt": "",
            "tokens_file": str(self.place / "tokens.yaml"), "ready_file": str(ready), **settings,
        }
        command = [binary(), "serve", "--until-stdin-ends", *(f"--{k.replace('_', '-')}={v}" for k, v in flags.items())]
        environment = {k: v for k, v in os.environ.items() if not k.startswith("HOPGATE_")}
        # The server must not get the signals of the terminal: it ends with its pipe.
        group: dict[str, Any] = {"creationflags": 0x200} if _WINDOWS else {"start_new_session": True}
        waited, patience = 0.01, time.monotonic() + _END
        while True:
            with (self.place / "server.log").open("wb") as log:
                self.process = subprocess.Popen(command, stdin=stdin, stdout=log, stderr=log, env=environment, **group)
            while self.process.poll() is None:
                if ready.exists():
                    if not _WINDOWS:
                        os.close(stdin)
                    out: dict[str, Any] = json.loads(ready.read_text())
                    out["token"] = token
                    return out
                if time.monotonic() > until:
                    self.process.kill()
                    break
                time.sleep(waited)
                waited = min(2 * waited, 0.1)
            said = (self.place / "server.log").read_text(errors="replace").strip()
            # A server that this one follows may still close its files.
            if "in use by another process" not in said or time.monotonic() > min(until, patience):
                break
            time.sleep(0.2)
        if not _WINDOWS:
            os.close(stdin)
        self._drop()
        raise HopgateError("the server has not started: " + ("\n".join(said.splitlines()[-3:]) or "it is not ready in time"))

    def _write(self, name: str, text: str) -> None:
        """Writes a file that only the user may read."""
        fd = os.open(self.place / name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        with os.fdopen(fd, "w") as f:
            f.write(text)

    def _drop(self) -> None:
        if self._pipe is not None:
            os.close(self._pipe)
            self._pipe = None
        if _WINDOWS and self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()

    def release(self) -> None:
        """Stops using the server, and waits for its end if this process has started it and no other one uses it."""
        if self._pipe is None and not _WINDOWS:
            return
        last = _WINDOWS
        if self._users is not None:
            self._users.close()
            with (self.place / "users").open("a") as f, contextlib.suppress(OSError):
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                last = True
        self._drop()
        if last and self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END)
