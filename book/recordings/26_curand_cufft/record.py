"""Record random numbers of cuRAND and PyTorch: python record.py numbers.json."""

import json
import sys
from pathlib import Path

import numpy as np
import torch

from weft.libraries import cufft, curand

PLACES = (*range(12), 255, 4096, 65536, 131072, 262143, 262144, 262148, 524288, 1048575)
ORDERINGS = "PSEUDO_DEFAULT", "PSEUDO_LEGACY", "PSEUDO_DYNAMIC", "PSEUDO_BEST"


def words(count: int, ordering: str = "PSEUDO_DEFAULT", offset: int = 0) -> np.ndarray:
    """Return the first words of cuRAND's Philox with seed 42."""
    generator = curand.create_generator(curand.RngType.PSEUDO_PHILOX4_32_10)
    curand.set_pseudo_random_generator_seed(generator, 42)
    curand.set_generator_ordering(generator, curand.Ordering[ordering])
    curand.set_generator_offset(generator, offset)
    out = torch.zeros(count, dtype=torch.int32, device="cuda")
    curand.generate(generator, out.data_ptr(), count)
    torch.cuda.synchronize()
    curand.destroy_generator(generator)
    return out.cpu().numpy().view(np.uint32)


def recorded() -> dict[str, object]:
    """Return numbers at some places: for orderings, offsets, seeds and sizes."""
    found: dict[str, object] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "curand": curand.get_version(),
        "cufft": cufft.get_version(),
        "sms": torch.cuda.get_device_properties(0).multi_processor_count,
    }
    for ordering in ORDERINGS:
        made = words(1 << 20, ordering)
        found[ordering] = {str(i): int(made[i]) for i in PLACES}
    for offset in (1, 4, 5, 1000, 300_000):
        found[f"offset {offset}"] = words(12, offset=offset).tolist()
    for seed in (0, 42, 0x123456789ABCDEF):
        for size in (8, 1000, 300_000, 1_500_000):
            torch.manual_seed(seed)
            made = torch.rand(size, device="cuda").cpu().numpy()
            places = (*range(8), *range(0, size, max(1, size // 8)), size - 1)
            found[f"rand {seed} {size}"] = {str(i): float(made[i]) for i in places}
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(recorded(), indent=1))
