"""The arrays that a kernel makes: `cuda.shared`, `cuda.local` and constants."""

import dis
import math
import sys
from functools import cache
from types import CodeType
from typing import Any

import numpy as np

from weft import meaning
from weft.simulator.limits import MOST_LOCAL, MOST_SHARED
from weft.simulator.memory.arrays import Array, Memory
from weft.simulator.running.protocol import Launched, Site, site_of

WHOLE = 1024  # bytes to which a block's shared memory is aligned


class Shared:
    """`cuda.shared`: one array per block, for each call site in a compiled function."""

    def __init__(self, run: Launched) -> None:
        self._run = run

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Array:
        frame = sys._getframe(1)
        site = self._run.declaration(site_of(self._run, frame))
        arrays = self._run.current.block.shared
        if site not in arrays:
            kind = meaning.as_dtype(dtype)
            # A block's only array begins where its shared memory does.
            alone = not arrays and not several(frame.f_code)
            known = WHOLE if alone else int(alignment or 0)
            if shape == 0 or shape == (0,):
                arrays[site] = self._dynamic(site, kind, known)
            else:
                arrays[site] = self._static(site, shape, kind, known)
        return arrays[site]

    def _dynamic(self, site: Site, kind: np.dtype[Any], known: int) -> Array:
        """Return an array over the dynamic shared memory; all such arrays share it."""
        run = self._run
        size = run.dynamic_shared // kind.itemsize * kind.itemsize
        data = run.current.block.dynamic.view(np.uint8)[:size].view(kind)
        name = run.name_of(site, "dynamic shared memory")
        memory = Memory(name, "shared", "dynamic", alignment=max(known, 16))
        return run.array(data, memory)

    def _static(self, site: Site, shape: Any, kind: np.dtype[Any], known: int) -> Array:
        run = self._run
        sizes = sizes_of(run, shape, "shared")
        block = run.current.block
        block.static_bytes += math.prod(sizes) * kind.itemsize
        if block.static_bytes + run.dynamic_shared > run.most_shared:
            run.fault("launch", *_too_much(block.static_bytes, run.dynamic_shared))
        data = np.empty(sizes, kind)
        run.fill(data, "shared")
        name = run.name_of(site, "shared array")
        loose = not aligned(known)
        memory = Memory(name, "shared", site, loose=loose, alignment=max(known, 16))
        return run.array(data, memory)


def _too_much(static: int, dynamic: int) -> tuple[str, str]:
    """Describe a block with too much shared memory."""
    of_them = f", {dynamic:,} of them dynamic" if dynamic else ""
    return (
        f"{static + dynamic:,} bytes of shared memory in one block{of_them}",
        f"Numba launches a kernel with {MOST_SHARED:,} bytes (48 KB) per block at "
        "most: those of every cuda.shared.array and those of the launch together.",
    )


class Local:
    """`cuda.local`: an array private to one thread."""

    def __init__(self, run: Launched) -> None:
        self._run = run

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> Array:
        site, kind = site_of(self._run, sys._getframe(1)), meaning.as_dtype(dtype)
        sizes = sizes_of(self._run, shape, "local")
        size = math.prod(sizes) * kind.itemsize
        if size > MOST_LOCAL:
            self._run.fault(
                "type",
                f"a local array of {size:,} bytes",
                f"All the local memory of a thread is {MOST_LOCAL:,} bytes (512 KB), "
                "and the compiler rejects more. A local array should be small enough "
                "for registers: a few dozen numbers.",
            )
        data = np.empty(sizes, kind)
        self._run.fill(data, "local")
        name = self._run.name_of(site, "local array")
        memory = Memory(name, "local", site, loose=not aligned(alignment))
        return self._run.array(data, memory)


def aligned(alignment: int | None) -> bool:
    """Return whether `alignment` puts an array on a 16-byte boundary."""
    return bool(alignment) and int(alignment or 0) % 16 == 0


@cache
def several(code: CodeType) -> bool:
    """Return whether a function makes more than one shared array."""
    made = [i for i in dis.get_instructions(code) if i.argval == "shared"]
    return len(made) > 1


def sizes_of(run: Launched, shape: Any, where: str) -> tuple[int, ...]:
    """Return a shape as a tuple. Raises `Fault` for one that Numba refuses."""
    sizes = shape if isinstance(shape, tuple) else (shape,)
    if not all(type(s) is int and s > 0 for s in sizes):
        numpys = any(isinstance(s, np.integer) for s in sizes)
        run.fault(
            "type",
            f"cuda.{where}.array of shape {shape!r}",
            "A shape consists of positive integers that are known when the kernel is "
            "compiled." + " Numba knows Python's, but not NumPy's." * numpys,
        )
    return sizes


def constant(run: Launched, data: Any, name: str = "constant array") -> Array:
    """Return an array from outside the kernel as one that the kernel cannot change."""
    if isinstance(data, Array):
        return data  # it is one already
    memory = Memory(name, "constant", readonly=True)
    return Array(np.asarray(data), memory, run.fault)
