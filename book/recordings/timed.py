"""What recordings of one factor share: variants of a lab's kernels, timed in turns.

A folder's factors.py builds the launches of each of its tables, and hands them to
`record`, which times them in one run as `weft.bench` does and writes factors.txt.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiled import WIDTH, facts

COMMAND = "$ python3 factors.py\n"
HOW = "# medians of launches timed in turns, L2 emptied before each\n"
GRAPHS = "# medians of launches in CUDA graphs timed in turns, with a warm cache\n"
BURSTS = "# medians of bursts of launches timed in turns, each after a pause\n"
EACH = 11  # characters of a column

Launch = Callable[[], Any]


@dataclass(frozen=True)
class Experiment:
    """One table: what is timed, a builder of the launches, and what they refer to.

    launches: returns name → launch; called on the GPU. right: called after one launch
    of each, raises if the launch computed something else. registers: returns how many
    a thread of a row's kernel has, None for a row without such a kernel. baseline: the
    row whose speed is 1.
    """

    title: str
    launches: Callable[[], Mapping[str, Launch]]
    baseline: str
    right: Callable[[str], None]
    registers: Callable[[str], int | None] | None = None


def table(experiment: Experiment, times: Mapping[str, float]) -> str:
    """Set a table: name, time in ms, speed beside the baseline's, and registers."""
    base = times[experiment.baseline]
    rows = [[experiment.title, "ms", "speed"]]
    rows += [[name, f"{ms:.4g}", f"{base / ms:.3f}"] for name, ms in times.items()]
    if experiment.registers:
        counts = map(experiment.registers, times)
        rows[0].append("registers")
        for row, count in zip(rows[1:], counts, strict=True):
            row.append("" if count is None else str(count))
    left = WIDTH - EACH * (len(rows[0]) - 1)
    if any(len(row[0]) >= left for row in rows):
        raise ValueError(f"a name of {left} characters in {experiment.title!r}")
    lines = (
        f"{n:{left}}{''.join(f'{c:>{EACH}}' for c in cells)}" for n, *cells in rows
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def timed(experiment: Experiment, bursts: bool = False) -> str:
    """Launch each once, look at its result, time all in turns; return the table."""
    from weft import timing

    launches = experiment.launches()
    for name, launch in launches.items():
        launch()
        experiment.right(name)
    watch = timing.BurstStopwatch(most=25) if bursts else timing.EventStopwatch()
    found = timing.measure(launches, watch)
    return table(experiment, {name: found[name].ms for name in launches})


def record(
    about: str,
    here: Path,
    experiments: Sequence[Experiment],
    made_by: str = "",
    bursts: bool = False,
) -> None:
    """Time all experiments and write factors.txt, into --out if given.

    made_by: lines about what else made the recording, each beginning with #. bursts:
    time launches without a gap, after a pause in which the GPU's clock recovers.
    """
    options = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=here, metavar="FOLDER")
    given = options.parse_args()
    tables = [timed(experiment, bursts) for experiment in experiments]
    given.out.mkdir(parents=True, exist_ok=True)
    how = BURSTS if bursts else HOW
    text = COMMAND + facts(ncu=False) + made_by + how + "\n" + "\n".join(tables)
    (given.out / "factors.txt").write_text(text, encoding="utf-8")


def compiled_anew(
    about: str,
    file: str,
    title: str,
    once: Callable[[], dict[str, float]],
    compiled: str,
    rows: Sequence[str],
    baseline: str,
    how: str = HOW,
) -> None:
    """Run `once` in processes of their own, and write what its launches take.

    A compiler that tunes may choose another kernel each time. about: the program's
    help. file: the program; the recording beside it has its name, with .txt. once:
    returns name → ms. compiled: the launch that gets one of the rows per process; of
    the others, the least time counts. baseline: the row whose speed is 1.
    """
    program = Path(file)
    options = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=program.parent, metavar="FOLDER")
    options.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.once:
        print(json.dumps(once()))
        return
    runs = [_in_a_process(file) for _ in rows]
    times = {
        name: min(run[name] for run in runs) for name in runs[0] if name != compiled
    }
    times |= {row: run[compiled] for row, run in zip(rows, runs, strict=True)}
    text = table(Experiment(title, dict, baseline, print), times)
    given.out.mkdir(parents=True, exist_ok=True)
    command = f"$ python3 {program.name}\n"
    target = given.out / program.with_suffix(".txt").name
    target.write_text(f"{command}{facts(ncu=False)}{how}\n{text}", encoding="utf-8")


def _in_a_process(file: str) -> dict[str, float]:
    """Run `once` of a program with empty caches of compiled kernels."""
    with tempfile.TemporaryDirectory() as empty:
        caches = dict.fromkeys(("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"), empty)
        said = subprocess.run(
            [sys.executable, file, "--once"],
            env=os.environ | caches,
            check=True,
            stdout=subprocess.PIPE,
        )
    found: dict[str, float] = json.loads(said.stdout.splitlines()[-1])
    return found
