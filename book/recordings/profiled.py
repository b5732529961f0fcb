"""What recordings of ncu share: what is launched, what is counted, what is written.

A folder's programs.py launches kernels of a lab under `watched`; its record.py names
the metrics, turns what ncu says of the launches into a table, and hands both to
`record`.
"""

import argparse
import ast
import csv
import datetime
import dis
import re
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
WIDTH = 76  # of a table
LABEL = "launch: "  # what a program prints in front of the name of a launch
MARK = re.compile(r"\bmark\b")
COMMAND = """\
$ ncu --clock-control none --profile-from-start off --metrics … \\
      python3 programs.py
"""
CACHES = "# every kernel begins with empty caches\n"

Row = dict[str, str]  # of one kernel: metric → what ncu says
Found = dict[str, list[Row]]  # name of a launch → its kernels


def said(*command: str, at: Path | None = None, errors: bool = False) -> str:
    """Run a command in a folder; return what it says, with its `errors` if so asked."""
    stderr = subprocess.STDOUT if errors else None
    done = subprocess.run(
        command, cwd=at, stdout=subprocess.PIPE, stderr=stderr, text=True
    )
    return done.stdout


def facts(ncu: bool = True) -> str:
    """Return what a recording says first: the GPU and the versions that made it."""
    gpu = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    name, driver = gpu.strip().splitlines()[0].split(", ")
    versions = [f"driver {driver}"]
    if ncu:
        tool = re.search(r"Version (\S+)", said("ncu", "--version"))
        versions.append(f"ncu {tool[1] if tool else '?'}")
    packages = ("torch", "numba", "numba-cuda")
    versions += [f"{name} {metadata.version(name)}" for name in packages]
    return f"# {name}, {datetime.date.today()}\n# {', '.join(versions)}\n"


# What is launched: in the process that ncu watches.


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a module gives something to."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    return names


def needed(code: types.CodeType) -> Iterator[str]:
    """Go through the names that code looks up in its module."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(step.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from needed(constant)


def statements(source: str, file: str, names: Iterable[str]) -> list[types.CodeType]:
    """Compile the statements that define these names, and what those need."""
    found = []
    for statement in ast.parse(source, file).body:
        code = compile(ast.Module([statement], []), file, "exec")
        found.append((bound(statement), code))
    wanted, taken = set(names), set()
    missing = wanted - {name for given, _ in found for name in given}
    if missing:
        raise ValueError(f"{file} defines no {', '.join(sorted(missing))}")
    while wanted:
        name = wanted.pop()
        for number, (given, code) in enumerate(found):
            if name in given and number not in taken:
                taken.add(number)
                wanted |= set(needed(code))
    return [found[number][1] for number in sorted(taken)]


def places(stem: str, names: Iterable[str]) -> dict[str, str]:
    """Return which file of a chapter defines each name: its lab, or else a module."""
    folder = ROOT / "chapters" / stem
    modules = sorted(path.stem for path in folder.glob("*.py") if path.stem != "lab")
    wanted, found = set(names), dict[str, str]()
    for module in ("lab", *modules):
        source = (folder / f"{module}.py").read_text(encoding="utf-8")
        defined = set().union(*map(bound, ast.parse(source).body))
        found |= dict.fromkeys(wanted & defined - found.keys(), module)
    if missing := wanted - found.keys():
        raise ValueError(f"chapter {stem} defines no {', '.join(sorted(missing))}")
    return found


def lab(stem: str, *names: str) -> types.SimpleNamespace:
    """Return what the solution of a lab, or a module of it, defines under these names.

    Nothing of the lab is run but the definitions, and what they need.
    """
    sys.path.insert(0, str(ROOT))
    import_module("weft")  # before Numba
    path, where = ROOT / "chapters" / stem / "lab.py", places(stem, names)
    module = types.ModuleType(f"lab{stem[:2]}")
    sys.modules[module.__name__] = module  # PyTorch's compiler looks globals up in it
    scope = module.__dict__
    scope["__file__"] = str(path)
    here = [name for name in names if where[name] == "lab"]
    for code in statements(path.read_text(encoding="utf-8"), str(path), here):
        exec(code, scope)
    for name in where.keys() - set(here):
        scope[name] = getattr(
            import_module(f"weft.chapters.{stem}.{where[name]}"), name
        )
    return types.SimpleNamespace(**{name: scope[name] for name in names})


class _Asked(Exception):
    """Carries what a measurement would have timed."""


def candidates(measure: Callable[..., Any], *kernels: Any) -> Any:
    """Return what a function of a lab would time, by name, and time nothing."""
    from weft import bench

    def compare(case: str, build: Callable[[], Any], **options: Any) -> None:
        raise _Asked(build)

    with mock.patch.object(bench, "compare", compare):
        try:
            measure(*kernels)
        except _Asked as asked:
            return asked.args[0]()
    raise ValueError(f"{measure.__name__} compares nothing")


def watched(launches: Mapping[str, Callable[[], Any]]) -> None:
    """Launch each once, so that it is compiled; then again, for ncu to see.

    In front of each its name is printed, and a kernel called mark is launched.
    """
    import numpy as np
    import torch
    from numba import cuda

    @cuda.jit
    def mark(out: Any) -> None:
        out[0] = 0

    cell = cuda.to_device(np.zeros(1, np.int32))
    mark[1, 1](cell)
    for launch in launches.values():
        launch()
    torch.cuda.synchronize()

    torch.cuda.profiler.start()
    for name, launch in launches.items():
        print(LABEL + name, flush=True)
        mark[1, 1](cell)
        launch()
    torch.cuda.synchronize()
    torch.cuda.profiler.stop()


# What is written: the numbers of ncu's raw page, in tables.


def found(text: str) -> Found:
    """Read what the program and ncu printed: the kernels of each launch.

    ncu's page is CSV, a row for each kernel, under one of names and one of units.
    """
    lines = [line for line in text.splitlines() if line.startswith('"')]
    labels = [
        line.partition(LABEL)[2]
        for line in text.splitlines()
        if LABEL in line and not line.startswith('"')
    ]
    if len(lines) < 3:
        raise ValueError("ncu counted nothing:\n" + "\n".join(text.splitlines()[-9:]))
    _, *rows = csv.DictReader(lines)
    groups: list[list[Row]] = []
    for row in rows:
        if MARK.search(row["Kernel Name"]):
            groups.append([])
        elif not groups:
            raise ValueError(f"in front of the first mark: {row['Kernel Name']}")
        else:
            groups[-1].append(row)
    if len(groups) != len(labels):
        raise ValueError(f"{len(labels)} launches, {len(groups)} marks")
    return dict(zip(labels, groups, strict=True))


def only(kernels: Found, several: Iterable[str] = ()) -> dict[str, Row]:
    """Return the kernel of each launch: one, but in those that may have several."""
    for name, rows in kernels.items():
        if not rows or (len(rows) > 1 and name not in several):
            names = [row["Kernel Name"] for row in rows]
            raise ValueError(f"{name}: one kernel expected, not {names}")
    return {name: rows[0] for name, rows in kernels.items()}


def number(row: Row, *metrics: str) -> float:
    """Return the sum of a kernel's metrics."""
    total = 0.0
    for metric in metrics:
        try:
            total += float(row[metric].replace(",", ""))
        except (KeyError, ValueError):
            kernel = row["Kernel Name"][:40]
            raise ValueError(f"{kernel}: {metric} is {row.get(metric)!r}") from None
    return total


Line = Callable[[Row], str]


def value(*metrics: str, over: float | str = 1, digits: int = 0) -> Line:
    """Return a line of a table: metrics over a number, or over another metric."""

    def line(row: Row) -> str:
        by = number(row, over) if isinstance(over, str) else over
        return f"{number(row, *metrics) / by:,.{digits}f}"

    return line


def table(
    rows: Mapping[str, Row],
    names: Sequence[str],
    lines: Mapping[str, Line],
    *,
    title: str = "",
    heads: Sequence[str] = (),
    each: int = 11,
) -> str:
    """Set a table: a column for each of the launches, under its name or head."""
    left = WIDTH - each * len(names)
    shown = [(title, *(heads or names))]
    for label, line in lines.items():
        shown.append((label, *(line(rows[name]) for name in names)))
    for label, *cells in shown:
        if len(label) > left or any(len(cell) >= each for cell in cells):
            raise ValueError(f"no room for {label!r} and {cells}")
    return "".join(
        f"{label:{left}}{''.join(f'{cell:>{each}}' for cell in cells)}".rstrip() + "\n"
        for label, *cells in shown
    )


def record(
    about: str,
    here: Path,
    metrics: Iterable[str],
    write: Callable[[Found], str],
    arguments: Sequence[str] | None = None,
) -> None:
    """Run programs.py in a folder under ncu, and write counters.txt.

    `write` makes the tables of what was found. --keep leaves what ncu said in a file,
    --parse begins with such a file and needs no GPU.
    """
    options = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--out", type=Path, default=here, metavar="FOLDER")
    options.add_argument("--keep", type=Path, metavar="FILE")
    options.add_argument("--parse", type=Path, metavar="FILE")
    given = options.parse_args(arguments)
    if given.parse:
        text = given.parse.read_text(encoding="utf-8")
    else:
        text = facts() + said(
            *("ncu", "--clock-control", "none", "--profile-from-start", "off"),
            *("--csv", "--page", "raw", "--print-units", "base"),
            *("--metrics", ",".join(dict.fromkeys(metrics))),
            *(sys.executable, "programs.py"),
            at=here,
        )
    if given.keep:
        given.keep.parent.mkdir(parents=True, exist_ok=True)
        given.keep.write_text(text, encoding="utf-8")
    head = ""
    for line in text.splitlines():
        if line.startswith("# "):
            lines = textwrap.wrap(
                line, WIDTH, subsequent_indent="#   ", break_on_hyphens=False
            )
            head += "".join(f"{part}\n" for part in lines)
    tables = write(found(text))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "counters.txt").write_text(
        COMMAND + head + CACHES + "\n" + tables, encoding="utf-8"
    )
