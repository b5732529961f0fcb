"""Launch mutants on this machine's GPU, in one process; `on_gpu` starts it.

    python -m verification.mutants.gpu_worker JOBS TODO LOG [--once]

TODO lists what to launch: for each exercise its right kernels, then mutants. LOG gets a
line of JSON before each mutant and one after it, so that its reader knows which one
hangs. The process ends when a kernel has broken the CUDA context.

A kernel is launched with all settings in which the right kernels are right, some of
them large, REPEATED times each, and its results are compared. With --once, for NVIDIA's
tools, it is launched once, and nothing is compared.

The module needs Numba, NumPy and `weft`; of this repository it uses no part of the
checks.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

import weft

from numba import cuda  # isort: skip

from verification.mutants.nearness import errors, right, sizes
from verification.mutants.settings import Array, Data, Setting, data, parts, settings
from weft import meaning

REPEATED = 3
EACH = 6  # settings of a group
LARGEST = 1 << 25  # elements of an output
SLOW = 4  # seconds that making the data of a setting may take
CONTEXT_LOST = 3  # exit status

_jit = cuda.jit


def jit(function: Any = None, **options: Any) -> Any:
    """Return `cuda.jit` of a function, with line numbers, cached for all tools."""
    if options.get("device"):
        return _jit(function, **options)
    return _jit(function, **{"lineinfo": True, "cache": True} | options)


class Course:
    """The exercises and mutants of a jobs file, and how to make kernels of them."""

    def __init__(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        self.jobs = json.loads(text)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        self.folder = path.with_name(f"cells.{digest}")
        self.folder.mkdir(exist_ok=True)

    def kernel(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return a mutant's kernel, named `m<number>`, and its check's arguments."""
        mutant = self.jobs["mutants"][number]
        exercise = mutant["exercise"]
        lab, name = exercise.split("/")
        scope: dict[str, Any] = {"__name__": "corpus"}
        for k, text in enumerate(self.jobs["labs"][lab]):
            self.leniently(text, f"lab{lab}_{k}.py", scope)
        own = re.sub(rf"\bdef {name}\(", f"def m{number}(", mutant["source"])
        self.run(own, f"m{number}.py", scope)
        kernel = scope[name] = scope[f"m{number}"]
        asked: dict[str, Any] = {}
        scope["check"] = lambda _, *rest, **given: asked.update(given)
        scope.setdefault("diagnosis", "")
        self.run(self.jobs["checks"][exercise], f"check_{name}.py", scope)
        return kernel, asked

    def run(self, text: str, name: str, scope: dict[str, Any]) -> None:
        """Run a cell, given by its text."""
        with redirect_stdout(StringIO()):
            exec(compile(text, str(self.file(text, name)), "exec"), scope)

    def leniently(self, text: str, name: str, scope: dict[str, Any]) -> None:
        """Run a cell, but skip each statement that fails, such as an import."""
        path = str(self.file(text, name))
        for statement in ast.parse(text).body:
            code = compile(ast.Module([statement], []), path, "exec")
            with suppress(Exception), redirect_stdout(StringIO()):
                exec(code, scope)

    def file(self, text: str, name: str) -> Path:
        """Return a file with this text, as Numba's cache belongs to files."""
        path = self.folder / name
        if not path.exists():
            new = path.with_suffix(f".{os.getpid()}")
            new.write_text(text, encoding="utf-8")
            new.replace(path)
        return path


def launch(kernel: Any, made: Data) -> tuple[list[Any], list[Array]]:
    """Launch a kernel; return its inputs and outputs afterwards."""
    given = [cuda.to_device(v) if is_array(v) else v for v in made.inputs]
    outputs = [cuda.to_device(o) for o in made.outputs]
    cuda.synchronize()
    kernel[made.config](*given, *outputs)
    cuda.synchronize()
    back = [v.copy_to_host() if hasattr(v, "copy_to_host") else v for v in given]
    return back, [o.copy_to_host() for o in outputs]


def is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


class Trial:
    """A setting in which the right kernels are right, and their errors."""

    def __init__(self, setting: Setting, made: Data, noise: list[float]) -> None:
        self.setting, self.data, self.noise = setting, made, noise


def wanted(asked: dict[str, Any], exercise: str) -> Iterator[list[Setting]]:
    """Yield groups of settings: those of the simulator, then large ones."""
    yield from settings(asked, exercise)
    if meaning.simulating():  # for trying this file out
        return
    large = max((parts(s) for s in asked["sizes"]), key=np.prod)
    times = (tuple(f * n for n in large) for f in (8, 33))
    full = asked.get("full")
    sizes = [*([parts(full)] if full is not None else []), *times]
    yield [Setting(size) for size in sizes]
    yield [Setting(sizes[0], "other seed")]


def trials(
    rights: list[Any], asked: dict[str, Any], exercise: str, note: Any
) -> list[Trial]:
    """Return the settings in which all right kernels are right."""
    tolerance = asked.get("tolerance", 1e-5)
    found = []
    for group in wanted(asked, exercise.split("/")[1]):
        left = EACH
        for setting in group:
            note(exercise=exercise, tried=setting.label)
            if left and (trial := promised(rights, asked, setting, tolerance)):
                left -= 1
                found.append(trial)
    return found


def promised(
    rights: list[Any], asked: dict[str, Any], setting: Setting, tolerance: float
) -> Trial | None:
    try:
        begun = time.monotonic()
        made = data(asked, setting)
        if sum(o.size for o in made.outputs) > LARGEST:
            return None
        if time.monotonic() - begun > SLOW:
            return None
        noise = [0.0] * len(made.outputs)
        for kernel in rights:
            for k, (got, want) in enumerate(
                zip(launch(kernel, made)[1], made.wanted, strict=True)
            ):
                scale = sizes(want).max(initial=0)
                worst = float(errors(got, want).max(initial=0))
                if got.shape != want.shape or not worst <= tolerance * scale:
                    return None
                noise[k] = max(noise[k], worst)
    except Exception:
        if not context_lives():
            raise
        return None
    return Trial(setting, made, noise)


def verdict(kernel: Any, runs: list[Trial], tolerance: float) -> str:
    """Return "right", or what is wrong, as in "wrong: value at <setting>"."""
    for trial in runs:
        for _ in range(REPEATED):
            inputs, outputs = launch(kernel, trial.data)
            for before, after in zip(trial.data.inputs, inputs, strict=True):
                if is_array(before) and before.tobytes() != after.tobytes():
                    return f"wrong: input at {trial.setting.label}"
            for got, want, noise in zip(
                outputs, trial.data.wanted, trial.noise, strict=True
            ):
                if not right(got, want, tolerance, noise):
                    return f"wrong: value at {trial.setting.label}"
    return "right"


def once(kernel: Any, asked: dict[str, Any]) -> str:
    """Launch once, on the largest listed size, for a tool; return what happens."""
    size = max((parts(s) for s in asked["sizes"]), key=np.prod)
    made = data(asked, Setting(size))
    given = [cuda.to_device(v) if is_array(v) else v for v in made.inputs]
    # Outputs that the kernel must write are left uninitialized, for initcheck to see.
    fresh = cuda.device_array_like if asked.get("out") is None else cuda.to_device
    outputs = [fresh(o) for o in made.outputs]
    cuda.synchronize()
    kernel[made.config](*given, *outputs)
    cuda.synchronize()
    return "launched"


def context_lives() -> bool:
    try:
        cuda.to_device(np.zeros(1)).copy_to_host()
    except Exception:
        return False
    return True


def words(error: Exception) -> str:
    """Return CUDA's error code, or the name of the exception."""
    text = " ".join(str(error).split())
    code = re.search(r"CUDA_ERROR_\w+", text)
    return code[0] if code else type(error).__name__


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("jobs", type=Path)
    parser.add_argument("todo", type=Path)
    parser.add_argument("log", type=Path)
    parser.add_argument("--once", action="store_true")
    args = parser.parse_args()
    cuda.jit = jit
    # so that the cells before an exercise do not fill the GPU's memory
    weft.GPU = False
    course = Course(args.jobs)
    with args.log.open("a", encoding="utf-8", buffering=1) as log:
        for exercise, rights, mutants in json.loads(args.todo.read_text()):
            if work(course, exercise, rights, mutants, args.once, log):
                return CONTEXT_LOST
    return 0


def work(
    course: Course,
    exercise: str,
    rights: list[int],
    mutants: list[int],
    tool: bool,
    log: Any,
) -> bool:
    """Launch an exercise's mutants; return whether the CUDA context is lost."""

    def note(**entry: Any) -> None:
        log.write(json.dumps(entry) + "\n")

    runs: list[Trial] = []
    note(exercise=exercise)
    try:
        known = [course.kernel(number) for number in rights]
        asked = known[0][1]
        if not tool:
            kernels = [kernel for kernel, _ in known]
            runs = trials(kernels, asked, exercise, note)
            note(exercise=exercise, trials=[t.setting.label for t in runs])
    except Exception as error:
        note(exercise=exercise, failed=f"{type(error).__name__}: {error}"[:300])
        return not context_lives()
    for number in mutants:
        note(mutant=number, begun=True)
        try:
            kernel, asked = course.kernel(number)
            tolerance = asked.get("tolerance", 1e-5)
            said = once(kernel, asked) if tool else verdict(kernel, runs, tolerance)
            note(mutant=number, said=said)
        except Exception as error:
            note(mutant=number, said=words(error))
            if not context_lives():
                return True
    return False


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
