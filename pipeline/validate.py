"""Run nbval over the executed solutions: does each of them still run?"""

import subprocess
import sys
from pathlib import Path

from . import PipelineError, notebook
from .execute import CELL_TIMEOUT, environment


def nbval(root: Path, stems: list[str], workers: int = 0) -> int:
    """Run pytest --nbval-lax over solutions/NN.ipynb; return its exit status.

    `workers` processes share the notebooks, whole ones: use it only where nothing is
    timed. Nothing is written to results/.
    """
    paths = [notebook.solution(root, stem) for stem in stems]
    if missing := [path.name for path in paths if not path.exists()]:
        raise PipelineError(f"make notebooks first: no {', '.join(missing)}")
    command = [
        *(sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env"),
        f"--nbval-cell-timeout={CELL_TIMEOUT}",
        *("-p", "no:cacheprovider", "-ra", "--rootdir", str(root)),
        *(("-n", str(workers), "--dist", "loadfile") if workers else ()),
        *map(str, paths),
    ]
    return subprocess.run(command, cwd=root, env=environment(root)).returncode
