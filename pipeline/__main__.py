"""Make the derived forms of notebooks: python -m pipeline <verb> [stems...]."""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

from . import PipelineError


def main(arguments: list[str] | None = None) -> int:
    """Run one verb; return the exit status: 0, 1 for a failure, 2 in a wrong folder."""
    parser = argparse.ArgumentParser(
        prog="python -m pipeline",
        description="One source per notebook: chapters/NN/lab.py. The rest is derived.",
    )
    verbs = parser.add_subparsers(dest="verb", required=True)

    def verb(name: str, about: str) -> argparse.ArgumentParser:
        this = verbs.add_parser(name, help=about, description=about)
        this.add_argument("stems", nargs="*", help="05, 05_first_kernel; default: all")
        return this

    verb(
        "notebooks",
        "chapters/NN/lab.py -> solutions/NN.ipynb; unchanged cells keep their outputs",
    )
    run = verb("execute", "run solutions on this machine's GPU and stamp them")
    run.add_argument("--out", type=Path, help="write solutions/ and results/ there")
    run.add_argument("--timeout", type=int, default=300, help="seconds for one cell")
    run.add_argument(
        "--simulator", action="store_true", help="only see whether they run; no GPU"
    )
    run.add_argument(
        "--fewer-rows", action="store_true", help="let files in results/ lose rows"
    )
    verb("refresh", "run the cells that have no outputs in the simulator; no GPU")
    verb("labs", "solutions/NN.ipynb -> labs/NN.ipynb, but never over edited copies")
    check = verb("nbval", "run every cell of the solutions with pytest and nbval")
    check.add_argument("-n", dest="workers", type=int, default=0, help="processes")
    check.add_argument("--timeout", type=int, default=300, help="seconds for one cell")
    check.add_argument("--simulator", action="store_true", help="without a GPU")
    check.add_argument("--share", default="1/1", help="2/4: the second of four shares")
    verb("stamp", "say where and when each solution last ran, and which are stale")
    options = parser.parse_args(arguments)

    root = Path.cwd()
    if not (root / "chapters").is_dir():
        print("run this where chapters/ is: the root of the course", file=sys.stderr)
        return 2
    try:
        return _run(root, options)
    except PipelineError as error:
        print(error, file=sys.stderr)
        return 1


def _run(root: Path, options: argparse.Namespace) -> int:
    from . import notebook

    stems = notebook.stems(root, options.stems)
    if options.verb == "notebooks":
        return _each(stems, lambda stem: _notebook(root, stem))
    if options.verb == "labs":
        from .labs import write_lab

        return _each(stems, lambda stem: _said("lab", write_lab(root, stem)))
    if options.verb == "refresh":
        from .execute import refresh

        return _each(stems, lambda s: f"{refresh(root, s)} cells refreshed")
    if options.verb == "nbval":
        from .validate import nbval, share

        chosen = share(stems, options.share)
        return nbval(root, chosen, options.workers, options.simulator, options.timeout)
    if options.verb == "stamp":
        return _each(stems, lambda stem: _stamp(root, stem))
    return _execute(root, stems, options)


def _each(stems: list[str], make: Callable[[str], str]) -> int:
    """Process every stem, even after one that failed; print the result of each."""
    failed = 0
    for stem in stems:
        try:
            print(f"{stem}: {make(stem)}", flush=True)
        except PipelineError as error:
            failed += 1
            print(f"{stem}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


def _said(what: str, changed: bool) -> str:
    return f"{what} written" if changed else f"{what} unchanged"


def _notebook(root: Path, stem: str) -> str:
    from . import given, notebook

    path = notebook.solution(root, stem)
    given.write(root, stem)
    return _said("notebook", notebook.write(notebook.build(root, stem), path))


def _execute(root: Path, stems: list[str], options: argparse.Namespace) -> int:
    """Run every stem, even after one that failed; print a line for each at the end."""
    from .machine import ask, require

    machine = ask(root, stems, options.simulator)
    require(machine, root, stems, options.simulator)
    summary = {}
    for stem in stems:
        if reason := machine.skips.get(stem):
            summary[stem] = 0.0, f"skipped: {reason}", False
            print(f"{stem}: skipped: {reason}", flush=True)
        else:
            summary[stem] = _one(root, stem, options)
    if len(stems) > 1:
        width = max(map(len, stems))
        print("\nseconds")
        for stem, (seconds, text, _) in summary.items():
            print(f"{seconds:7.1f}  {stem:{width}}  {text}")
    return 1 if any(failed for _, _, failed in summary.values()) else 0


def _one(root: Path, stem: str, options: argparse.Namespace) -> tuple[float, str, bool]:
    """Run one notebook; return (seconds, its result in words, whether it failed)."""
    from .execute import execute

    start = time.monotonic()
    try:
        out = (options.out or root).resolve()
        run = execute(
            root, stem, out, options.simulator, options.timeout, options.fewer_rows
        )
    except Exception as error:  # so that the other notebooks run nevertheless
        name = "" if isinstance(error, PipelineError) else f"{type(error).__name__}: "
        print(f"{stem}: {name}{error}", file=sys.stderr, flush=True)
        return time.monotonic() - start, "did not run to its end", True

    how = ", measured nothing, and is not stamped" if run.shown else ""
    print(f"{stem}: ran in {run.seconds} s{how}", flush=True)
    for what, lines in (
        ("wrote to stderr, which is left out of the notebook", run.complaints),
        ("claims that do not hold", run.failed),
        ("to look at", run.warned),
    ):
        if lines:
            print(f"{stem}: {what}:", *lines, sep="\n  ", file=sys.stderr, flush=True)
    return run.seconds, run.wrong or "ok", bool(run.wrong)


def _stamp(root: Path, stem: str) -> str:
    from . import measured, notebook

    path = notebook.solution(root, stem)
    stamp = notebook.read(path).metadata.get("weft", {}) if path.exists() else {}
    if "digest" not in stamp:
        raise PipelineError("never run; make execute on a machine with a GPU")
    ran = f"{stamp['device']}, {stamp['date']}, {stamp['seconds']} s"
    nb = notebook.read_script(notebook.script(root, stem))
    if stamp["digest"] != measured.digest(root, stem, nb):
        raise PipelineError(f"stale: what it measures has changed since it ran ({ran})")
    return ran


if __name__ == "__main__":
    os.environ.setdefault("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    sys.exit(main())
