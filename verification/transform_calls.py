"""Calls of cuFFT and cuRAND, whose answers were recorded on a GPU.

    python -m verification.transform_calls verification/transform_calls.json

needs a GPU. `tests/test_transforms.py` makes the same calls of the models of
`weft.libraries`.
"""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from verification.library_calls import World, on_gpu
from weft.libraries import cufft, curand
from weft.libraries.binding import LibraryError
from weft.libraries.cufft import Type

LAYOUTS = 60
# floats per element, by side
FLOATS = {Type.C2C: (2, 2), Type.R2C: (1, 2), Type.C2R: (2, 1)}


@dataclass(frozen=True)
class Side:
    """The layout of one side's elements, as `make_plan_many` takes it."""

    sizes: tuple[int, ...]
    embed: tuple[int, ...]
    stride: int
    dist: int

    def places(self, batch: int) -> Any:
        """Return the index of every element in memory: (batch, *sizes)."""
        index = np.indices((batch, *self.sizes))
        steps = [math.prod(self.embed[d + 1 :]) for d in range(len(self.sizes))]
        inside = sum(i * s for i, s in zip(index[1:], steps, strict=True))
        return index[0] * self.dist + inside * self.stride


def side(rng: np.random.Generator, sizes: tuple[int, ...], batch: int) -> Side:
    """Return a random layout: transforms one after the other, or interleaved."""
    embed = tuple(n + int(rng.integers(3)) for n in sizes)
    if rng.integers(2):
        return Side(sizes, embed, batch + int(rng.integers(3)), 1)
    stride = 1 + int(rng.integers(3))
    return Side(sizes, embed, stride, stride * math.prod(embed) + int(rng.integers(4)))


def layout(world: World, number: int) -> list[float]:
    """Return the output of a plan with a random layout, including its gaps."""
    rng = np.random.default_rng(number)
    kind = list(FLOATS)[number % 3]
    n = tuple(int(rng.integers(2, 9)) for _ in range(1 + number // 3 % 2))
    batch, half = int(rng.integers(1, 5)), (*n[:-1], n[-1] // 2 + 1)
    given = side(rng, half if kind == Type.C2R else n, batch)
    wanted = side(rng, half if kind == Type.R2C else n, batch)
    x = rng.integers(-9, 10, (batch, *n)).astype(np.complex64)
    if kind == Type.C2C:
        x += 1j * rng.integers(-9, 10, x.shape)
    elif kind == Type.C2R:  # made by a real transform
        axes = tuple(range(1, len(n) + 1))
        x = np.fft.rfftn(x.real, axes=axes).astype(np.complex64)
    floats = FLOATS[kind]
    places = given.places(batch)
    source = np.zeros((places.max() + 1, floats[0]), np.float32)
    source[places, 0] = x.real
    if floats[0] == 2:
        source[places, 1] = x.imag
    target = np.full((wanted.places(batch).max() + 1, floats[1]), 7, np.float32)
    arrays = [world.keep(world.place(torch.from_numpy(a))) for a in (source, target)]
    sides = [(list(s.embed), s.stride, s.dist) for s in (given, wanted)]
    plan = cufft.create()
    try:
        cufft.make_plan_many(plan, len(n), list(n), *sides[0], *sides[1], kind, batch)
        execute(plan, kind, arrays[0].data_ptr(), arrays[1].data_ptr(), number)
    finally:
        cufft.destroy(plan)
    return shown(world, arrays[1])


def execute(plan: int, kind: int, source: int, target: int, number: int) -> None:
    """Execute a plan; complex transforms go forward for even numbers."""
    if kind == Type.C2C:
        cufft.exec_c2c(plan, source, target, -1 if number % 2 == 0 else 1)
    elif kind == Type.R2C:
        cufft.exec_r2c(plan, source, target)
    else:
        cufft.exec_c2r(plan, source, target)


def shown(world: World, array: Any) -> list[float]:
    """Return the numbers of an array, to three decimal places."""
    found: list[float] = np.asarray(world.back(array)).ravel().round(3).tolist()
    return found


def in_place(world: World, n: int) -> list[float]:
    """Return what real transforms of two padded rows give in place, and back again."""
    width, rng = 2 * (n // 2 + 1), np.random.default_rng(n)
    rows = rng.integers(-9, 10, (2, width)).astype(np.float32)
    array = world.keep(world.place(torch.from_numpy(rows)))
    found: list[float] = []
    for kind in (Type.R2C, Type.C2R):
        plan = cufft.create()
        cufft.make_plan1d(plan, n, kind, 2)
        execute(plan, kind, array.data_ptr(), array.data_ptr(), 0)
        rows = np.asarray(world.back(array))[:, : n if kind == Type.C2R else width]
        found += rows.ravel().round(3).tolist()
        cufft.destroy(plan)
    return found


def numbers(world: World, generator: int, count: int) -> list[float]:
    """Return the next `count` numbers of a generator."""
    out = world.keep(world.place(torch.zeros(count)))
    curand.generate_uniform(generator, out.data_ptr(), count)
    found: list[float] = np.asarray(world.back(out)).tolist()
    return found


def seeded(world: World, what: str) -> list[list[float]]:
    """Return numbers before and after a generator gets a seed, offset or ordering."""
    generator = curand.create_generator(curand.RngType.PSEUDO_PHILOX4_32_10)
    curand.set_pseudo_random_generator_seed(generator, 42)
    curand.set_generator_offset(generator, 8)
    found = [numbers(world, generator, 6)]
    if what == "seed":
        curand.set_pseudo_random_generator_seed(generator, 42)
    elif what == "offset":
        curand.set_generator_offset(generator, 8)
    else:
        default = curand.Ordering.PSEUDO_DEFAULT
        curand.set_generator_ordering(generator, default)
    found.append(numbers(world, generator, 6))
    curand.destroy_generator(generator)
    return found


CASES: dict[str, tuple[Any, Any]] = {
    **{f"layout {number}": (layout, number) for number in range(LAYOUTS)},
    **{f"in place, rows of {n}": (in_place, n) for n in (7, 8)},
    **{f"{what} set again": (seeded, what) for what in ("seed", "offset", "ordering")},
}


def answer(world: World, case: str) -> Any:
    """Return what the library in use gives for one case: numbers, or a status."""
    function, change = CASES[case]
    try:
        return function(world, change)
    except LibraryError as error:
        return str(error).partition(" ")[0]


def main() -> None:
    """Write what NVIDIA's libraries answer to every case."""
    about = {
        "device": torch.cuda.get_device_name(),
        "cufft": cufft.get_version(),
        "curand": curand.get_version(),
        "torch": torch.__version__,
    }
    answers = {case: answer(on_gpu(), case) for case in CASES}
    text = json.dumps({"about": about, "answers": answers})
    Path(sys.argv[1]).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
