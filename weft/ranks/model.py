"""`torch.distributed` as a rank of the model sees it: the module's functions."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

import torch

from weft.places import Place, frame_place
from weft.ranks.words import fault
from weft.ranks.works import Collective, Work, blank
from weft.ranks.world import World

Tensor = torch.Tensor
KNOWN = tuple(
    (
        "get_rank get_world_size is_initialized send recv isend irecv "
        "batch_isend_irecv P2POp all_reduce broadcast "
        "all_gather_into_tensor reduce_scatter_tensor barrier ReduceOp"
    ).split()
)


class Reduction:
    """The operations by which a reduction can combine the numbers of all ranks."""

    SUM, AVG, MAX, MIN, PRODUCT = "sum", "avg", "max", "min", "product"

    def __getattr__(self, name: str) -> NoReturn:
        lacks = f"the model of torch.distributed has no ReduceOp.{name}"
        raise AttributeError(f"{lacks}; it has SUM, AVG, MAX, MIN, PRODUCT")


@dataclass(frozen=True)
class Side:
    """One side of a message, for `batch_isend_irecv`."""

    op: Callable[..., Work]
    tensor: Tensor
    peer: int
    place: Place
    caller: Place | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if getattr(self.op, "__name__", "") not in ("isend", "irecv"):
            raise ValueError(
                "P2POp takes dist.isend or dist.irecv, and does not call it"
            )


class Distributed:
    """The functions of `torch.distributed`, as one rank calls them.

    Tensors have to be contiguous: gloo requires it, and NCCL's results are otherwise
    wrong. Names that the model lacks raise AttributeError, whose message lists those it
    has.
    """

    ReduceOp = Reduction()

    def __init__(self, world: World, rank: int, names: dict[str, Any]) -> None:
        """Bind the functions to a rank. names: the globals of the learner's code."""
        self._world, self._rank, self._names = world, rank, names

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"the model of torch.distributed has no {name}; it has {', '.join(KNOWN)}"
        )

    def get_rank(self) -> int:
        """Return the number of this rank, from 0."""
        return self._rank

    def get_world_size(self) -> int:
        """Return the number of ranks."""
        return self._world.size

    def is_initialized(self) -> bool:
        """Return True: the group of ranks always exists."""
        return True

    # Messages

    def isend(self, tensor: Tensor, dst: int) -> Work:
        """Begin to send a tensor; the caller must wait before changing the tensor."""
        return self._begin("isend", tensor, dst)

    def irecv(self, tensor: Tensor, src: int) -> Work:
        """Begin to receive into a tensor; the caller must wait before reading it."""
        return self._begin("irecv", tensor, src)

    def send(self, tensor: Tensor, dst: int) -> None:
        """Send a tensor; return when the other rank has received it."""
        self._begin("send", tensor, dst).wait()

    def recv(self, tensor: Tensor, src: int) -> int:
        """Receive into a tensor; return the sender's rank."""
        self._begin("recv", tensor, src).wait()
        return src

    def P2POp(self, op: Callable[..., Work], tensor: Tensor, peer: int) -> Side:
        """Describe a transfer that `batch_isend_irecv` should begin."""
        return Side(op, tensor, peer, self._place(), *self._caller(tensor))

    def batch_isend_irecv(self, p2p_op_list: Sequence[Side]) -> list[Work]:
        """Begin several sends and receives as one group; they happen together."""
        if not all(isinstance(one, Side) for one in p2p_op_list):
            raise TypeError(
                "batch_isend_irecv takes a list of dist.P2POp(dist.isend, tensor, to) "
                "and dist.P2POp(dist.irecv, tensor, source)"
            )
        group = [
            self._side(one.op.__name__, one.tensor, one.peer, one.place)
            for one in p2p_op_list
        ]
        place = self._place()
        for work, one in zip(group, p2p_op_list, strict=True):
            work.caller, work.name = one.caller, one.name
            work.batch = place
        self._world.post(group)
        return group

    def _begin(self, call: str, tensor: Tensor, peer: int) -> Work:
        """Begin a transfer as a group of its own."""
        work = self._side(call, tensor, peer, self._place())
        work.caller, work.name = self._caller(tensor)
        self._world.post([work])
        return work

    def _sent_before(self, call: str, tensor: Tensor) -> Work | None:
        """Return this rank's last work if both it and `call` send the same tensor."""
        own = [work for work in self._world.works if work.rank == self._rank]
        if not own or not own[-1].sends or call not in ("send", "isend"):
            return None
        same = own[-1].tensor.data_ptr() == tensor.data_ptr()
        return own[-1] if same and own[-1].tensor.shape == tensor.shape else None

    def _side(self, call: str, tensor: Tensor, peer: int, place: Place) -> Work:
        """Make one side of a message. Raises RankFault for a bad tensor or peer."""
        self._tensor(call, tensor, place)
        if not isinstance(peer, int) or not 0 <= peer < self._world.size:
            below = isinstance(peer, int) and peer < 0  # not a bound that is missing
            if below and (earlier := self._sent_before(call, tensor)):
                told = {"peer": peer, "before": earlier.peers[0]}
                self._refuse("sent-before", place, call=call, **told)
            self._refuse("no-peer", place, call=call, peer=peer)
        if peer == self._rank:
            self._refuse("itself", place, call=call)
        if not tensor.is_contiguous():
            self._refuse("strided", place, call=call)
        kept = tensor.detach().clone() if call in ("send", "isend") else None
        if kept is None:
            blank(tensor)
        world, rank = self._world, self._rank
        posted = world.clock[rank]
        return Work(world.wait, rank, call, tensor, (peer,), place, posted, kept)

    # Collectives

    def all_reduce(
        self, tensor: Tensor, op: str = Reduction.SUM, async_op: bool = False
    ) -> Work | None:
        """Replace the tensor on every rank with the reduction of all ranks' tensors."""
        return self._join("all_reduce", op, tensor, tensor, async_op)

    def broadcast(
        self, tensor: Tensor, src: int, async_op: bool = False
    ) -> Work | None:
        """Copy the tensor of rank `src` to every rank."""
        return self._join("broadcast", src, tensor, tensor, async_op)

    def all_gather_into_tensor(
        self, output_tensor: Tensor, input_tensor: Tensor, async_op: bool = False
    ) -> Work | None:
        """Concatenate the tensors of all ranks, in the order of the ranks."""
        call = "all_gather_into_tensor"
        self._fit(call, output_tensor, input_tensor)
        return self._join(call, "", input_tensor, output_tensor, async_op)

    def reduce_scatter_tensor(
        self,
        output: Tensor,
        input: Tensor,  # PyTorch's name for it
        op: str = Reduction.SUM,
        async_op: bool = False,
    ) -> Work | None:
        """Reduce the ranks' tensors, and store one part of the result on each rank."""
        call = "reduce_scatter_tensor"
        self._fit(call, input, output)
        return self._join(call, op, input, output, async_op)

    def barrier(self) -> None:
        """Wait until every rank has called `barrier`."""
        nothing = torch.empty(0)
        self._join("barrier", "", nothing, nothing, False)

    def _fit(self, call: str, whole: Tensor, part: Tensor) -> None:
        place = self._place()
        for tensor in (whole, part):
            self._tensor(call, tensor, place)
        if whole.numel() != part.numel() * self._world.size:
            numbers = {"part": part.numel(), "whole": whole.numel()}
            self._refuse("parts", place, call=call, **numbers)

    def _join(
        self, call: str, what: Any, give: Tensor, take: Tensor, later: bool
    ) -> Work | None:
        """Take part in a collective that sends `give` and fills `take`.

        what: the operation or the source rank, on which all ranks have to agree.
        Returns the handle of an asynchronous collective if `later`, or else None.
        """
        place, world = self._place(), self._world
        self._tensor(call, give, place)
        if not (give.is_contiguous() and take.is_contiguous()):
            self._refuse("not-contiguous", place, call=call)
        dtype = str(give.dtype).removeprefix("torch.")
        agreed = call, what, f"{give.numel():,} numbers of {dtype}"
        posted = world.clock[self._rank]
        work = Work(world.wait, self._rank, call, take, (), place, posted)
        kept = give.detach().clone()
        blank(take)
        world.join(Collective(call, agreed, work, kept, take))
        if later:
            return work
        work.wait()
        return None

    # Refusals

    def _tensor(self, call: str, tensor: Any, place: Place) -> None:
        if isinstance(tensor, torch.Tensor):
            return
        kind = type(tensor).__name__
        a = "an" if kind[0] in "aeiou" else "a"
        self._refuse("no-tensor", place, call=call, a=a, type=kind)

    def _refuse(self, row: str, place: Place, **told: Any) -> NoReturn:
        size = self._world.size
        told |= {"rank": self._rank, "ranks": size, "last": size - 1}
        raise fault(row, [(place, "")], **told)

    def _place(self) -> Place:
        """Return the learner's line that makes the current call."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals is not self._names:
            frame = frame.f_back
        return Place("", 0) if frame is None else frame_place(frame, lines_of(frame))

    def _caller(self, tensor: Tensor) -> tuple[Place | None, str]:
        """Return the line that called the learner's helper, and the tensor's name.

        The line is None if the exercise's own function makes the current call. The name
        is that of a local variable that holds the tensor where the line is, or "".
        """
        frame: FrameType | None = sys._getframe(1)
        frames = []
        while frame is not None:
            if frame.f_globals is self._names and frame.f_code.co_name[0] != "<":
                frames.append(frame)
            frame = frame.f_back
        if not frames:
            return None, ""
        last = frames[-1]
        place = frame_place(last, lines_of(last)) if len(frames) > 1 else None
        names = [name for name, value in last.f_locals.items() if value is tensor]
        return place, names[0] if len(names) == 1 else ""


def lines_of(frame: FrameType) -> dict[int, str]:
    """Return the lines of the file whose code a frame runs, by line number."""
    import linecache

    lines = linecache.getlines(frame.f_code.co_filename)
    return dict(enumerate(map(str.rstrip, lines), 1))
