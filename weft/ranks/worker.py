"""One rank's process: python -m weft.ranks.worker FOLDER RANK BACKEND."""

import faulthandler
import pickle
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any


def main() -> int:
    """Join the others, run the function, leave its result in the folder."""
    folder, rank, backend = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(
            signal.SIGUSR1, file=(folder / f"stack-{rank}").open("w"), all_threads=False
        )
    failed = False
    try:
        result: tuple[str, Any] = "value", run(folder, rank, backend)
    except BaseException as error:  # the parent says it
        lines = traceback.format_exception(error)
        own = [line for line in lines if __file__ not in line]
        result, failed = ("error", "".join(own)), True
    path = folder / f"part-{rank}"
    path.write_bytes(pickle.dumps(result))
    path.rename(folder / f"result-{rank}")
    return 1 if failed else 0


def run(folder: Path, rank: int, backend: str) -> Any:
    """Make the group and call the function with it."""
    import torch
    from torch import distributed

    function, given = pickle.loads((folder / "work").read_bytes())
    device = torch.device("cuda", rank) if backend == "nccl" else None
    if device is not None:
        torch.cuda.set_device(device)
    distributed.init_process_group(
        backend,
        store=distributed.FileStore(  # type: ignore[attr-defined]
            str(folder / "store"), len(given)
        ),
        rank=rank,
        world_size=len(given),
        timeout=timedelta(minutes=30),  # the parent ends a rank that hangs
        device_id=device,
    )
    try:
        result = function(distributed, *given[rank])
        distributed.barrier()  # nobody leaves while another still needs it
        return result
    finally:
        distributed.destroy_process_group()


if __name__ == "__main__":
    sys.exit(main())
