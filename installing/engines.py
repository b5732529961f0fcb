"""uv and pip: the same packages, put into .venv by either.

uv is fast, and knows nothing of pip's configuration. So it works where pip has none;
pip works where it has one, and wherever uv fails.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

from installing import Stop, fetching, settings
from installing.environment import Environment, run

DISK_FULL = "No space left on device"
NO_PIP = """\
pip could not be fetched from {}
({}).
Install it: sudo apt install python3-venv"""
NO_NETWORK = """\
The package index could not be reached: {index}
Check the network (or set HTTPS_PROXY, PIP_INDEX_URL) and run make again; what is there
already is kept."""


class Engine:
    """What installs packages into an environment: uv where it can, else pip."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.log = environment.folder / "install.log"
        self.scratch = environment.folder / "tmp"  # the system's may be small
        self.cache = environment.folder / "cache"
        self.uv: Path | None = None
        self.limits: list[str] = []  # of pip's patience, where its index is silent

    def reach(self) -> None:
        """Raise Stop where there are no packages to be reached; changes nothing.

        pip may have been told of another source than its index. Then it is asked, and
        does not insist.
        """
        if fetching.index_answers():
            return
        if not settings.has_sources():
            raise Stop(NO_NETWORK.format(index=settings.package_index()))
        self.limits = ["--retries", "1", "--timeout", "5"]

    def start(self) -> None:
        """Fetch uv where it may be used, and have the right pip in the environment."""
        self.scratch.mkdir(exist_ok=True)
        if not settings.has_sources():
            try:
                self.uv = fetching.uv_program(self.scratch)
            except OSError as error:
                self._note(f"no uv: {error}")
        if self.environment.version("pip") != fetching.PIP:
            self._bring_pip()

    def finish(self) -> None:
        for folder in (self.scratch, self.cache):
            shutil.rmtree(folder, ignore_errors=True)

    def _bring_pip(self) -> None:
        """Install pip from its wheel; where that cannot be fetched, from ensurepip."""
        if any(self.environment.packages.glob("pip-*.dist-info")):
            self.install(f"pip=={fetching.PIP}")
            return
        python = self.environment.python
        try:
            wheel = fetching.pip_wheel(self.scratch)
        except OSError as error:
            self._note(f"no wheel of pip: {error}")
            try:
                run([python, "-m", "ensurepip"])
            except Stop:  # Debian and Ubuntu keep it in python3-venv
                index = settings.package_index()
                raise Stop(NO_PIP.format(index, error)) from error
            self.install(f"pip=={fetching.PIP}")
            return
        if self.uv and self._run(*self._uv_install(), str(wheel))[0]:
            return
        arguments = ["install", "--no-index", "--no-compile", wheel]
        run([python, f"{wheel}/pip", *arguments])

    def install(self, *arguments: str) -> None:
        """Install what pip's arguments ask for. Raises Stop."""
        if self.uv:
            done, last = self._run(*self._uv_install(), *arguments)
            if done:
                return
            if DISK_FULL in "\n".join(last):
                raise Stop(explain(last, self.log))
            print("uv failed, so pip goes on (install.log says why)", flush=True)
            self.uv = None
        pip = [str(self.environment.python), "-m", "pip", "install", "--no-compile"]
        done, last = self._run(*pip, *self.limits, *arguments)
        if not done:
            raise Stop(explain(last, self.log))

    def _uv_install(self) -> list[str]:
        python = str(self.environment.python)
        own = ["--no-config", "--system-certs", "--python", python]
        # Its cache lies beside the packages, which are hard links into it, and is
        # removed at the end: they take no space twice.
        return [
            *(str(self.uv), "pip", "install", *own),
            *("--cache-dir", str(self.cache)),
        ]

    def check(self, names: set[str]) -> None:
        """Raise Stop where a package of these lacks another, or does not fit it.

        What a learner installed besides is not the course's business.
        """
        _, last = self._run(str(self.environment.python), "-m", "pip", "check")
        found = [line for line in last if line.partition(" ")[0].lower() in names]
        if found:
            raise Stop(
                "The packages in .venv do not fit together:\n"
                + "\n".join(found[-10:])
                + f"\nThe whole story: {self.log}. Run make again to go on."
            )

    def _run(self, *command: str) -> tuple[bool, list[str]]:
        """Run it; keep its words in install.log, and show where it is."""
        variables = dict(settings.environment(), TMPDIR=str(self.scratch))
        with self.log.open("a", buffering=1, encoding="utf-8") as words:
            print("$", *command, file=words)
            try:
                running = subprocess.Popen(
                    command,
                    env=variables,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                )
            except OSError as error:  # a program for another libc, or noexec
                print(error, file=words)
                return False, [str(error)]
            last: list[str] = []
            for line in running.stdout:
                words.write(line)
                last = [*last[-200:], line.rstrip()]
                show_progress(line)
        show_progress("")
        return running.wait() == 0, last

    def _note(self, line: str) -> None:
        with self.log.open("a", encoding="utf-8") as words:
            print("#", line, file=words)


def show_progress(line: str) -> None:
    """Overwrite one line of the terminal with what is being done."""
    if not sys.stderr.isatty():
        return
    steps = r"Downloading \S+( \(.*?\))?|Installing collected|Prepared \d+|Retrying"
    step = re.match(rf"\s*(?:WARNING: )?({steps})", line)
    if step or not line:
        text = step.group(1)[:78] if step else ""
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def explain(lines: list[str], log: Path) -> str:
    """What pip's last words mean, and what to do about it."""
    text = "\n".join(lines)
    if DISK_FULL in text:
        return "The disk filled up. Free some space and run make again."
    if re.search(r"NewConnection|NameResolution|ConnectTimeout|Read timed", text):
        index = settings.package_index()
        return NO_NETWORK.format(index=index) + f"\nThe whole story: {log}"
    tail = "\n".join(line for line in lines[-15:] if line.strip())
    return f"{tail}\n\npip failed; the whole story: {log}. Run make again to go on."


def ask_pip(python: Path, arguments: list[str]) -> dict | None:
    """pip's report on the one wheel it would install; None where it finds none."""
    look = ["install", "--dry-run", "--no-deps", "--quiet", "--report", "-"]
    limits = ["--only-binary", ":all:", "--retries", "0", "--timeout", "5"]
    try:
        answer = subprocess.run(
            [str(python), "-m", "pip", *look, *limits, *arguments],
            env=settings.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=30,
            check=True,
        )
        return json.loads(answer.stdout)["install"][0]
    except (subprocess.SubprocessError, ValueError):
        return None
