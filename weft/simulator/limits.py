"""Check the size of a launch, with errors that a learner understands."""

import inspect
import operator
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from weft import meaning
from weft.simulator.faults import LaunchError
from weft.wording import several

Dim = tuple[int, int, int]


class Dim3(NamedTuple):
    """A size or an index along x, y and z."""

    x: int
    y: int
    z: int


WARP = 32
MAX_THREADS = 1024
MAX_BLOCK: Dim = (1024, 1024, 64)
MAX_GRID: Dim = (2**31 - 1, 65535, 65535)
MOST_SHARED = 48 * 1024  # bytes per block without opt-in, for every capability
STATIC = 16 * 1024  # bytes of fixed-size arrays, beside large dynamic memory
MOST_LOCAL = 512 * 1024  # bytes of local memory per thread
MOST_CLUSTER = 8  # blocks, which every GPU with clusters supports
# Source of the limits: CUDA C++ Programming Guide, "Compute Capabilities",
# table "Technical Specifications per Compute Capability".


# CUDA C++ Programming Guide, "Thread Block Clusters": the size of a cluster, and that
# it divides the grid.


def cluster_of(grid: Dim) -> int:
    """Return the number of blocks in a cluster.

    Raises LaunchError if no cluster can have that many, or if the number does not
    divide the grid's size along x.
    """
    size = meaning.CLUSTER.get()
    if size not in range(1, MOST_CLUSTER + 1):
        raise LaunchError(
            f"clusters of {size} blocks; a cluster has 1 to {MOST_CLUSTER}",
            "Some GPUs can run larger ones, for a kernel that has been allowed to.",
        )
    if grid[0] % size:
        raise LaunchError(
            f"a grid of {several(grid[0], 'block')} along x, in clusters of {size}",
            "The number of blocks has to be a multiple of the size of a cluster.",
        )
    return size


_larger: WeakKeyDictionary[Any, int] = WeakKeyDictionary()


def allow_shared(function: Any, size: int) -> None:
    """Allow the kernel made from `function` more dynamic shared memory.

    size: the number of bytes per block.
    """
    _larger[function] = size


def most_shared(function: Any) -> int:
    """Return how many bytes of shared memory a block of a kernel may have."""
    size = _larger.get(function, 0) if function is not None else 0
    return MOST_SHARED if size <= MOST_SHARED else size + STATIC


def configuration(config: Any, allowed: int = MOST_SHARED) -> tuple[Dim, Dim, Any, int]:
    """Parse `kernel[config]` into (grid, block, stream, dynamic shared bytes).

    allowed: the bytes of shared memory that the kernel may have. Raises `LaunchError`
    if a GPU would refuse the configuration.
    """
    if not isinstance(config, (tuple, list)) or not 2 <= len(config) <= 4:
        raise LaunchError(
            f"a launch needs kernel[grid, block], got kernel[{config!r}]",
            "The first value is the number of blocks, the second the number of threads "
            "per block. A stream and the bytes of dynamic shared memory may follow.",
        )
    grid = dimensions(config[0], "grid", "blocks")
    block = dimensions(config[1], "block", "threads")
    threads = block[0] * block[1] * block[2]
    if threads > MAX_THREADS:
        raise LaunchError(
            f"block of {threads} threads; a block holds at most {MAX_THREADS} "
            f"({MAX_THREADS // WARP} warps)",
            "Use smaller blocks, and more of them.",
        )
    for name, size, most in (("block", block, MAX_BLOCK), ("grid", grid, MAX_GRID)):
        for axis, got, limit in zip("xyz", size, most, strict=True):
            if got > limit:
                raise LaunchError(
                    f"{name} of {got} along {axis}; the limit there is {limit}"
                )
    stream = config[2] if len(config) > 2 else 0
    if stream and isinstance(stream, (int, float, str, tuple, list)):
        raise LaunchError(
            f"the third value of a launch is its stream, and {stream!r} is not one",
            "The grid is one value and the block another. If they have more than one "
            "dimension, each is a pair or a triple: kernel[(x, y), (x, y)].",
        )
    if inspect.isfunction(stream):
        raise LaunchError(
            f"the third value of a launch is its stream, and {stream.__name__} is a "
            "function",
            f"Call it: {stream.__name__}().",
        )
    shared = config[3] if len(config) > 3 else 0
    try:
        shared = operator.index(shared or 0)
    except TypeError:
        raise LaunchError(
            f"dynamic shared memory of {shared!r} bytes; it must be an integer"
        ) from None
    if shared < 0:
        raise LaunchError(f"{shared} bytes of dynamic shared memory")
    if shared > allowed:
        raise LaunchError(
            f"{shared:,} bytes of dynamic shared memory; Numba launches no more than "
            f"{MOST_SHARED:,} (48 KB), arrays of a fixed size included",
            "Most GPUs have more for a block, but only for a kernel that has been "
            "allowed to use it. CUDA C++ calls cudaFuncSetAttribute before the launch; "
            "Numba never does, and the launch fails with CUDA_ERROR_INVALID_VALUE.",
        )
    return grid, block, stream, shared


def dimensions(size: Any, name: str, unit: str) -> Dim:
    """Convert a grid or block size of one to three integers to (x, y, z)."""
    sizes = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    if not 1 <= len(sizes) <= 3:
        raise LaunchError(f"{name} has {len(sizes)} dimensions; it may have 1 to 3")
    read: list[int] = []
    for value in sizes:
        try:
            read.append(operator.index(value))
        except TypeError:
            why = f"The {name} is a number of {unit}, so it must be an integer."
            if isinstance(value, float):
                why += (
                    " `/` always gives a float. Take care which way you round: the "
                    "last block may be only partly needed, but it is needed."
                )
            raise LaunchError(f"{name} of {value!r} {unit}", why) from None
        if read[-1] < 1:
            raise LaunchError(
                f"{name} of {value!r} {unit}; there must be at least 1",
                "An empty launch is an error on a GPU too.",
            )
    x, y, z = (*read, 1, 1)[:3]
    return x, y, z
