"""Grade one submission: run it, again without what breaks off, and collect marks."""

import pickle
import secrets
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from grading import processes
from grading.files import printable
from grading.listening import Heard, Mark, Tampered
from grading.paper import Paper
from grading.processes import Fresh, Start
from grading.worker import Task

STOPPED = {
    "hang": "It did not come to an end within {seconds:g} s and was stopped.",
    "time": "The submission did not come to an end within {total:g} s.",
    "crash": "The process ended while it was checked: it crashed, or ended itself.",
    "memory": "It needed more than {memory:g} GB of memory and was stopped.",
    "processes": "It started too many processes and was stopped.",
    "tampered": "Its process reported what the grader never reports.",
}
TAMPERED = "Its process reported what the grader does not expect: {why}."


@dataclass(frozen=True)
class Limits:
    """The limits of one submission, and its seed.

    seconds: for one check. total: seconds for all of them. memory: in GiB. seed: any
    text; it chooses a size and data for each exercise. variants: whether each student
    gets different ones.
    """

    seconds: float = 120
    memory: float = 4
    seed: str = ""
    total: float = 900
    variants: bool = False

    def of(self, student: str) -> "Limits":
        """Return the limits for a student; with variants, the seed is their own."""
        if not self.variants:
            return self
        return replace(self, seed=f"{self.seed} {student}".strip(), variants=False)


@dataclass
class Result:
    """The marks of one submission, and how long it took in seconds.

    key: a digest of all that the marks depend on. said: why nothing was graded, or "".
    date: when it was graded, in ISO 8601. seed: the seed that it was checked with.
    answers: the digests of each answer, for `audit`.
    """

    student: str
    marks: list[Mark] = field(default_factory=list)
    seconds: float = 0
    key: str = ""
    answers: dict[str, list[Any]] = field(default_factory=dict)
    said: str = ""
    date: str = ""
    seed: str = ""

    @property
    def points(self) -> int:
        """How many exercises passed."""
        return sum(mark.passed for mark in self.marks)


def grade(
    paper: Paper, student: str, notebook: bytes, limits: Limits, start: Start = Fresh
) -> Result:
    """Grade a submission of any kind; an error becomes the kind of its marks.

    Raises processes.Ended if the grader itself is being stopped.
    """
    try:
        return sit(paper, student, notebook, limits, start)
    except processes.Ended:
        raise
    except Exception as error:
        return nothing(paper, student, "error", f"{type(error).__name__}: {error}")


def nothing(paper: Paper, student: str, kind: str, why: str) -> Result:
    """Return the result of a submission in which nothing can be marked."""
    marks = [Mark(e, kind) for e in paper.exercises]
    return Result(student, marks, said=printable(why))


def sit(
    paper: Paper, student: str, notebook: bytes, limits: Limits, start: Start = Fresh
) -> Result:
    """Grade one submission, given as the bytes of its file.

    An exercise that hangs or takes the process down gets no mark, and the rest is run
    again without it. Verdicts count only if their run came to its end. Raises
    processes.Ended if the grader itself is being stopped.
    """
    begun = time.monotonic()
    lost: dict[str, Mark] = {}
    answers: dict[str, list[Any]] = {}
    last = False  # once time is up: the last run is without what has no verdict yet
    while True:
        heard = Heard(paper, secrets.token_hex(16))
        task = Task(paper, notebook, list(lost), heard.key)
        left = limits.total if last else limits.total - (time.monotonic() - begun)
        ended, why = _run(task, heard, limits, left, start)
        answers = heard.answers | answers
        if ended == "stopped":
            raise processes.Ended(ended)
        if not ended:
            found = heard.marks | heard.missing | lost
            break
        blamed = _blamed(heard, ended, why)
        blamed = {e: mark for e, mark in blamed.items() if e not in lost}
        if last or not blamed:
            return nothing(paper, student, ended, why)
        lost |= blamed
        last = ended == "time"
    marks = [found[e].noting(heard.notes.get(e, "")) for e in paper.exercises]
    return Result(student, marks, time.monotonic() - begun, answers=answers)


def _blamed(heard: Heard, ended: str, why: str) -> dict[str, Mark]:
    """Return the marks of the exercises to leave out after a run that broke off.

    That is the exercise which was running. If none was, it is those that have failed,
    as a later cell may use them.
    """
    if ended == "tampered" or not heard.read:
        return {}
    if ended == "time":
        late = [e for e in heard.paper.exercises if e not in heard.marks]
        return {e: Mark(e, "hang", text=why) for e in late}
    if heard.during:
        return {heard.during: Mark(heard.during, ended, text=why)}
    return {e: mark for e, mark in heard.marks.items() if not mark.passed}


def _run(
    task: Task, heard: Heard, limits: Limits, left: float, start: Start
) -> tuple[str, str]:
    """Run a task, and take in its report.

    left: the seconds that it has. Returns how the run broke off, as a word and as a
    sentence; ("", "") if it did not.
    """
    memory = limits.memory * 2**30
    lines = processes.report(pickle.dumps(task), limits.seed, memory, start)
    begun = since = time.monotonic()
    ended = ""
    try:
        for line in lines:
            now = time.monotonic()
            if line is not None:
                heard.line(line)
                since = now
            if heard.ends or heard.failed:
                break
            if now - begun > left or now - since > limits.seconds:
                ended = "time" if now - begun > left else "hang"
                break
    except processes.Ended as error:
        ended = str(error)
    except Tampered as error:
        return "tampered", TAMPERED.format(why=error)
    finally:
        lines.close()
    if heard.failed:
        return heard.failed.kind, heard.failed.text
    if heard.ends:
        return "", ""
    if not ended:
        ended = (
            "tampered" if heard.marks.keys() >= set(heard.paper.exercises) else "crash"
        )
    return ended, STOPPED.get(ended, "").format(**asdict(limits))
