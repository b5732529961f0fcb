"""The lab's functions in real processes, which are prepared at once."""

import torch

import weft
from weft import ranks
from weft.ranks import start_early

start_early()


def run(shift, ring_all_reduce, tree_all_reduce):
    """Run the learner's functions in two processes, and print which are right."""

    def in_a_process(dist):
        """Run the functions on this rank; say which of them are right."""
        rank, p = dist.get_rank(), dist.get_world_size()
        device = "cuda" if dist.get_backend() == "nccl" else "cpu"
        own = torch.arange(5.0, device=device) + rank
        total = own * 0 + sum(torch.arange(5.0) + r for r in range(p)).to(device)
        out = torch.zeros_like(own)
        shift(dist, own, out)
        found = {"shift": bool((out == own - rank + (rank - 1) % p).all())}
        for function in (ring_all_reduce, tree_all_reduce):
            x = own.clone()
            function(dist, x)
            found[function.__name__] = bool((x == total).all())
        return found

    backend = "nccl" if weft.GPU and torch.cuda.device_count() > 1 else "gloo"
    for rank, found in enumerate(ranks.launch(in_a_process, [()] * 2, backend)):
        for name, right in found.items():
            print(f"rank {rank}: {name} is {'right' if right else 'not right yet'}")
