"""Which solutions this machine can run, as the package says.

The package is asked in another process, so that this one does not load it.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from . import PipelineError, notebook

PLAN = """
import json, sys
from weft.lesson import running
print(json.dumps(running.plan(sys.argv[1:])))
"""


@dataclass(frozen=True)
class Machine:
    """The result of `weft.lesson.running.plan`."""

    line: str
    reason: str
    skips: dict[str, str]
    stops: list[str]
    lacks: list[str]

    def left(self, stems: list[str]) -> list[str]:
        """Return the solutions that this machine can run."""
        return [stem for stem in stems if stem not in self.skips]


def environment(root: Path, **extra: str) -> dict[str, str]:
    """Return the environment of a run whose checks must pass.

    PATH includes the programs that Python packages bring, such as ninja.
    """
    ours = ("WEFT_RESULTS", "WEFT_CLAIMS")
    env = {k: v for k, v in os.environ.items() if k not in ours}
    paths = [str(root), *filter(None, [env.get("PYTHONPATH")])]
    programs = [str(Path(sys.executable).parent), env.get("PATH", os.defpath)]
    return env | {
        "WEFT_STRICT": "1",
        "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS": "0",
        "PATH": os.pathsep.join(programs),
        "PYTHONPATH": os.pathsep.join(paths),
        **extra,
    }


def simulated(simulator: bool) -> dict[str, str]:
    """Return the variables that keep a run off the GPU; {} without `simulator`."""
    return {"WEFT_SIMULATOR": "1"} if simulator else {}


def ask(root: Path, stems: list[str], simulator: bool = False) -> Machine:
    """Ask the package about this machine. Raises PipelineError if the import fails."""
    run = subprocess.run(
        [sys.executable, "-c", PLAN, *stems],
        env=environment(root, **simulated(simulator)),
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise PipelineError(f"weft cannot be imported:\n{run.stderr.strip()}")
    return Machine(**json.loads(run.stdout))


def require(
    machine: Machine, root: Path, stems: list[str], simulator: bool = False
) -> None:
    """Print what is missing on this machine, before anything runs.

    Raises PipelineError if there is no GPU, unless `simulator` is set or no solution
    needs one, and if a tool is missing without which a solution would fail.
    """
    on_gpu = [stem for stem in stems if not _runs_on_cpu(root, stem)]
    if machine.reason and on_gpu and not simulator:
        raise PipelineError(
            f"{machine.reason}\nWithout a GPU nothing here is timed. To see whether "
            "the solutions run in the simulator, add --simulator."
        )
    for sentence in machine.lacks:
        print(sentence, flush=True)
    if machine.stops:
        raise PipelineError("\n".join(machine.stops))


def _runs_on_cpu(root: Path, stem: str) -> bool:
    nb = notebook.read_script(notebook.script(root, stem))
    return bool(notebook.runs_on(nb))
