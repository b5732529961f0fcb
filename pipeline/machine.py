"""What becomes of the solutions on this machine, as the package says.

The package is asked in a process of its own, so that nothing here loads it.
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
    """What `weft.lesson.running.plan` returns."""

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

    Programs that came as Python packages are found, such as ninja.
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
    """Return what keeps a run off the GPU: a setting, where it is asked for."""
    return {"WEFT_SIMULATOR": "1"} if simulator else {}


def ask(root: Path, stems: list[str], simulator: bool = False) -> Machine:
    """Ask the package. Raises PipelineError if it cannot be imported."""
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
    """Say what is missing here before anything runs.

    Raises PipelineError where there is no GPU, unless the simulator is asked for or no
    solution needs one, and where a tool is missing without which one ends in an error.
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
