"""Record what a call requires of the host, the bus and the GPU.

A dispatch mode sees every operator, a function mode every call from Python. Together
they show when the host has to wait, what crosses the bus, how many operators are
called, in which dtype and layout products are computed, and how many bytes are
allocated. None of this needs a GPU: without one, `torch.device("cpu", 0)` stands for
the device.
"""

import linecache
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any
from unittest import mock

import torch
from torch.multiprocessing import reductions
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes
from torch.utils._pytree import tree_leaves

from weft.places import Place

WeakStorage: Any = reductions.StorageWeakRef

PRODUCTS = frozenset(
    (
        "mm addmm bmm baddbmm convolution convolution_backward mv addmv dot "
        "_scaled_mm linear _scaled_dot_product_flash_attention_for_cpu "
        "_flash_attention_forward _scaled_dot_product_flash_attention "
        "_scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_efficient_attention"
    ).split()
)
NUMBER = "a number is taken out of a tensor"
SHOWN = "a tensor is printed"
SIZE = "the size of the result depends on values"
HOME = "a tensor is copied to the host"
BLOCKING = "the host waits for this copy"
MADE = "made on the host and copied, and the host waits"
ORDINARY = "copied from memory that is not pinned, so the host waits"

WAITS = {  # operators that need a value before the host can go on
    "_local_scalar_dense": NUMBER,
    "equal": NUMBER,
    "allclose": NUMBER,
    "is_nonzero": NUMBER,
    "nonzero": SIZE,
    "masked_select": SIZE,
    "_unique2": SIZE,
    "unique_dim": SIZE,
    "unique_consecutive": SIZE,
    "bincount": SIZE,
}
PRINTED = ("__repr__",)
HOMEWARD = ("cpu", "numpy", "tolist", "__array__")
MAKERS = ("tensor", "as_tensor", "asarray")
MIXED = frozenset(  # operators that take tensors from both sides of the bus
    ["copy_", "_to_copy", "index", "index_put", "index_put_", "_index_put_impl_"]
)


@dataclass(frozen=True)
class Heard:
    """An event on one of the learner's lines: what happened, and an amount, if any."""

    place: Place
    what: str = ""
    amount: int = 0


@dataclass
class Record:
    """The record of one call: what the learner's lines caused, and the memory `peak`.

    waits: each with a note; copies: each with its bytes; operators: each with its name;
    products: each with its dtype; images: for each convolution, which of its images and
    its weights were not channels-last, and the number 1 if both were; untyped: autocast
    entered without a dtype, each with the one that it has by default; unpinned:
    non-blocking copies from memory that is not pinned; attached: results that require a
    gradient; again: whether something is checkpointed; peak: the most bytes
    allocated at once, without the inputs.
    """

    waits: list[Heard] = field(default_factory=list)
    copies: list[Heard] = field(default_factory=list)
    operators: list[Heard] = field(default_factory=list)
    products: list[Heard] = field(default_factory=list)
    images: list[Heard] = field(default_factory=list)
    untyped: list[Heard] = field(default_factory=list)
    unpinned: list[Heard] = field(default_factory=list)
    attached: list[Heard] = field(default_factory=list)
    again: bool = False
    peak: int = 0


@contextmanager
def listening(
    main: Any, near: list[Any], device: torch.device, pinned: Iterable[Any] = ()
) -> Iterator[Record]:
    """Record what happens in a `with` block; yield the record.

    main: the learner's function. near: tensors already on the device. device: the GPU,
    or its stand-in. pinned: tensors in pinned host memory.
    """
    ear = _Ear(main, device)
    for tensor in near:
        ear.keep(tensor, near=True, counted=False)
    for tensor in pinned:
        ear.keep(tensor, near=False, counted=False)
        ear.hosts[tensor.untyped_storage()._cdata] = True
    with _autocast_of_a_gpu(ear), _Operators(ear), _Functions(ear):
        yield ear.record


@contextmanager
def _autocast_of_a_gpu(ear: "_Ear") -> Iterator[None]:
    """Give autocast the dtype that it has by default on a GPU, and record such uses."""
    begin: Any = torch.autocast.__init__

    def init(
        this: Any, device_type: str, dtype: Any = None, *more: Any, **kwargs: Any
    ) -> None:
        enabled = more[0] if more else kwargs.get("enabled", True)
        if dtype is None and enabled and device_type == ear.device.type:
            dtype = torch.get_autocast_dtype("cuda")
            if (place := ear.line()) is not None:
                what = str(dtype).removeprefix("torch.")
                ear.record.untyped.append(Heard(place, what))
        begin(this, device_type, dtype, *more, **kwargs)

    with mock.patch.object(torch.autocast, "__init__", init):
        yield


class _Ear:
    """Keeps the record, and knows which storages are alive and where they are."""

    def __init__(self, main: Any, device: torch.device) -> None:
        self.record, self.device = Record(), device
        self.record.again = "checkpoint" in main.__code__.co_names
        self.code, self.names = main.__code__, main.__globals__
        self.thread = threading.get_ident()
        self.alive: dict[int, tuple[Any, int, bool]] = {}
        # storages of the host: whether they are pinned
        self.hosts: dict[int, bool] = {}

    def line(self) -> Place | None:
        """Return the learner's line that is running, or None.

        On a GPU, a backward pass runs in a thread of its own: the line is then the one
        on which the learner's thread waits for it.
        """
        frame: FrameType | None = sys._getframe(1)
        if threading.get_ident() != self.thread:
            frame = sys._current_frames().get(self.thread)
        while frame is not None:
            code = frame.f_code
            if code.co_filename == self.code.co_filename:
                if frame.f_globals is self.names:
                    text = linecache.getline(code.co_filename, frame.f_lineno).strip()
                    return Place(code.co_name, frame.f_lineno, text)
            elif code is torch.nn.Module.to.__code__:
                return None  # a model that moves once, before training
            frame = frame.f_back
        return None

    def keep(self, tensor: Any, near: bool, counted: bool = True) -> None:
        """Record a tensor's storage, with its size in bytes if `counted`.

        near: whether it is on the device.
        """
        if not isinstance(tensor, torch.Tensor) or tensor.is_sparse:
            return
        storage = tensor.untyped_storage()
        size = storage.nbytes() if counted else 0
        if (known := self.alive.get(storage._cdata)) is not None:
            size, near = known[1], near or known[2]
        self.alive[storage._cdata] = (WeakStorage(storage), size, near)

    def is_near(self, tensor: Any) -> bool:
        """Return whether a tensor is on the device."""
        if not isinstance(tensor, torch.Tensor):
            return False
        if tensor.device.type != "cpu" or tensor.requires_grad:  # so is a parameter
            return True
        known = self.alive.get(tensor.untyped_storage()._cdata)
        return known is not None and known[2]

    def of_host(self, tensor: Any) -> bool:
        """Return whether a tensor is known to be in host memory."""
        known = isinstance(tensor, torch.Tensor) and not tensor.is_sparse
        return known and tensor.untyped_storage()._cdata in self.hosts

    def stays(self, tensor: Any) -> None:
        """Record that the host has made a tensor.

        Its memory counts as not pinned, unless it is already known to be pinned.
        """
        if isinstance(tensor, torch.Tensor) and not tensor.is_sparse:
            self.hosts.setdefault(tensor.untyped_storage()._cdata, False)

    def count(self) -> None:
        """Forget freed storages, and update the peak with the bytes of the others."""
        for key in [k for k, (ref, _, _) in self.alive.items() if ref.expired()]:
            del self.alive[key]
            self.hosts.pop(key, None)
        total = sum(size for _, size, _ in self.alive.values())
        self.record.peak = max(self.record.peak, total)

    def is_device(self, device: Any) -> bool:
        """Return whether an argument names the device rather than the host."""
        if device is None:
            return False
        named = torch.device(device)
        if self.device.type == "cpu":
            return named == self.device
        return bool(named.type == self.device.type)

    def copied(
        self,
        place: Place,
        tensor: torch.Tensor,
        blocking: bool,
        dtype: torch.dtype | None = None,
    ) -> None:
        """Record that a tensor is copied to the device, as `dtype` if one is given.

        PyTorch converts on the host and copies the result or, if it does not block,
        copies first and converts on the GPU.
        """
        crosses = dtype if blocking and dtype is not None else tensor.dtype
        size = tensor.numel() * crosses.itemsize
        self.record.copies.append(Heard(place, "", size))
        if blocking:
            self.record.waits.append(Heard(place, BLOCKING))
        elif self.hosts.get(tensor.untyped_storage()._cdata) is False:
            self.record.unpinned.append(Heard(place, ORDINARY))


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees every operator that reaches a kernel, including those of a backward pass."""

    def __init__(self, ear: _Ear) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ear = ear

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator, and record its waits, copies and memory."""
        kwargs = kwargs or {}
        given = tree_leaves((args, kwargs))
        place = self.ear.line()
        if place is not None:
            self.note(function, args, kwargs, given, place)
        near = any(map(self.ear.is_near, given))
        hosts = [v for v in given if self.ear.of_host(v)]
        if near and self.ear.device.type == "cpu":
            refuse_mixed(function.overloadpacket.__name__, hosts)
        out = function(*args, **kwargs)
        near = near or self.ear.is_device(kwargs.get("device"))
        for tensor in tree_leaves(out):
            self.ear.keep(tensor, near)
            if hosts and not near:
                self.ear.stays(tensor)
        self.ear.count()
        return out

    def note(
        self, function: Any, args: Any, kwargs: Any, given: list[Any], place: Place
    ) -> None:
        """Record an operator, and the waits and copies that it causes."""
        ear, record = self.ear, self.ear.record
        name = function.overloadpacket.__name__
        record.operators.append(Heard(place, name))
        tensors = [v for v in given if isinstance(v, torch.Tensor)]
        if name in WAITS or by_mask(name, args):
            if any(map(ear.is_near, tensors)):
                record.waits.append(Heard(place, WAITS.get(name, SIZE)))
        elif name == "_to_copy" and ear.is_device(kwargs.get("device")):
            if not ear.is_near(args[0]):
                blocking = not kwargs.get("non_blocking", False)
                ear.copied(place, args[0], blocking, kwargs.get("dtype"))
        elif name == "_to_copy" and kwargs.get("device") is not None:
            if args[0].device.type != "cpu":  # of a real GPU
                record.waits.append(Heard(place, HOME))
        elif name == "copy_" and ear.is_near(args[0]) and not ear.is_near(args[1]):
            blocking = not (args[2] if len(args) > 2 else False)
            ear.copied(place, args[1], blocking, args[0].dtype)
        if name in PRODUCTS:
            dtype = str(tensors[0].dtype).removeprefix("torch.")
            record.products.append(Heard(place, dtype))
        if name == "convolution":
            other = [
                what
                for what, each in zip(("images", "weights"), tensors, strict=False)
                if each.ndim == 4
                if not each.is_contiguous(memory_format=torch.channels_last)
            ]
            record.images.append(Heard(place, " ".join(other), int(not other)))


class _Functions(TorchFunctionMode):
    """A mode that records the waits and copies that no operator shows."""

    def __init__(self, ear: _Ear) -> None:
        super().__init__()
        self.ear = ear

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a PyTorch function, and record the waits and copies it causes."""
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        place = self.ear.line()
        home = bool(args) and self.homeward(name, args, kwargs)
        if place is not None and home:
            self.ear.record.waits.append(Heard(place, HOME))
        if place is not None and name in PRINTED and self.ear.is_near(args[0]):
            self.ear.record.waits.append(Heard(place, SHOWN))
        if place is not None and name in MAKERS and args:
            numbers = args[0] if isinstance(args[0], list | tuple) else []
            found = sum(map(self.ear.is_near, tree_leaves(numbers)))
            self.ear.record.waits += [Heard(place, NUMBER)] * found
        out = function(*args, **kwargs)
        if home and out is args[0]:  # on a machine with a GPU this would be a copy
            with _disable_current_modes():
                out = out.clone()
            self.ear.keep(out, near=False, counted=False)
            self.ear.stays(out)
        if name in MAKERS and self.ear.is_device(kwargs.get("device")):
            if place is not None and not self.ear.is_near(args[0]):
                self.ear.copied(place, out, blocking=False)
                self.ear.record.waits.append(Heard(place, MADE))
            self.ear.keep(out, near=True)
        return out

    def homeward(self, name: str, args: Any, kwargs: Any) -> bool:
        """Return whether a call copies a tensor from the GPU's stand-in to the host."""
        if not self.ear.is_near(args[0]) or args[0].device.type != "cpu":
            return False
        if name in HOMEWARD:
            return True
        # `y.device` is the host here, though it would not be elsewhere, so only names
        # count
        target = (*args[1:2], kwargs.get("device"))
        return name == "to" and any(each == "cpu" for each in target if is_text(each))


def refuse_mixed(name: str, hosts: list[torch.Tensor]) -> None:
    """Raise PyTorch's error if an operator cannot combine `hosts` with GPU tensors."""
    if name not in MIXED and any(v.ndim for v in hosts):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two "
            "devices, cuda:0 and cpu!"
        )


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def by_mask(name: str, args: Any) -> bool:
    """Return whether an operator indexes with a mask.

    If so, the size of its result depends on the values in the mask.
    """
    if name != "index":
        return False
    kinds = [i.dtype for i in args[1] if i is not None]
    return torch.bool in kinds or torch.uint8 in kinds
