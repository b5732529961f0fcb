"""Ask a GPU and NVIDIA's sanitizer about mutants that the simulator cannot settle.

    python -m verification.mutants.export JOBS                  here
    python -m verification.mutants.on_gpu JOBS OUT --minutes 8  on the GPU's machine

JOBS is a JSON file with all that is needed. OUT gets `mutants.<gpu>.json`, with a line
for each mutant: the result, what each tool found, and what follows. It is committed in
results/. A mutant that hangs or breaks the CUDA context ends its process, and the next
process goes on after it.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from verification.measure import ALL_RACES, CONTINUE, SANITIZER
from verification.mutants.facts import written
from verification.reports import HEADLINE, headline

SILENT = 25  # seconds without output, after which a process counts as hanging
UNDER_TOOL = 60  # seconds, likewise, under a tool
MOST_PROCESSES = 200  # most processes, one after the other
SHARE = 0.5  # share of the time that launches without a tool may take
KERNEL = re.compile(r"corpus::m(\d+)\b|\bm(\d+)\.py:\d+")

TOOLS = {
    "memcheck": [*SANITIZER, *CONTINUE, "--tool", "memcheck"],
    "racecheck": [*SANITIZER, *ALL_RACES, "--tool", "racecheck"],
    "initcheck": [*SANITIZER, "--tool", "initcheck"],
    "synccheck": [*SANITIZER, *CONTINUE, "--tool", "synccheck"],
}
Todo = list[tuple[str, list[int], list[int]]]


def dealt(todo: Todo, hands: int) -> list[Todo]:
    """Deal the exercises into parts with about the same number of mutants."""
    parts: list[Todo] = [[] for _ in range(hands)]
    for one in sorted(todo, key=lambda t: -len(t[2])):
        min(parts, key=lambda p: sum(4 + len(t[2]) for t in p)).append(one)
    return [part for part in parts if part]


class Hand:
    """Runs processes, one at a time, and reads their logs."""

    def __init__(self, jobs: Path, folder: Path, tool: str) -> None:
        self.jobs, self.folder, self.tool = jobs, folder, tool
        self.said: dict[int, str] = {}
        self.failed: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, todo: Todo, until: float) -> None:
        """Launch all of `todo`, in as many processes as needed."""
        for attempt in range(MOST_PROCESSES):
            if not todo or time.monotonic() > until:
                return
            log = self.folder / f"log.{attempt}.jsonl"
            names = self.folder / f"todo.{attempt}.json"
            names.write_text(json.dumps(todo))
            end = self.process(names, log, attempt, until)
            at = self.read(log)
            if end and isinstance(at, int):  # else only our time was up
                self.said[at] = end
            elif end and at:
                self.failed[at] = end
            todo = [(e, r, [m for m in ms if m not in self.said]) for e, r, ms in todo]
            todo = [one for one in todo if one[2] and one[0] not in self.failed]

    def process(self, todo: Path, log: Path, attempt: int, until: float) -> str:
        """Run a process; return what happened to the mutant that it did not finish.

        The mutant "hangs" if the process was silent for too long, or else it "dies"; ""
        means that time was up.
        """
        words = [sys.executable, "-m", "verification.mutants.gpu_worker"]
        words += [str(self.jobs), str(todo), str(log)]
        if self.tool:
            report = self.folder / f"report.{attempt}.txt"
            words = [*TOOLS[self.tool], "--log-file", str(report), *words, "--once"]
        silent = UNDER_TOOL if self.tool else SILENT
        with (self.folder / f"output.{attempt}.txt").open("w") as output:
            started = subprocess.Popen(
                words, stdout=output, stderr=output, start_new_session=True
            )
            heard, size = time.monotonic(), -1
            while started.poll() is None:
                time.sleep(0.2)
                now = log.stat().st_size if log.exists() else -1
                if now != size:
                    size, heard = now, time.monotonic()
                if time.monotonic() > min(heard + silent, until):
                    os.killpg(started.pid, signal.SIGKILL)
                    started.wait()
                    return "hangs" if time.monotonic() <= until else ""
        return "dies"

    def read(self, log: Path) -> int | str:
        """Record a log's results; return the unfinished mutant or exercise, or ""."""
        lines = log.read_text().splitlines() if log.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        for entry in entries:
            if "said" in entry:
                self.said[entry["mutant"]] = entry["said"]
            if "failed" in entry:
                self.failed[entry["exercise"]] = entry["failed"]
        last = entries[-1] if entries else {}
        if last.get("begun"):
            return int(last["mutant"])
        return "" if "mutant" in last else str(last.get("exercise", ""))


def play(job: "Job", todo: Todo, tool: str, hands: int, until: float) -> list[Hand]:
    """Deal the work to `hands` processes, and wait for them."""
    parts = dealt(todo, hands)
    name = tool or "plain"
    mine = [Hand(job.path, job.work / f"{name}{k}", tool) for k in range(len(parts))]
    with ThreadPoolExecutor(len(mine) or 1) as pool:
        for _ in pool.map(lambda h, part: h.run(part, until), mine, parts):
            pass
    asked = sum(len(ms) for _, _, ms in todo)
    print(f"{name}: {sum(len(h.said) for h in mine)} of {asked} launched", flush=True)
    return mine


def findings(folder: Path) -> dict[int, set[str]]:
    """Return what a tool found, by mutant, without races reported as information."""
    found: dict[int, set[str]] = defaultdict(set)
    for report in sorted(folder.glob("report.*.txt")):
        text = report.read_text(encoding="utf-8", errors="replace")
        for part in re.split(r"^========= ?\n", text, flags=re.M):
            numbers = {int(a or b) for a, b in KERNEL.findall(part)}
            if not numbers or not HEADLINE.search(part):
                continue
            try:
                what = headline(part)
            except StopIteration:
                continue
            if "as information" not in what:
                for number in numbers:
                    found[number].add(what)
    return found


def truth(said: str, tools: dict[str, list[str]], usual: dict[str, set[str]]) -> str:
    """Return what follows: "right", "wrong: …", or "" if nothing does.

    said: the worker's result. tools: each tool's findings. usual: what the tools report
    on the exercise's right kernels.
    """
    if said.startswith("wrong"):
        return said
    if said in ("hangs", "dies") or said.startswith("CUDA_ERROR"):
        return f"wrong: {said}"
    for tool, found in tools.items():
        new = sorted(set(found) - usual.get(tool, set()))
        if new:
            return f"wrong: {tool}: {new[0]}"
    return "right" if said == "right" else ""


def device() -> str:
    """Return the name of the GPU and its driver's version."""
    words = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError:
        return "none"
    return done.stdout.strip().splitlines()[0]


class Job:
    """What is to be done, and what has been found."""

    def __init__(self, path: Path, work: Path, cores: int, minutes: float) -> None:
        self.path, self.work, self.cores = path, work, cores
        self.begun = time.monotonic()
        self.seconds = 60 * minutes
        work.mkdir(parents=True, exist_ok=True)
        jobs = json.loads(path.read_text(encoding="utf-8"))
        self.names = [mutant["name"] for mutant in jobs["mutants"]]
        self.todo: Todo = [
            (e, j["rights"], j["mutants"]) for e, j in jobs["exercises"].items()
        ]
        self.said: dict[int, str] = {}
        self.failed: dict[str, str] = {}
        # by tool: what it found on each mutant
        self.tools: dict[str, dict[int, set[str]]] = {}

    def launch(self) -> None:
        """Run the mutants without a tool, to see which compute the right values."""
        until = self.begun + SHARE * self.seconds
        for hand in play(self, self.todo, "", max(2, self.cores - 2), until):
            self.said |= hand.said
            self.failed |= hand.failed

    def inspect(self) -> None:
        """Run right kernels, and mutants that seem right, under all tools at once."""
        until = self.begun + self.seconds
        chosen: Todo = [
            (e, r[:1], [*r, *(m for m in ms if self.said.get(m) == "right")])
            for e, r, ms in self.todo
        ]
        each = max(1, self.cores // len(TOOLS))
        with ThreadPoolExecutor(len(TOOLS)) as pool:
            done = {t: pool.submit(play, self, chosen, t, each, until) for t in TOOLS}
        for tool, future in done.items():
            found = self.tools[tool] = defaultdict(set)
            for hand in future.result():
                for number, what in findings(hand.folder).items():
                    found[number] |= what

    def entries(self) -> dict[str, Any]:
        """Return an entry for each mutant and each right kernel."""
        found = {}
        for _, rights, ms in self.todo:
            usual = {
                tool: {
                    what for n in rights for what in self.tools.get(tool, {}).get(n, ())
                }
                for tool in TOOLS
            }
            for n in (*rights, *ms):
                mine = {
                    t: sorted(w) for t in TOOLS if (w := self.tools.get(t, {}).get(n))
                }
                said = self.said.get(n, "right" if n in rights else "")
                entry: dict[str, Any] = {"truth": truth(said, mine, usual)}
                entry |= {"said": said} | ({"tools": mine} if mine else {})
                found[self.names[n]] = entry
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--gpu", default="nvidia-h200")
    parser.add_argument("--date", default=time.strftime("%Y-%m-%d"))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 4)
    parser.add_argument("--work", type=Path, default=Path("/tmp/weft-mutants"))
    parser.add_argument("--no-tools", action="store_true")
    args = parser.parse_args()
    os.environ.setdefault("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", "0")
    os.environ.setdefault("NUMBA_CACHE_DIR", str(args.work / "numba"))
    args.out.mkdir(parents=True, exist_ok=True)
    job = Job(args.jobs.resolve(), args.work, args.cores, args.minutes)
    job.launch()
    if not args.no_tools:
        job.inspect()
    found = job.entries()
    head = {"device": device(), "date": args.date}
    path = args.out / f"mutants.{args.gpu}.json"
    text = written(head | {"failed": job.failed, "mutants": found})
    path.write_text(text, encoding="utf-8")
    print(f"{path}: {len(found)} kernels, {time.monotonic() - job.begun:.0f} s")


if __name__ == "__main__":
    main()
