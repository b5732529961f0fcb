"""Settings to try an exercise in: sizes, data and launches that its check does not use.

The module reads the arguments of `check`. It uses no part of the checks, and only NumPy
besides: a GPU's machine needs no more.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from weft import lesson

Array = np.ndarray[Any, Any]
MOST_THREADS = 3_000  # threads of a launch that is simulated
SEED = 77


def parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@dataclass(frozen=True)
class Setting:
    """How a kernel is run: a size, how its data differ, how its launch differs."""

    size: tuple[int, ...]
    data: str = ""
    launch: str = ""

    @property
    def label(self) -> str:
        size = "×".join(map(str, self.size))
        return ", ".join(filter(None, (size, self.data, self.launch)))


def settings(asked: dict[str, Any], exercise: str) -> Iterator[list[Setting]]:
    """Yield groups of settings in which an exercise may hold, the best first.

    Whether it does hold in one, its right kernels show.
    """
    listed = [parts(size) for size in asked["sizes"]]
    large = max(listed, key=np.prod)
    others = dict.fromkeys(unlisted(listed, exercise))
    yield [Setting(size) for size in listed[::-1]]
    yield [Setting(size) for size in others if size not in listed]
    yield [Setting(large, data) for data in DATA]
    yield [Setting(large, launch=launch) for launch in LAUNCHES]


def unlisted(listed: list[tuple[int, ...]], exercise: str) -> Iterator[tuple[int, ...]]:
    """Yield sizes that a check does not list: similar, larger, with axes exchanged."""
    if (size := lesson.unseen(exercise)) is not None:
        yield parts(size)
    large = max(listed, key=np.prod)
    axes = len(large)
    for k in range(axes):
        yield tuple(s + (j == k) for j, s in enumerate(large))
        yield tuple(s * (1 + 2 * (j == k)) for j, s in enumerate(large))
        yield tuple(s - (j == k) for j, s in enumerate(large))
    yield tuple(s + 1 for s in large)
    yield tuple(2 * s for s in large)
    yield tuple(3 * s + 1 for s in large)
    if axes > 1:
        yield large[::-1]
    yield from product((1, 2, 3), repeat=axes) if axes < 3 else [(2,) * axes]
    if axes == 1:
        (n,) = large
        yield from ((m,) for m in (n // 2, n // 2 + 3, 31, 33, 7 * n, 5 * n + 37))


def threads(launch: Any) -> int:
    """Return how many threads a launch starts."""
    grid, block, *_ = launch
    return int(np.prod(parts(grid)) * np.prod(parts(block)))


def most_threads(asked: dict[str, Any]) -> int:
    """Return how many threads a launch may start in the simulator."""
    listed = (threads(asked["launch"](*parts(size))) for size in asked["sizes"])
    return max(MOST_THREADS, *listed)


FACTORS = {"negated": -1, "times 1000": 1000}
SEEDS = {"other seed": 1, "second seed": 2, "third seed": 3}
DATA = (*FACTORS, *SEEDS)


def varied(values: tuple[Any, ...], data: str) -> tuple[Any, ...]:
    """Return the inputs, with floats negated or larger if `data` says so."""
    factor = FACTORS.get(data, 1)
    return tuple((v * factor).astype(v.dtype) if has_point(v) else v for v in values)


def has_point(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in "fc"


LAUNCHES = ("one block more", "half the blocks")


def launched(config: Any, launch: str) -> tuple[Any, ...]:
    """Return a configuration with more or fewer blocks along x, as `launch` says."""
    grid, *rest = config
    x, *others = parts(grid)
    if launch == "one block more":
        x += 1
    elif launch == "half the blocks":
        x = -(-x // 2)
    return ((x, *others), *rest)


@dataclass(frozen=True)
class Data:
    """A setting's launch, its inputs, its right results, and its outputs."""

    config: tuple[Any, ...]
    inputs: tuple[Any, ...]
    wanted: tuple[Array, ...]
    outputs: tuple[Array, ...]

    def arguments(self) -> tuple[tuple[Any, ...], tuple[Array, ...]]:
        """Return fresh inputs and outputs for one launch."""
        return copied(self.inputs), tuple(o.copy() for o in self.outputs)


def data(asked: dict[str, Any], setting: Setting) -> Data:
    """Make the data of a setting. Raises what the exercise's own functions raise."""
    rng = np.random.default_rng([SEED + SEEDS.get(setting.data, 0), *setting.size])
    with np.errstate(all="ignore"):
        made = parts(asked["inputs"](rng, *setting.size))
    inputs = varied(made, setting.data)
    if setting.data in FACTORS and not any(map(has_point, made)):
        raise ValueError("these data are not varied")
    wide = tuple(widened(v) for v in copied(inputs))
    wanted = tuple(map(np.asarray, parts(asked["spec"](*wide))))
    if asked.get("out") is None:
        like = parts(asked["spec"](*copied(inputs)))
        outputs = tuple(unset(np.asarray(o)) for o in like)
    else:
        outputs = tuple(np.array(o) for o in parts(asked["out"](*copied(inputs))))
    config = launched(asked["launch"](*setting.size), setting.launch)
    return Data(config, inputs, wanted, outputs)


def copied(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(v.copy() if isinstance(v, np.ndarray) else v for v in values)


def widened(value: Any) -> Any:
    """Return a value in double precision if it is a float, else unchanged."""
    if isinstance(value, np.ndarray | np.floating) and value.dtype.kind == "f":
        return value.astype(np.float64)
    return value


def unset(like: Array) -> Array:
    """Return an array without meaningful values: NaN, or an odd number."""
    empty = np.empty(like.shape, like.dtype)
    empty[...] = np.nan if like.dtype.kind in "fc" else 85
    return empty
