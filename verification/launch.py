"""Launch the corpus's kernels on this GPU, one after the other, in one process.

    python -m verification.launch LOG [NAME ...]

LOG gets a line of JSON before each launch and one after it. If a kernel ends the
process, the reader knows which one: a wrong kernel may hang, or leave a CUDA context
that refuses everything. Then start again with the remaining kernels.
"""

import argparse
import faulthandler
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import weft  # noqa: F401  before Numba

from numba import cuda  # isort: skip

from verification.corpus import Kernel, corpus
from weft.checking.compare import difference
from weft.checking.room import make
from weft.kernels.exercise import KernelExercise
from weft.kernels.room import ROOM

PATIENCE = 6  # seconds that one launch may take, under a slow tool
CONTEXT_LOST = 3  # exit status

_jit = cuda.jit


def jit(function: Any = None, **options: Any) -> Any:
    """Return `cuda.jit` of a function, with line numbers, cached for all tools."""
    if options.get("device"):
        return _jit(function, **options)
    return _jit(function, **{"lineinfo": True, "cache": True} | options)


def exercise_of(kernel: Kernel) -> KernelExercise:
    function, given = kernel.load()
    return make(ROOM, function, given)


def launch(exercise: KernelExercise) -> bool:
    """Launch on the last size; return whether outputs are right. Raises CUDA errors."""
    case = exercise.case(exercise.sizes[-1])
    given = [cuda.to_device(v) if is_array(v) else v for v in case.inputs]
    # Outputs that the kernel must write are left uninitialized, for initcheck to see.
    fresh = cuda.device_array_like if exercise.out is None else cuda.to_device
    outputs = [fresh(o) for o in case.outputs]
    cuda.synchronize()
    exercise.kernel[exercise.launch(*case.size)](*given, *outputs)
    cuda.synchronize()
    results = [o.copy_to_host() for o in outputs]
    pairs = zip(results, case.expected, strict=True)
    return all(difference(r, e, exercise.tolerance) is None for r, e in pairs)


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def context_lives() -> bool:
    try:
        cuda.to_device(np.zeros(1)).copy_to_host()
    except Exception:
        return False
    return True


def run(kernels: list[Kernel], log: Path) -> int:
    cuda.jit = jit
    with log.open("a", encoding="utf-8", buffering=1) as file:

        def note(**entry: Any) -> None:
            file.write(json.dumps(entry) + "\n")

        for kernel in kernels:
            note(kernel=kernel.function, begun=True)
            faulthandler.dump_traceback_later(PATIENCE, exit=True, file=sys.stderr)
            start = time.monotonic()
            try:
                right = launch(exercise_of(kernel))
                note(kernel=kernel.function, right=right)
            except Exception as error:
                text = str(error).strip().splitlines()
                words = f"{type(error).__name__}: {' '.join(text[:4])}"
                note(kernel=kernel.function, error=words[:400])
                if not context_lives():
                    return CONTEXT_LOST
            finally:
                faulthandler.cancel_dump_traceback_later()
            note(kernel=kernel.function, seconds=round(time.monotonic() - start, 3))
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("log", type=Path)
    parser.add_argument("names", nargs="*", help="kernels; all without any")
    args = parser.parse_args()
    known = {kernel.function: kernel for kernel in corpus()}
    names = args.names or list(known)
    return run([known[name] for name in names], args.log)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status) if status else sys.exit(0)
