"""What each collective does, and what it costs: as NCCL's rings would do it."""

import torch

from weft.ranks.works import Collective, size_of

Tensor = torch.Tensor
Outcome = tuple[list[Tensor | None], int, int]  # results, steps, bytes sent per rank


def reduced(parts: list[Tensor], op: str) -> Tensor:
    """Combine one tensor of every rank: "sum", "avg", "max", "min" or "product"."""
    stack = torch.stack([part.reshape(-1) for part in parts])
    if op == "avg":
        return stack.sum(0) / len(parts)
    if op == "product":
        return stack.prod(0)
    if op == "max":
        return stack.amax(0)
    return stack.amin(0) if op == "min" else stack.sum(0)


def combine(calls: list[Collective]) -> Outcome:
    """Do a collective: what each rank gets, in how many steps, with how many bytes.

    The costs are those of a ring: each rank sends (p - 1) / p of a tensor once, for an
    all-reduce twice.
    """
    size, name = len(calls), calls[0].call
    gives = [call.give for call in calls]
    steps = size - 1
    if name == "all_reduce":
        total = reduced(gives, calls[0].agreed[1])
        sent = 2 * steps * size_of(total) // size
        return [total.clone() for _ in calls], 2 * steps, sent
    if name == "reduce_scatter_tensor":
        total = reduced(gives, calls[0].agreed[1])
        parts = [part.clone() for part in total.chunk(size)]
        return list(parts), steps, steps * size_of(total) // size
    if name == "all_gather_into_tensor":
        whole = torch.cat([give.reshape(-1) for give in gives])
        return [whole.clone() for _ in calls], steps, steps * size_of(gives[0])
    if name == "broadcast":
        source = calls[0].agreed[1]
        sent = size_of(gives[source]) * (size > 1)
        return [gives[source].clone() for _ in calls], steps, sent
    return [None] * size, steps, 0  # a barrier
