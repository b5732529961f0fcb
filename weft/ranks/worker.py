"""One rank's process: python -m weft.ranks.worker FOLDER RANK BACKEND.

python -m weft.ranks.worker --serve forks a rank for every line of its input, a JSON
object with "folder", "rank", "backend", and the "directory", "environment" and "path"
of the requesting process; it answers with the id of the new process. Ranks then begin
at once, because PyTorch has already been imported. They must not use a GPU, because
CUDA does not survive a fork.
"""

import faulthandler
import json
import os
import pickle
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path
from typing import Any


def main(folder: Path, rank: int, backend: str) -> int:
    """Run a rank's function, store its result in `folder` and return an exit status."""
    if hasattr(signal, "SIGUSR1"):
        faulthandler.register(
            signal.SIGUSR1, file=(folder / f"stack-{rank}").open("w"), all_threads=False
        )
    failed = False
    try:
        result: tuple[str, Any] = "value", run(folder, rank, backend)
    except BaseException as error:  # the parent reports it
        lines = traceback.format_exception(error)
        own = [line for line in lines if __file__ not in line]
        result, failed = ("error", "".join(own)), True
    path = folder / f"part-{rank}"
    path.write_bytes(pickle.dumps(result))
    path.rename(folder / f"result-{rank}")
    return 1 if failed else 0


def run(folder: Path, rank: int, backend: str) -> Any:
    """Initialise the group, call the function on this rank, and return the result."""
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
        distributed.barrier()  # no rank leaves while another still needs it
        return result
    finally:
        distributed.destroy_process_group()


def serve() -> None:
    """Fork a rank for each line of standard input, until the input ends."""
    import torch.distributed  # noqa: F401  what takes long
    from numba import cloudpickle  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ranks that have ended are reaped
    # an interrupt is meant for the notebook, not for this
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if not pid:
            become(**json.loads(line))
        print(pid, flush=True)


def become(
    folder: str,
    rank: int,
    backend: str,
    directory: str,
    environment: dict[str, str],
    path: list[str],
) -> None:
    """Run one rank in the environment of the requesting process, and exit."""
    import numpy as np

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(directory)
    os.environ.update(environment)
    sys.path[:] = path
    np.random.seed()  # otherwise all ranks draw the same numbers
    said = os.open(Path(folder) / f"said-{rank}", os.O_WRONLY | os.O_CREAT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, file in enumerate((nothing, said, said)):
        os.dup2(file, number)
    code = main(Path(folder), rank, backend)
    sys.stdout.flush()
    sys.stderr.flush()
    (Path(folder) / f"ended-{rank}").write_text(str(code))
    os._exit(code)


if __name__ == "__main__":
    if sys.argv[1] == "--serve":
        serve()
    else:
        sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
