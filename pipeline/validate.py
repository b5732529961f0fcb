"""Run nbval on the executed solutions, to see that each of them still runs."""

import re
import subprocess
import sys
from pathlib import Path

from . import PipelineError, notebook
from .machine import Machine, ask, environment, require, simulated


def nbval(
    root: Path,
    stems: list[str],
    workers: int = 0,
    simulator: bool = False,
    timeout: int = 300,
) -> int:
    """Run pytest --nbval-lax on solutions/NN.ipynb; return its exit status.

    Solutions that this machine cannot run are skipped, with the reason. `workers`
    processes share the notebooks, each as a whole: use them only if nothing is timed.
    timeout: seconds for one cell. Nothing is written to results/. Raises PipelineError,
    before anything runs, if there is no GPU and `simulator` is not set, or if a tool is
    missing.
    """
    paths = [notebook.solution(root, stem) for stem in stems]
    if missing := [path.name for path in paths if not path.exists()]:
        raise PipelineError(f"make notebooks first: no {', '.join(missing)}")
    machine = ask(root, stems, simulator)
    print(f"nbval: {machine.line}", flush=True)
    require(machine, root, stems, simulator)
    run = machine.left(stems)
    status = _pytest(root, run, workers, simulator, timeout) if run else 0
    print(*summary(machine, run, status), sep="\n", flush=True)
    return status


def summary(machine: Machine, run: list[str], status: int) -> list[str]:
    """Return a line on each skipped solution, and one on all of them."""
    became = "passed" if status == 0 else "run, with failures"
    return [
        *(f"skipped: {stem}: {reason}" for stem, reason in machine.skips.items()),
        f"nbval: {machine.line}: {len(run)} {became}, {len(machine.skips)} skipped",
    ]


def _pytest(
    root: Path, stems: list[str], workers: int, simulator: bool, timeout: int
) -> int:
    command = [
        *(sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env"),
        f"--nbval-cell-timeout={timeout}",
        *("-p", "no:cacheprovider", "-ra", "--rootdir", str(root)),
        *(("-n", str(workers), "--dist", "loadfile") if workers else ()),
        *(str(notebook.solution(root, stem)) for stem in stems),
    ]
    env = environment(root, **simulated(simulator))
    return subprocess.run(command, cwd=root, env=env).returncode


def share(stems: list[str], text: str) -> list[str]:
    """Return one of several shares of the solutions: "2/4" is the second of four.

    Neighbours take about equally long, so a share of four takes every fourth solution.
    """
    found = re.fullmatch(r"(\d+)/(\d+)", text)
    if not found or not 1 <= (number := int(found[1])) <= (count := int(found[2])):
        raise PipelineError(f"--share {text}: write 2/4 for the second of four")
    return stems[number - 1 :: count]
