"""Mark all submissions, several at a time; yield each as soon as it is done."""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from grading import processes
from grading.files import Unreadable, contents
from grading.paper import Paper
from grading.processes import Fresh
from grading.record import Record, key
from grading.servers import Starters
from grading.sitting import Limits, Result, grade, nothing


def marked(
    paper: Paper,
    submissions: Mapping[str, Path],
    limits: Limits,
    jobs: int,
    record: Record,
) -> Iterator[Result]:
    """Yield the results of submissions in the order in which they finish.

    submissions: by student. jobs: how many run at a time. Submissions that the record
    has are not run again. When the caller stops, by Ctrl-C too, all processes are
    stopped.
    """

    def one(student: str, path: Path) -> Result:
        date = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            notebook = contents(path)
        except Unreadable as error:
            return replace(nothing(paper, student, "unreadable", str(error)), date=date)
        own = limits.of(student)
        known = key(paper, notebook, own)
        if found := record.get(known, student):
            return found
        start = starters.mine() if len(submissions) > jobs else Fresh
        result = grade(paper, student, notebook, own, start)
        result = replace(result, key=known, date=date, seed=own.seed)
        record.add(result)
        return result

    starters = Starters(paper)
    pool = ThreadPoolExecutor(max(1, jobs))
    try:
        waiting = [pool.submit(one, *given) for given in submissions.items()]
        for done in as_completed(waiting):
            yield done.result()
    finally:
        processes.stopping.set()
        pool.shutdown(cancel_futures=True)
        starters.close()
        processes.stopping.clear()
