"""What is in flight between ranks: one side of a message, a collective's share."""

from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from weft.places import Place

Tensor = torch.Tensor


def blank(tensor: Tensor) -> None:
    """Fill a tensor with what nobody has sent: NaN, or its type's lowest number."""
    with torch.no_grad():
        if tensor.is_floating_point() or tensor.is_complex():
            tensor.fill_(float("nan"))
        elif tensor.dtype != torch.bool:
            tensor.fill_(torch.iinfo(tensor.dtype).min)


def size_of(tensor: Tensor) -> int:
    """The bytes of a tensor's numbers."""
    return tensor.numel() * tensor.element_size()


class Waiter(Protocol):
    """What lets a rank wait: the model, in which others go on meanwhile."""

    def wait(self, work: "Work") -> None:
        """Return once a transfer is over."""


@dataclass(eq=False)
class Work:
    """What `isend`, `irecv` and asynchronous collectives return.

    call: its name, "isend". posted: the rank's clock at the call. done: when the
    transfer ends, None until it has moved. other: the other side of a message, None as
    long as it is missing. kept: what a sender had in the tensor at the call; of a
    receiver, what has arrived.
    """

    world: Waiter
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
    lands: list[tuple[Tensor, Tensor]] = field(default_factory=list)

    def wait(self) -> bool:
        """Return when the transfer is over and the tensor may be used again."""
        self.world.wait(self)
        return True

    def is_completed(self) -> bool:
        """Whether the transfer is over."""
        return self.done is not None

    @property
    def sends(self) -> bool:
        return self.call in ("send", "isend")

    @property
    def receives(self) -> bool:
        return self.call in ("recv", "irecv")

    def land(self) -> None:
        """Put what has arrived where it was to go."""
        with torch.no_grad():
            for into, arrived in self.lands:
                into.copy_(arrived.view(into.shape))
        self.lands.clear()

    def changed(self) -> bool:
        """Whether a sender has changed its tensor since the call."""
        return self.kept is not None and not torch.equal(
            self.tensor.detach().nan_to_num(), self.kept.nan_to_num()
        )


@dataclass(frozen=True)
class Transfer:
    """A message that has arrived: who sent how many bytes to whom, and when."""

    source: int
    target: int
    nbytes: int
    start: float
    end: float


@dataclass(frozen=True)
class Collective:
    """One rank's call of a collective: its name, and what has to agree among ranks."""

    call: str
    agreed: tuple[Any, ...]
    work: Work
    give: Tensor
    take: Tensor
