"""Launch kernels of lab 12 once: python programs.py [n], for ncu to watch.

n elements are read or written, or as many structs changed.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from profiled import lab, watched  # noqa: E402

WANTED = (  # of the lab
    *("strided_read", "shifted_read", "strided_write", "move_struct", "gather"),
    *("past_table", "load4", "store4", "load4_cs", "store4_cs"),
    *("lookups", "TABLE", "fetching"),
)


def launches(n: int) -> dict[str, Callable[[], Any]]:
    """Return the launches, in an array of 64 n elements."""
    of = lab(HERE.name, *WANTED)
    import numpy as np
    import torch
    from numba import cuda

    array = cuda.as_cuda_array
    big = torch.rand(64 * n, device="cuda")
    small = torch.rand(n, device="cuda")
    x, out, grid = array(big), array(small), (n // 1024, 256)
    torch.manual_seed(12)
    draw = torch.randint(64 * n, (n,), dtype=torch.int32, device="cuda")
    anywhere = array(draw)
    step = np.float32(0.5)

    def read(s: int) -> None:
        of.strided_read[grid](x, s, out)

    def gather() -> None:
        of.gather[grid](x, anywhere, out)

    def at(size: int, launch: Callable[..., None], *given: int) -> Callable[[], Any]:
        def fetch_and_launch() -> None:
            of.fetching(size)
            launch(*given)

        return fetch_and_launch

    found = {f"read {s}": at(64, read, s) for s in (1, 8, 16, 32)}
    found["offset 1"] = lambda: of.shifted_read[grid](x, 1, out)
    found["random"] = gather
    for s in (8, 16, 32):
        found[f"write {s}"] = lambda s=s: of.strided_write[grid](out, s, x)
    for fields in (4, 8):
        structs = array(big[: fields * n].view(n, fields))
        found[f"struct of {fields}"] = lambda p=structs: of.move_struct[grid](p, step)

    stream, end, table = big[: 16 * n], big[16 * n : 32 * n], big[-(2 * n) :]
    passed = array(stream), array(table), array(end)
    for name, load, store in (
        ("no hint", of.load4, of.store4),
        ("cs", of.load4_cs, of.store4_cs),
    ):
        kernel = of.past_table(load, store)
        found[name] = lambda f=kernel: f[16 * n // 512, 128](*passed)

    entries = cuda.to_device(of.TABLE)
    for name, spread in (("same", 0), ("own", 1)):
        _, _, shared = of.lookups(spread)
        found[f"shared, {name}"] = lambda f=shared: f[n // 256, 256](entries, out)

    for s in (16, 32):
        found[f"read {s}, fetching 32"] = at(32, read, s)
    found["random, fetching 32"] = at(32, gather)
    return found


if __name__ == "__main__":
    watched(launches(int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 22))
