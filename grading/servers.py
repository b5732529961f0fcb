"""Processes of submissions that begin where another one has got by importing.

A `Server` has the process that forks; see `forking`, which runs in it. A `Starter` has
one for the submissions of a lab, and one for the compilers of their kernels. Where a
process must not fork, or what it forks could reach it, submissions begin with an empty
Python.
"""

import contextlib
import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable

from grading import landlock
from grading.forking import LONGEST, READY, STOP
from grading.namespaces import SECONDS, Apart
from grading.paper import Paper
from grading.processes import Fresh, Running, environment, isolated
from weft.device import toolkit

PATIENCE = 120.0  # seconds for a server to import what it needs, or to answer
SCOPED = 6  # Landlock's first version that keeps signals and traces from others


class Unusable(Exception):
    """There is no server; the argument says why."""


def possible() -> bool:
    """Whether a submission cannot reach the process from which it was forked."""
    kept_away = isolated() is Apart.ALL or landlock.version() >= SCOPED
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and kept_away


class Server:
    """A process that forks; one of the forked runs at a time."""

    def __init__(self, what: str, needs: Iterable[str] = ()) -> None:
        """what: it forks, as `forking` names it; needs: what that takes.

        Raises Unusable.
        """
        self._home = tempfile.TemporaryDirectory(prefix="weft-grade-")
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "grading.forking", str(theirs.fileno()), what],
            cwd=self._home.name,
            env=environment(self._home.name, ""),
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError), self._process.stdin as names:
            names.write(" ".join(needs).encode())
        said = self.hear(PATIENCE)
        if said != READY:
            self.close()
            raise Unusable((said or b"it ended").decode())

    def fork(self, home: str, variables: dict[str, str], *files: int) -> "Forked":
        """Start a process with these files. Raises Unusable."""
        order = {"home": home, "environment": variables, "apart": isolated()}
        try:
            socket.send_fds(self._control, [json.dumps(order).encode()], files)
        except OSError as error:
            raise Unusable(str(error)) from None
        number = self.hear(PATIENCE)
        if not number:
            raise Unusable("it does not answer")
        return Forked(self, int(number))

    @property
    def number(self) -> int:
        """The number of the process."""
        return self._process.pid

    def say(self, what: bytes) -> None:
        with contextlib.suppress(OSError):
            self._control.send(what)

    def hear(self, seconds: float) -> bytes | None:
        """What it says next; None if it says nothing, "" if it has ended."""
        if not select.select([self._control], [], [], seconds)[0]:
            return None
        try:
            return self._control.recv(LONGEST)
        except OSError:
            return b""

    def close(self) -> None:
        """End it, and what it has started."""
        self._control.close()
        try:
            self._process.wait(2 * SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._home.cleanup()


class Forked:
    """A process that a server has forked."""

    def __init__(self, server: Server, number: int) -> None:
        self.sessions = [number]
        self._server = server
        self._code: int | None = None

    def wait(self, seconds: float) -> int | None:
        """Wait for its end; return its exit status, None if it has not ended."""
        if self._code is None and (said := self._server.hear(seconds)) is not None:
            self._code = int(said or -1)
        return self._code

    def end(self) -> None:
        """Stop it, and all that it has started."""
        if self._code is None:
            self._server.say(STOP)
            self.wait(PATIENCE)


class Together:
    """A submission's process, and the one that compiles its kernels."""

    def __init__(self, submission: Forked, compiler: Forked) -> None:
        self.sessions = [*submission.sessions, *compiler.sessions]
        self.wait = submission.wait
        self._all = submission, compiler

    def end(self) -> None:
        """Stop both, and all that they have started."""
        for each in self._all:
            each.end()


class Starter:
    """Starts submissions of a lab, one after another: forked, where that is safe."""

    def __init__(self, needs: Iterable[str]) -> None:
        """needs: the lab, and modules that it imports."""
        self._needs = needs
        self._submissions: Server | None = None
        self._compilers: Server | None = None
        self._tried = False

    def __call__(
        self, home: str, variables: dict[str, str], task: int, report: int
    ) -> Running:
        """Start one. home: its folder. task, report: descriptors of its files."""
        if not self._tried:
            self._begin()
        try:
            if self._submissions:
                return self._fork(self._submissions, home, variables, task, report)
        except Unusable:
            self.close()
        return Fresh(home, variables, task, report)

    @property
    def forks(self) -> bool:
        """Whether it has a server to fork from."""
        return self._submissions is not None

    def numbers(self) -> list[int]:
        """The numbers of the servers' processes."""
        both = self._submissions, self._compilers
        return [server.number for server in both if server]

    def close(self) -> None:
        """End the servers."""
        for server in (self._submissions, self._compilers):
            if server:
                server.close()
        self._submissions = self._compilers = None

    def _begin(self) -> None:
        self._tried = True
        if not possible():
            return
        with contextlib.suppress(Unusable):
            self._submissions = Server("submissions", self._needs)
            if not toolkit.find().missing:
                self._compilers = Server("compilers")

    def _fork(
        self,
        submissions: Server,
        home: str,
        variables: dict[str, str],
        task: int,
        report: int,
    ) -> Running:
        if not self._compilers:
            return submissions.fork(home, variables, task, report)
        (jobs, asks), (hears, answers) = os.pipe(), os.pipe()
        try:
            compiler = self._compilers.fork(home, variables, jobs, answers)
            try:
                files = task, report, asks, hears
                submission = submissions.fork(home, variables, *files)
            except Unusable:
                compiler.end()
                raise
        finally:
            for file in (jobs, asks, hears, answers):
                os.close(file)
        return Together(submission, compiler)


class Starters:
    """A starter for each thread that asks, of submissions of one lab."""

    def __init__(self, paper: Paper) -> None:
        self._needs = [paper.lab, *sorted(paper.modules())]
        self._own = threading.local()
        self._all: list[Starter] = []

    def mine(self) -> Starter:
        """Return the calling thread's."""
        if not hasattr(self._own, "starter"):
            self._own.starter = Starter(self._needs)
            self._all.append(self._own.starter)
        found: Starter = self._own.starter
        return found

    def close(self) -> None:
        """End all servers."""
        for each in self._all:
            each.close()
