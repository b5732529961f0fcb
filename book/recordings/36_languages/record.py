"""Check and time the fifteen kernels beside the libraries; write languages.json.

python record.py [--out FOLDER] [--cubins FOLDER], on a machine with a Hopper GPU,
Numba, PyTorch, Triton and nvcc. --cubins: what `cubins.py` made, where cuTile's
compiler is missing. First each language is checked in a process of its own, so that a
kernel that hangs or destroys the context stops no other. Those that passed are then
timed, a task after the other, each in a process that has compiled and loaded its
kernels meanwhile. What fails is written down with its reason, and languages.json is
written anew after each step.

python record.py --table writes languages.txt from languages.json, without a GPU.
"""

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path[:0] = [str(ROOT), str(HERE)]

from languages import (  # noqa: E402
    LANGUAGES,
    NVCC,
    SIZES,
    TASKS,
    Launch,
    Program,
    bound,
    built,
    code_lines,
    digest,
    fault,
    faults,
    inputs,
    loaded,
    programs,
)

MEASURED: dict[str, tuple[int, ...]] = {
    "sum": (1 << 28,),
    "softmax": (16384, 4096),
    "gemm": (8192, 8192, 8192),
}
WORK = {"sum": 4 * 2**28, "softmax": 8 * 16384 * 4096, "gemm": 2 * 8192**3}
UNITS = {"sum": "TB/s", "softmax": "TB/s", "gemm": "TFLOP/s"}
TITLES = {
    "sum": "sum of 2^28 float32",
    "softmax": "softmax of 16384 x 4096 float32",
    "gemm": "GEMM of 8192^3 bfloat16",
}
NAMES = {
    "numba": "Numba",
    "triton": "Triton",
    "gluon": "Gluon",
    "cutile": "cuTile",
    "cuda": "CUDA C++",
}
PATIENCE = 45.0  # s that a process may be silent
ENOUGH = 60.0  # s after which no process is begun again
LOST = 3  # a process ends with that where a kernel has destroyed its context


def said(error: BaseException) -> str:
    """Return the end of an error, on one line."""
    text = f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:300]


# Loading and checking


def prepared(program: Program, folder: Path, cubins: Path | None) -> Any:
    """Load a program; cuTile's with its compiler, or with a cubin."""
    if program.language != "cutile" or cubins is None:
        return loaded(program, folder)
    from cubins import stand_in

    sys.modules["cuda.tile"] = stand_in(cubins, program.name)
    try:
        return loaded(program, folder)
    finally:
        del sys.modules["cuda.tile"]


def compile_ahead(folder: Path) -> dict[str, str]:
    """Compile all CUDA C++ at once; return program -> what nvcc refused."""
    todo = {p.name: partial(built, p, folder) for p in of_language("cuda")}
    todo["cub"] = partial(built_cub, folder)

    def one(build: Callable[[], Any]) -> str:
        try:
            build()
        except Exception as error:
            return said(error)
        return ""

    with ThreadPoolExecutor(9) as pool:
        found = dict(zip(todo, pool.map(one, todo.values()), strict=True))
    return {name: text for name, text in found.items() if text}


def of_language(language: str) -> list[Program]:
    """Return the programs of a language: as they are, with mistakes, with choices."""
    plain = [Program(language, task) for task in TASKS]
    wrong = [Program(language, task, wrong=True) for task in TASKS]
    tuned = [p for p in programs() if p.language == language and p.choice >= 0]
    return plain + wrong + tuned


def judged(program: Program, folder: Path, cubins: Path | None) -> str:
    """Say what is wrong with a program, "" for nothing.

    Other constants are checked on one ragged size and on the measured one.
    """
    task, bind = program.task, prepared(program, folder, cubins)
    if program.choice < 0:
        found = faults(task, bind, "cuda")
    else:
        found = [fault(task, bind, SIZES[task][1], "cuda")]
    if not program.wrong:
        found.append(fault(task, bind, MEASURED[task], "cuda"))
    return "; ".join(text for text in found if text)


def judge(language: str, names: list[str], folder: Path, cubins: Path | None) -> None:
    """Check some programs of a language; print a line of JSON for each."""
    import weft  # noqa: F401  before Numba

    for program in of_language(language):
        if program.name not in names:
            continue
        begun = time.perf_counter()
        try:
            text, lost = judged(program, folder, cubins), False
        except Exception as error:
            text, lost = said(error), is_lost()
            traceback.print_exc()
        took = round(time.perf_counter() - begun, 1)
        print(json.dumps({program.name: text, "s": took}), flush=True)
        if lost:
            os._exit(LOST)


def is_lost() -> bool:
    """Return whether a kernel has made the GPU useless for this process."""
    import torch

    try:
        torch.cuda.synchronize()
    except Exception:
        return torch.cuda.is_available()
    return False


def judged_apart(
    language: str, folder: Path, cubins: Path | None, begun: float
) -> dict[str, str]:
    """Check a language in other processes; return program -> what is wrong with it."""
    found: dict[str, str] = {}
    todo = [program.name for program in of_language(language)]
    while todo and time.perf_counter() - begun < ENOUGH:
        command = [sys.executable, __file__, "--judge", language, *todo]
        command += ["--folder", str(folder)]
        command += [] if cubins is None else ["--cubins", str(cubins)]
        text, reason, status = watched(command, folder / f"{language}.log")
        for line in text.splitlines():
            if line.startswith("{"):
                print(line, flush=True)
                found |= {k: v for k, v in json.loads(line).items() if k != "s"}
        left = [name for name in todo if name not in found]
        if left and (status != LOST or left == todo):
            found[left[0]] = f"stopped: {reason}"
            print(left[0], found[left[0]], flush=True)
            left = left[1:]
        todo = left
    return found | dict.fromkeys(todo, "not checked")


def watched(command: list[str], log: Path) -> tuple[str, str, int]:
    """Run a command; return what it wrote, how it ended, and its status."""
    with log.open("w", encoding="utf-8") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    return waited(process, log)


def waited(process: subprocess.Popen[Any], log: Path) -> tuple[str, str, int]:
    """Wait for a process, but not if it writes nothing for PATIENCE; as `watched`."""
    size, since = log.stat().st_size, time.perf_counter()
    while process.poll() is None:
        time.sleep(0.1)
        if log.stat().st_size != size:
            size, since = log.stat().st_size, time.perf_counter()
        elif time.perf_counter() - since > PATIENCE:
            process.kill()
            break
    status = process.wait()
    text = log.read_text(encoding="utf-8", errors="replace")
    if status < 0:
        reason = f"nothing for {PATIENCE:.0f} s, or signal {-status}"
        return text, reason, status
    return text, " ".join(text[-300:].split()), status


def judge_all(
    folder: Path, cubins: Path | None, begun: float
) -> tuple[dict[str, str], dict[str, str]]:
    """Check all languages at once; return what is wrong, and what nvcc refused."""
    with ThreadPoolExecutor(6) as pool:
        compiling = pool.submit(compile_ahead, folder)
        parts = [
            pool.submit(judged_apart, language, folder, cubins, begun)
            for language in LANGUAGES
            if language != "cuda"
        ]
        refused = compiling.result()
        parts.append(pool.submit(judged_apart, "cuda", folder, cubins, begun))
        found: dict[str, str] = {}
        for part in parts:
            found |= part.result()
    return found, refused


# The libraries


def library_rows(task: str, given: list[Any], out: Any, folder: Path) -> dict[str, Any]:
    """Return name -> a function that returns the launch of a library."""
    import torch

    def compiled_softmax() -> Launch:
        torch._dynamo.reset()
        made = torch.compile(lambda x: torch.softmax(x, 1), dynamic=False)
        made(given[0])
        return lambda: made(given[0])

    def cub() -> Launch:
        return bound("sum", built_cub(folder))(*given, out)

    def best_cublas() -> Launch:
        from weft.chapters import Chapter

        measure = Chapter("22_hopper_gemm").measure
        found: Launch = measure.fastest(measure.library(*given, out))
        return found

    return {
        "sum": {
            "torch.sum": lambda: lambda: torch.sum(given[0]),
            "CUB": cub,
        },
        "softmax": {
            "copy": lambda: lambda: out.copy_(given[0]),
            "torch.softmax": lambda: lambda: torch.softmax(given[0], 1),
            "torch.compile": compiled_softmax,
        },
        "gemm": {
            "torch.mm": lambda: lambda: torch.mm(given[0], given[1].t(), out=out),
            "cuBLAS, best": best_cublas,
        },
    }[task]


def built_cub(folder: Path) -> Path:
    """Compile CUB's sum, unless that is done."""
    target = folder / "cub_sum.so"
    if not target.is_file():
        command = [*NVCC, "-o", str(target), str(HERE / "cub_sum.cu")]
        subprocess.run(command, check=True, capture_output=True)
    return target


# Timing


class Timer:
    """A process that loads the kernels of a task, and times them when it is told to.

    Before, it launches nothing of ours, as nothing is checked yet.
    """

    def __init__(self, task: str, folder: Path, cubins: Path | None) -> None:
        self.task = task
        self.rows = folder / f"rows_{task}.json"
        self.log = folder / f"rows_{task}.log"
        command = [sys.executable, __file__, "--time", task, "--folder", str(folder)]
        command += [] if cubins is None else ["--cubins", str(cubins)]
        with self.log.open("w", encoding="utf-8") as out:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=subprocess.STDOUT,
                text=True,
            )

    def timed(self, wrong: dict[str, str]) -> tuple[list[dict[str, Any]], str]:
        """Return the rows, and why there are none or not all.

        wrong: program -> what the check has found wrong with it.
        """
        reason = ""
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(wrong) + "\n")
            self.process.stdin.close()
        except OSError as error:  # it has ended
            reason = said(error)
        text, end, status = waited(self.process, self.log)
        print(text, flush=True)
        rows = []
        if self.rows.is_file():
            rows = json.loads(self.rows.read_text(encoding="utf-8"))
        return rows, (reason or end) if status else ""


def time_task(task: str, folder: Path, cubins: Path | None) -> None:
    """Load the kernels of a task, wait for the verdicts, time, and write the rows."""
    import torch

    import weft  # noqa: F401  before Numba
    from weft.chapters import Chapter

    if task == "gemm":
        assert Chapter("22_hopper_gemm").measure
    if torch.cuda.is_available():
        torch.zeros(1, device="cuda")
    binds: dict[str, Any] = {}
    for program in (p for p in programs() if p.task == task):
        if program.language == "cuda":  # nvcc is at work
            continue
        try:
            binds[program.name] = prepared(program, folder, cubins)
        except Exception as error:
            binds[program.name] = error
            traceback.print_exc()
        print(f"{program.name}: loaded", flush=True)
    wrong = json.loads(sys.stdin.readline())

    def keep(rows: list[dict[str, Any]]) -> None:
        text = json.dumps(rows, ensure_ascii=False)
        (folder / f"rows_{task}.json").write_text(text, encoding="utf-8")

    keep(rows_of(task, folder, binds, wrong, keep))


def rows_of(
    task: str,
    folder: Path,
    binds: dict[str, Any],
    wrong: dict[str, str],
    keep: Callable[[list[dict[str, Any]]], None],
) -> list[dict[str, Any]]:
    """Time everything of a task; what fails is a row with its reason.

    binds: program -> its `bind`, or why there is none. wrong: program -> what the check
    has found wrong with it. keep: is given the rows when all have been launched once.
    """
    import torch

    from weft import timing

    rows: dict[str, dict[str, Any]] = {}
    launches: dict[str, Launch] = {}
    given = inputs(task, MEASURED[task], "cuda", "bfloat16")
    shape: dict[str, Callable[[], Any]] = {
        "sum": lambda: torch.zeros(1, device="cuda"),
        "softmax": lambda: torch.empty_like(given[0]),
        "gemm": lambda: given[0].new_empty(given[0].shape[0], given[1].shape[0]),
    }
    out = shape[task]()

    def attempt(name: str, about: dict[str, Any], make: Callable[[], Launch]) -> None:
        rows[name] = {"case": task, "name": name, **about}
        begun = time.perf_counter()
        try:
            launch = make()
            launch()
            torch.cuda.synchronize()
            launches[name] = launch
        except Exception as error:
            rows[name]["error"] = said(error)
            traceback.print_exc()
        took = time.perf_counter() - begun
        print(f"{name}: {rows[name].get('error', 'ready')}, {took:.1f} s", flush=True)

    for name, make in library_rows(task, given, out, folder).items():
        kind = "ceiling" if name == "copy" else "library"
        attempt(name, {"kind": kind}, make)
    for program in (p for p in programs() if p.task == task):
        name = NAMES[program.language]
        name += f", choice {program.choice}" if program.choice >= 0 else ""

        def own(program: Program = program) -> Launch:
            if text := wrong[program.name]:
                raise ValueError(f"wrong: {text}")
            bind = binds.get(program.name) or loaded(program, folder)
            if isinstance(bind, Exception):
                raise bind
            launch: Launch = bind(*given, out)
            return launch

        about = {"kind": program.language, "constants": program.constants}
        attempt(name, about, own)

    keep(list(rows.values()))
    timed(task, launches, rows, timing)
    return list(rows.values())


def timed(task: str, launches: dict[str, Launch], rows: Any, timing: Any) -> None:
    """Time all launches in turns, without one that fails, and fill in the rows."""
    while launches:
        burst = task == "gemm"
        watch = timing.BurstStopwatch(25) if burst else timing.EventStopwatch()
        try:
            found = timing.measure(launches, watch)
        except timing.CandidateError as error:
            name = str(error).split('"')[1]
            rows[name]["error"] = said(error)
            del launches[name]
            continue
        for name, timing_of in found.items():
            value = WORK[task] / timing_of.ms / 1e9
            rows[name] |= {
                "ms": timing_of.ms,
                "spread": timing_of.spread,
                "reps": timing_of.reps,
                "value": value,
                "unit": UNITS[task],
            }
            rate = f"{value:.4g} {UNITS[task]}"
            print(f"{task}: {name} {timing_of.ms:.4f} ms, {rate}", flush=True)
        return


def machine(cubins: Path | None) -> dict[str, Any]:
    """Return the GPU, the processor, and the versions that made the recording."""
    from weft import device, versions
    from weft.device import cpu

    gpu = device.find()
    found = versions.installed()
    if shutil.which("nvcc"):
        told = subprocess.run(["nvcc", "--version"], capture_output=True, text=True)
        found["nvcc"] = told.stdout.partition("release ")[2].partition(",")[0]
    if cubins is not None:
        found |= json.loads((cubins / "versions.json").read_text(encoding="utf-8"))
    return {
        "device": {
            "name": gpu.name,
            "driver": device.driver_version(),
            "sms": gpu.sms,
            "cpu": cpu.name(),
        },
        "versions": found,
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def measure(out: Path, cubins: Path | None) -> None:
    """Check and time all; write languages.json after each step."""
    begun = time.perf_counter()
    out.mkdir(parents=True, exist_ok=True)
    data: dict[str, Any] = {"digest": digest(), **machine(cubins)}
    data["lines"] = {
        f"{language} {task}": code_lines(Program(language, task).path)
        for task in TASKS
        for language in LANGUAGES
    }
    data["rows"] = []

    def keep(step: str) -> None:
        data["seconds"] = round(time.perf_counter() - begun, 1)
        print(f"{step}: {data['seconds']} s", flush=True)
        text = json.dumps(data, indent=1, ensure_ascii=False) + "\n"
        (out / "languages.json").write_text(text, encoding="utf-8")

    folder = Path(tempfile.mkdtemp())
    timers = [Timer(task, folder, cubins) for task in TASKS]
    found, data["not compiled"] = judge_all(folder, cubins, begun)
    mistakes = {p.name: p for k in LANGUAGES for p in of_language(k) if p.wrong}
    data["mistakes"] = {
        f"{p.language} {p.task}": found[name] for name, p in mistakes.items()
    }
    data["refused"] = {
        name: text for name, text in found.items() if text and name not in mistakes
    }
    keep("checked")
    for timer in timers:
        rows, reason = timer.timed(found)
        data["rows"] += rows
        if reason:
            data[f"{timer.task} failed"] = reason
        keep(timer.task)


# The table


def best(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return the fastest of some rows, None if all have failed."""
    return min((r for r in rows if "ms" in r), key=lambda r: r["ms"], default=None)


def table(data: dict[str, Any]) -> str:
    """Set the tables: the library and five languages, each with its best constants.

    Below them is what else was tried, and what the check said of the mistakes.
    """
    about, versions = data["device"], data["versions"]
    text = "$ python3 record.py\n"
    text += f"# {about['name']}, driver {about['driver']}, {data['date']}\n"
    for named in (
        ("torch", "triton", "numba", "numba-cuda"),
        ("cuda-tile", "nvidia-cuda-tileiras", "nvcc"),
    ):
        found = [f"{name} {versions[name]}" for name in named if name in versions]
        text += f"# {', '.join(found)}\n"
    for task in TASKS:
        rows = [row for row in data["rows"] if row["case"] == task]
        library = best([r for r in rows if r["kind"] == "library"])
        heads = TITLES[task], "lines", UNITS[task], "spread", "of library"
        lines = [heads]
        for row in (r for r in rows if r["kind"] in ("ceiling", "library")):
            lines.append((row["name"], "", *measured(row, library)))
        for language in LANGUAGES:
            mine = [row for row in rows if row["kind"] == language]
            row = best(mine) or (mine[0] if mine else {})
            count = str(data["lines"][f"{language} {task}"])
            lines.append((NAMES[language], count, *measured(row, library)))
        text += "\n" + "".join(
            f"{name:34}{''.join(f'{cell:>10}' for cell in cells[:-1])}{cells[-1]:>12}"
            .rstrip() + "\n"
            for name, *cells in lines
        )  # fmt: skip
    text += "".join(f"\n{tried(data, task)}" for task in TASKS)
    return text + "".join(f"\n{refused(data, task)}" for task in TASKS)


def tried(data: dict[str, Any], task: str) -> str:
    """Set a table of all constants that were tried, in the order of their lines."""
    lines = [(f"constants, {TITLES[task]}", UNITS[task])]
    for row in data["rows"]:
        if row["case"] == task and "constants" in row:
            values = row["constants"].partition("  #")[0].partition(" = ")[2]
            if row["kind"] == "cuda":  # whose values have their names beside them
                values = ", ".join(re.findall(r"= ([^,;]+)", row["constants"]))
            name = f"{NAMES[row['kind']]}: {values}"
            lines.append((name, measured(row, None)[0]))
    return "".join(f"{name:64}{rate:>12}\n" for name, rate in lines)


def refused(data: dict[str, Any], task: str) -> str:
    """List what the check said of a mistake, and in which languages it said that."""
    said: dict[str, list[str]] = {}
    for language in LANGUAGES:
        text = data["mistakes"][f"{language} {task}"] or "accepted"
        said.setdefault(text, []).append(NAMES[language])
    lines = []
    for text, names in said.items():
        lines += [f"mistake, {task}, in {', '.join(names)}"]
        lines += [f"  {part}" for part in text.split("; ")]
    return "".join(f"{line}\n" for line in lines)


def measured(row: dict[str, Any], library: dict[str, Any] | None) -> tuple[str, ...]:
    """Return a row's rate, spread in per cent, and share of the library's speed."""
    if "ms" not in row:
        return "failed", "", ""
    share = f"{library['ms'] / row['ms']:.1%}" if library else ""
    return f"{row['value']:.4g}", f"{row['spread'] / row['ms']:.1%}", share


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    options.add_argument("--cubins", type=Path, metavar="FOLDER")
    options.add_argument("--table", action="store_true")
    options.add_argument("--judge", nargs="+", help=argparse.SUPPRESS)
    options.add_argument("--time", choices=TASKS, help=argparse.SUPPRESS)
    options.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.judge:
        judge(given.judge[0], given.judge[1:], given.folder, given.cubins)
        return
    if given.time:
        time_task(given.time, given.folder, given.cubins)
        return
    if not given.table:
        measure(given.out, given.cubins)
    data = json.loads((given.out / "languages.json").read_text(encoding="utf-8"))
    (given.out / "languages.txt").write_text(table(data), encoding="utf-8")


if __name__ == "__main__":
    main()
