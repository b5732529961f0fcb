"""Work in flight between ranks: messages, and the results and costs of collectives."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from weft.places import Place

Tensor = torch.Tensor
Outcome = tuple[list[Tensor | None], int, int]  # results, steps, bytes sent per rank


def blank(tensor: Tensor) -> None:
    """Overwrite a tensor with NaN or its type's lowest number before its data arrive.

    A Boolean tensor is not changed.
    """
    with torch.no_grad():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.fill_(float("nan"))
        elif tensor.dtype != torch.bool:
            tensor.fill_(torch.iinfo(tensor.dtype).min)


def size_of(tensor: Tensor) -> int:
    """Return the total size of a tensor's elements, in bytes."""
    return tensor.numel() * tensor.element_size()


@dataclass(eq=False)
class Work:
    """The handle that `isend`, `irecv` and asynchronous collectives return.

    pause: lets other ranks run until the work is over. call: the function's name, such
    as "isend". posted: the rank's clock at the call. done: when the transfer ends, or
    None until it is performed. other: the other side of a message, or the next rank's
    part in a collective; None until all ranks that take part have made their calls.
    kept: a copy of a sender's tensor at the time of the call, or None. lands:
    destinations, each with the data for it. caller: the learner's line that called the
    function with `place`, or None. name: a variable of the caller that holds the
    tensor, or "". batch: the line that called `batch_isend_irecv`, or None.
    """

    pause: Callable[["Work"], None]
    rank: int
    call: str
    tensor: Tensor
    peers: tuple[int, ...]
    place: Place
    posted: float
    kept: Tensor | None = None
    done: float | None = None
    other: "Work | None" = None
    waited: bool = False
    caller: Place | None = None
    name: str = ""
    batch: Place | None = None
    lands: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def wait(self) -> bool:
        """Wait until the transfer is over and the tensor may be used; return True."""
        self.pause(self)
        return True

    def is_completed(self) -> bool:
        """Return whether the transfer is over."""
        return self.done is not None

    @property
    def sends(self) -> bool:
        return self.call in ("send", "isend")

    @property
    def receives(self) -> bool:
        return self.call in ("recv", "irecv")

    def land(self) -> None:
        """Copy the tensors that have arrived to their destinations."""
        with torch.no_grad():
            for into, arrived in self.lands:
                into.copy_(arrived.view(into.shape))
        self.lands.clear()

    def changed(self) -> bool:
        """Return whether a sender has changed its tensor since the call."""
        return self.kept is not None and not torch.equal(
            self.tensor.detach().nan_to_num(), self.kept.nan_to_num()
        )


@dataclass(frozen=True)
class Transfer:
    """A message that has arrived: source and target rank, bytes, and times."""

    source: int
    target: int
    nbytes: int
    start: float
    end: float


@dataclass(frozen=True)
class Collective:
    """One rank's call to a collective: its name, and what all ranks must agree on."""

    call: str
    agreed: tuple[Any, ...]
    work: Work
    give: Tensor
    take: Tensor


def reduced(parts: list[Tensor], op: str) -> Tensor:
    """Combine the ranks' tensors by `op`: "sum", "avg", "max", "min" or "product"."""
    stack = torch.stack([part.reshape(-1) for part in parts])
    if op == "avg":
        return stack.sum(0) / len(parts)
    if op == "product":
        return stack.prod(0)
    if op == "max":
        return stack.amax(0)
    return stack.amin(0) if op == "min" else stack.sum(0)


def combine(calls: list[Collective]) -> Outcome:
    """Execute a collective.

    Returns the ranks' results, the number of steps, and the bytes that a rank sends.
    These costs are those of a ring of p ranks: each sends (p - 1) / p of a tensor once,
    twice for an all-reduce, or the whole tensor once for a broadcast.
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
