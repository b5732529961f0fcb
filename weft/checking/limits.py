"""What an exercise can limit: one table, so that a mistyped limit is an error.

`check(..., limits={"sectors": 4})`: each key is a row here, and belongs to one kind of
exercise. To add one, add its row and hold it in that kind's stages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

KERNEL, HOST, TORCH = "a kernel", "host code", "an operator of PyTorch"
TRITON = "a Triton program"
LIBRARY = "code that calls a library"
RANKS = "a function of several ranks"


@dataclass(frozen=True)
class Limit:
    """What a limit bounds: of which kind of exercise, and in words with its unit."""

    room: str
    meaning: str


LIMITS = {
    "sectors": Limit(KERNEL, "most sectors per request to global memory"),
    "bank_conflicts": Limit(KERNEL, "most extra passes per request to shared memory"),
    "lanes": Limit(KERNEL, "fewest lanes of a warp per request, on average"),
    "loads": Limit(KERNEL, "most loads from global memory by one thread, no `peek`"),
    "shared_loads": Limit(KERNEL, "most loads from shared memory by one thread"),
    "peeks": Limit(KERNEL, "most different words that one thread reads with `peek`"),
    "handed_over": Limit(
        KERNEL, "fewest loads per block from shared memory that another thread filled"
    ),
    "unguarded_loads": Limit(
        KERNEL, "fewest lines that load from global memory in every thread alike"
    ),
    "shared_bytes": Limit(KERNEL, "most bytes of shared memory per block"),
    "barriers": Limit(KERNEL, "most barriers that a block passes"),
    "flops": Limit(KERNEL, "most floating-point operations per block, on average"),
    "atomics": Limit(KERNEL, "most atomics on global memory in the whole launch"),
    "load_bytes": Limit(KERNEL, "fewest bytes per lane and load, on average"),
    "store_bytes": Limit(KERNEL, "fewest bytes per lane and store, on average"),
    "float64": Limit(KERNEL, "most lines that compute in float64 without need"),
    "local": Limit(KERNEL, "most bytes of local memory per thread, in PTX"),
    "size": Limit(KERNEL, "the size to count on, by default the last"),
    "otherwise": Limit(KERNEL, "a dict: the limits that hold with other constants"),
    "traffic": Limit(HOST, "most bytes over the bus, as a multiple of the least"),
    "block": Limit(HOST, "fewest threads per block"),
    "overlap": Limit(HOST, "how many times as fast as without overlap, in the model"),
    "loaded": Limit(TRITON, "most bytes loaded, as a multiple of the inputs'"),
    "stored": Limit(TRITON, "most bytes stored, as a multiple of the outputs'"),
    "calls": Limit(LIBRARY, "most calls of functions of the library that do work"),
    "conversions": Limit(
        LIBRARY, "most arrays that cuDNN has to copy to NHWC or from it"
    ),
    "steps": Limit(RANKS, "most steps until the last rank ends"),
    "sent": Limit(RANKS, "most bytes that one rank sends"),
    "collectives": Limit(RANKS, "most collectives per rank"),
    "graph_breaks": Limit(TORCH, "most graph breaks under torch.compile"),
    "synchronisations": Limit(TORCH, "how often the host may wait for the GPU"),
    "copied": Limit(TORCH, "most bytes to the device, as a multiple of the inputs'"),
    "operators": Limit(TORCH, "most operators of PyTorch that one call may run"),
    "products": Limit(TORCH, "the dtype of every matrix product and convolution"),
    "channels_last": Limit(TORCH, "how many convolutions may get another layout"),
    "memory": Limit(TORCH, "most bytes alive at once, as a multiple of the inputs'"),
}


def validated(name: str, room: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """The limits of an exercise. Raises ValueError for one that its room lacks."""
    for key in limits:
        known = LIMITS.get(key)
        if known is not None and known.room == room:
            continue
        mine = [k for k, limit in LIMITS.items() if limit.room == room]
        close = get_close_matches(key, mine, 1)
        meant = f'; did you mean "{close[0]}"?' if close else ""
        has = ", ".join(mine) or "none"
        what = f"is a limit of {known.room}" if known else "is no limit"
        raise ValueError(
            f'check({name}, ...): "{key}" {what}{meant} The limits of {room}: {has}.'
        )
    if "otherwise" in limits:
        validated(name, room, limits["otherwise"])
    return dict(limits)
