"""What eight launches cost: in an earlier simulator of this course, today's, Numba's.

    python benchmarks/backends.py OLD        OLD: a checkout of the earlier one
    git worktree add --detach OLD 4c8c278d^  the last that ran threads as greenlets

Each simulator has a process of its own, on the same core. They take turns: one launch
in each, a few rounds, and the best of each counts. All that is measured is processor
time, so another program on the machine does little harm; what it does is the same for
all, because they take turns. Results have to be equal, bit by bit. A launch is "plain",
or "checked": traced, hazards looked for, requests counted.

The rows go into `simulator_speed.json`, beside what `simulator_speed.py` keeps there.
"""

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from simulator_speed import KEPT, ROOT, commit, today, written

WAYS = ("plain", "checked")
ROUNDS = 7
NUMBAS = 2  # of these rounds Numba's simulator takes part in: it takes seconds


def work(contender: str) -> None:
    """Launch what the lines of stdin name, and answer with seconds and a digest."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    if contender != "numba":
        import weft  # noqa: F401  puts our simulator in place of Numba's
    from launches import LAUNCHES

    if contender != "numba":
        from weft import counters
        from weft.kernels import hazards
        from weft.simulator import record
    for line in sys.stdin:
        way, _, name = line.rstrip("\n").partition(" ")
        one = LAUNCHES[name]
        given = one.given()
        start = time.process_time()
        if way == "plain":
            one.kernel[one.config](*given)
        else:
            trace, _ = record(one.kernel, one.config, given)
            assert hazards.find(trace) is None
            counters.count(trace)
        spent = time.process_time() - start
        held = b"".join(x.tobytes() for x in given if hasattr(x, "tobytes"))
        answer = {"seconds": spent, "digest": hashlib.sha256(held).hexdigest()}
        print(json.dumps(answer), flush=True)


class Contender:
    """A process with one simulator, which launches what it is asked for."""

    def __init__(self, name: str, checkout: Path) -> None:
        settings = {"NUMBA_ENABLE_CUDASIM": "1", "WEFT_SIMULATOR": "1"}
        settings["PYTHONPATH"] = str(checkout)
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", name],
            env=os.environ | settings,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def launch(self, way: str, name: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(way, name, file=self.process.stdin, flush=True)
        found: dict[str, Any] = json.loads(self.process.stdout.readline())
        return found

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def row(name: str, shuffles: bool, each: dict[str, Contender]) -> dict[str, Any]:
    """The least seconds of each simulator, by way; None where it has no shuffles."""
    best: dict[tuple[str, str], float] = {}
    digests: set[str] = set()
    for turn in range(ROUNDS):
        for way in WAYS:
            for who, contender in each.items():
                if who == "numba" and (way != "plain" or shuffles or turn >= NUMBAS):
                    continue
                found = contender.launch(way, name)
                digests.add(found["digest"])
                key = who, way
                best[key] = min(best.get(key, math.inf), found["seconds"])
    assert len(digests) == 1, name
    return {"launch": name} | {
        who: {way: best[who, way] for way in WAYS if (who, way) in best} or None
        for who in each
    }


def mean(rows: list[dict[str, Any]], above: str, below: str, way: str) -> float:
    """The geometric mean of how many times as long one simulator takes as another.

    way: of both, except that Numba's simulator has only the plain one.
    """
    ratios = [
        one[above]["plain" if above == "numba" else way] / one[below][way]
        for one in rows
        if one[above]
    ]
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def compare(old: Path) -> dict[str, Any]:
    """Measure all launches in the three simulators."""
    from launches import LAUNCHES

    each = {
        "greenlets": Contender("greenlets", old),
        "generators": Contender("generators", ROOT),
        "numba": Contender("numba", ROOT / "benchmarks"),
    }
    rows = []
    for name, one in LAUNCHES.items():
        rows.append(row(name, one.shuffles, each))
        print(name, *(f"{who} {rows[-1][who]}" for who in each), flush=True)
    for contender in each.values():
        contender.end()
    return {
        "measured": "processor time in seconds, one core, the best of several turns",
        "date": today(),
        "python": sys.version.split()[0],
        "commits": {"greenlets": commit(old), "generators": commit(ROOT)},
        "rows": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("old", nargs="?", type=Path)
    parser.add_argument("--work", metavar="CONTENDER")
    given = parser.parse_args()
    if given.work:
        work(given.work)
        return
    if given.old is None:
        parser.error("a checkout of the earlier simulator")
    found = compare(given.old)
    kept = json.loads(KEPT.read_text(encoding="utf-8"))
    kept["backends"] = found
    KEPT.write_text(written(kept), encoding="utf-8")
    for way in WAYS:
        before = mean(found["rows"], "greenlets", "generators", way)
        stock = mean(found["rows"], "numba", "generators", way)
        print(f"{way}: {before:.1f} times as fast as before, {stock:.0f} as Numba's")


if __name__ == "__main__":
    main()
