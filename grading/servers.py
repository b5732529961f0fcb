"""Processes of submissions that are forked from one with all imports done.

A `Server` has a process that forks; that process runs `forking`. A `Starter` has one
for the submissions of a lab, and one for the compilers of their kernels. If a process
must not fork, or a forked one could reach it, submissions begin with a newly started
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
SCOPED = 6  # first version of Landlock that shields others from signals and tracing


class Unusable(Exception):
    """There is no server; the argument says why."""


def possible() -> bool:
    """Return whether forking is possible, and a submission cannot reach its parent."""
    kept_away = isolated() is Apart.ALL or landlock.version() >= SCOPED
    return sys.platform == "linux" and hasattr(os, "pidfd_open") and kept_away


class Server:
    """A process that forks others, one at a time."""

    def __init__(self, what: str, needs: Iterable[str] = ()) -> None:
        """Start the process, and wait until it is ready. Raises Unusable.

        what: the function of `forking` that it runs. needs: the lab, and the modules to
        import.
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
        """Fork a process. Raises Unusable.

        home: its folder. variables: its environment. files: the descriptors that it
        gets.
        """
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
        """The process number."""
        return self._process.pid

    def say(self, what: bytes) -> None:
        with contextlib.suppress(OSError):
            self._control.send(what)

    def hear(self, seconds: float) -> bytes | None:
        """Return its next message; None if it is silent, b"" if it has ended."""
        if not select.select([self._control], [], [], seconds)[0]:
            return None
        try:
            return self._control.recv(LONGEST)
        except OSError:
            return b""

    def close(self) -> None:
        """End the process, and all that it has started."""
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
        """Wait for the end; return the exit status, or None if it has not ended."""
        if self._code is None and (said := self._server.hear(seconds)) is not None:
            self._code = int(said or -1)
        return self._code

    def end(self) -> None:
        """Stop the process, and all that it has started."""
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
        """Stop both processes, and all that they have started."""
        for each in self._all:
            each.end()


class Starter:
    """Starts a lab's submissions, one after another: by forking if that is safe."""

    def __init__(self, needs: Iterable[str]) -> None:
        """Keep what submissions need: the lab, and the modules to import."""
        self._needs = needs
        self._submissions: Server | None = None
        self._compilers: Server | None = None
        self._tried = False

    def __call__(
        self, home: str, variables: dict[str, str], task: int, report: int
    ) -> Running:
        """Start a submission.

        home: its folder. variables: its environment. task, report: the descriptors that
        it reads and writes.
        """
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
        """Return the process numbers of the servers."""
        both = self._submissions, self._compilers
        return [server.number for server in both if server]

    def close(self) -> None:
        """End the servers' processes."""
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
    """A starter for each thread that asks, for submissions of one lab."""

    def __init__(self, paper: Paper) -> None:
        self._needs = [paper.lab, *sorted(paper.modules())]
        self._own = threading.local()
        self._all: list[Starter] = []

    def mine(self) -> Starter:
        """Return the calling thread's starter; make it at the first call."""
        if not hasattr(self._own, "starter"):
            self._own.starter = Starter(self._needs)
            self._all.append(self._own.starter)
        found: Starter = self._own.starter
        return found

    def close(self) -> None:
        """End all servers."""
        for each in self._all:
            each.close()
