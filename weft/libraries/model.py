"""A model of a GPU and its libraries: memory, opaque objects, and a record of calls."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import CodeType
from typing import Any, ClassVar, NamedTuple, NoReturn

import numpy as np
import torch

from weft.libraries.convolutions import Tensor
from weft.libraries.device_memory import (
    DTYPES,
    DeviceArray,
    DeviceMemory,
    covered,
    reach,
)
from weft.libraries.faults import Fault, ModelFault, Refusal, cut_off
from weft.libraries.headers import HEADERS, TYPES, CudaType, Prototype, cublas
from weft.libraries.lent import Lent
from weft.libraries.objects import Objects
from weft.libraries.products import SCALARS, Matrix
from weft.libraries.shared_library import ModelLibrary
from weft.places import Note, Place
from weft.wording import capital


@dataclass(frozen=True)
class Call:
    """One call that computed something: the C function, its scalars and its stream."""

    symbol: str
    stream: int
    places: tuple[Note, ...]
    scalars: tuple[float, float] = (1.0, 0.0)
    # the 8 bytes at each scalar's address; empty on the device
    held: tuple[bytes, bytes] = (b"", b"")
    scale: IntEnum = CudaType.R_32F
    matrices: tuple[Matrix, ...] = ()  # as the library reads them
    # for cuDNN: name, address, description
    tensors: tuple[tuple[str, int, Tensor], ...] = ()
    # the arguments of a matrix product
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Model:
    """One device and the libraries on it.

    code: the code of the learner's function, for the lines in verdicts. lines: the
    function's source. stream: the stream on which the data of this run are made.
    """

    code: CodeType | None = None
    lines: list[str] = field(default_factory=list)
    stream: int = 0

    def __post_init__(self) -> None:
        self.memory = DeviceMemory()
        self.objects = Objects(self.refuse, self.here)
        self.faults: list[Fault] = []
        self.calls: list[Call] = []
        self.refusals: list[str] = []
        self.ignored: list[str] = []  # what a library silently ignores, and why
        self.printed: list[str] = []  # what the library writes to the terminal
        self.fail_next: dict[str, int] = {}  # symbol → the status to return next
        self.libraries: dict[str, Library] = {}
        self.lent = Lent()
        self.failed_at: tuple[Note, ...] = ()  # where a function has reported an error

    def place(self, tensor: torch.Tensor, name: str = "") -> DeviceArray:
        """Copy a tensor into device memory."""
        return self.memory.place(tensor, name)

    # Faults, and calls

    def refuse(self, fault: Fault) -> NoReturn:
        """Record a fault, and end the call that caused it. Raises `ModelFault`."""
        if not fault.places:
            fault = Fault(
                fault.kind, fault.message, fault.why, self.here(), fault.headline
            )
        self.faults.append(fault)
        raise ModelFault(fault)

    def lacks(self, what: str, instead: str = "") -> NoReturn:
        """End a call whose result on a GPU is unknown to the model.

        what: what the model lacks. instead: a sentence on what to use instead.
        """
        self.refuse(
            Fault("lacking", f"The model lacks {what}.", f"{UNKNOWN} {instead}")
        )

    def known(self, what: str, kind: Any, number: int) -> Any:
        """Return the member of the enumeration `kind` with the value `number`.

        If there is none, ends the call with `lacks`, because NVIDIA's library may know
        the number.
        """
        if number not in list(kind):
            others = [e for e in (cublas.ComputeType, CudaType) if number in list(e)]
            meant = f"`{others[0].__name__}.{others[0](number).name}`" if others else ""
            has = f"{meant} has this number. Which one belongs there?" if meant else ""
            self.lacks(f"the {what} {number}", has)
        return kind(number)

    def computed(self, symbol: str, stream: int, tensors: Any = ()) -> None:
        """Record a call that computed something and has no scalars."""
        self.calls.append(Call(symbol, stream, self.here(), tensors=tensors))

    def scaled(
        self, a: Any, scale: IntEnum, mode: int, stream: int, **operands: Any
    ) -> tuple[float, float]:
        """Record a call that scales with alpha and beta, and return both scalars.

        a: the call's arguments. scale: the scalars' type. mode: the pointer mode.
        """
        pairs = [("alpha", a.alpha), ("beta", a.beta)]
        alpha, beta = (self.scalar(at, scale, mode, name) for name, at in pairs)
        seen = self.around(a.alpha, mode), self.around(a.beta, mode)
        call = a.symbol, stream, self.here(), (alpha, beta), seen, scale
        self.calls.append(Call(*call, **operands, arguments=vars(a)))
        return alpha, beta

    def here(self) -> tuple[Note, ...]:
        """Return the current line of the learner's function.

        Returns () if the function is not running.
        """
        frame = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or self.code is None:
            return ()
        offset = frame.f_lineno - self.code.co_firstlineno
        text = self.lines[offset].strip() if 0 <= offset < len(self.lines) else ""
        return ((Place(self.code.co_name, frame.f_lineno, text), ""),)

    # The host's memory

    def read(self, address: int, count: int, parameter: str) -> bytes:
        """Read `count` bytes on the host for a parameter; refuse an invalid address."""
        if ended := self.lent.ended(address):
            self.refuse(
                Fault(
                    "pointer",
                    f"{parameter} is the address of a {ended} that no longer exists.",
                    "`addressof` gives a number, and a number keeps nothing alive: "
                    "Python has freed the object, and what is at its address now is a "
                    "matter of chance. An object lives as long as a name refers to it.",
                    headline="an address of what no longer exists",
                )
            )
        if found := self.memory.find(address):
            self.refuse(
                Fault(
                    "pointer",
                    f"{parameter} is an address on the device, in {found[0].name}. "
                    "The library reads it on the host.",
                    "A GPU's address means nothing to the CPU: the program would crash "
                    "here. For scalars, the handle's pointer mode says where they are.",
                )
            )
        try:
            return peek(address, count)
        except BadAddressError:
            self.refuse(self._nowhere(address, parameter))

    def write(self, address: int, data: bytes, parameter: str) -> None:
        """Write `data` to a parameter's host address; refuse an invalid address."""
        if self.memory.find(address):
            self.read(address, 1, parameter)
        try:
            poke(address, data)
        except BadAddressError:
            self.refuse(self._nowhere(address, parameter))

    def _nowhere(self, address: int, parameter: str) -> Fault:
        shown = "null" if address == 0 else f"{address:#x}"
        return Fault(
            "pointer",
            f"{parameter} is the address {shown}, where the host has no memory.",
            "The library would crash there. Pass the address of something that exists: "
            "`ctypes.addressof(x)`, or `byref(x)`.",
        )

    def scalar(self, address: int, kind: IntEnum, mode: int, parameter: str) -> float:
        """Read alpha or beta from host or device memory, as the pointer mode says."""
        dtype = np.dtype(SCALARS[kind])
        if mode == cublas.PointerMode.HOST:
            data = self.read(address, dtype.itemsize, parameter)
            return float(np.frombuffer(data, dtype)[0])
        why = "The pointer mode is DEVICE, so scalars are read on the device too."
        return float(self.array(parameter, address, DTYPES[kind], (), why=why))

    def around(self, address: int, mode: int) -> bytes:
        """Return up to 8 bytes that can be read at a scalar's address.

        Returns b"" if there are none, or if the address is not on the host.
        """
        if mode != cublas.PointerMode.HOST:
            return b""
        for count in (8, 4, 2):
            with contextlib.suppress(BadAddressError):
                return peek(address, count)
        return b""

    # The device's memory

    def array(
        self,
        parameter: str,
        address: int,
        dtype: torch.dtype,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        said: str = "",
        why: str = "",
        headline: str = "",
    ) -> torch.Tensor:
        """Return the array at a device address, as a view of its buffer.

        strides: in elements, by default those of an array without gaps. said, why,
        headline: the texts of the fault if the array is not wholly inside one buffer.
        An address between two elements is refused too.
        """
        steps = (
            torch.empty(shape, device="meta").stride() if strides is None else strides
        )
        if not (count := reach(shape, steps)):
            return torch.empty(tuple(shape), dtype=dtype)
        found = self.memory.find(address)
        if found is None:
            self.refuse(self._not_on_device(parameter, address, why))
        (buffer, offset), size = found, dtype.itemsize
        end = offset + count * size
        if offset < 0 or end > buffer.nbytes:
            begins = f" (the address is {offset:,} bytes on)" if offset else ""
            held = buffer.placed.dtype if buffer.placed is not None else dtype
            if held != dtype and held != torch.uint8:
                why = (
                    f"{buffer.name} holds {str(held)[6:]}, and in this call "
                    f"{parameter} has the type {str(dtype)[6:]}. An address carries no "
                    "type."
                )
            said = said or f"is taken for {count:,} elements of {size} bytes"
            self.refuse(
                Fault(
                    "device-bounds",
                    f"{parameter}, at the address of {buffer.name}, {said}. The last "
                    f"of them ends at byte {end:,}, and {buffer.name} has "
                    f"{buffer.nbytes:,} bytes{begins}.",
                    f"{why} A GPU would read or overwrite what comes after the array, "
                    "mostly in silence.".strip(),
                    headline=headline,
                )
            )
        if offset % size:
            self.refuse(
                Fault(
                    "device-bounds",
                    f"{parameter} begins at byte {offset} of {buffer.name}, which is "
                    f"no multiple of its elements' {size} bytes.",
                    "Strides count elements, addresses count bytes.",
                    headline="an address between two elements",
                )
            )
        whole = torch.empty(0, dtype=dtype)
        return whole.set_(buffer.storage, offset // size, tuple(shape), tuple(steps))

    def _not_on_device(self, parameter: str, address: int, why: str) -> Fault:
        """Return the fault for an address that is in no buffer of the device."""
        cut = self.memory.cut_off(address)
        if cut is not None and address:
            return cut_off(parameter, address, cut.name, cut.address)
        shown = "null" if address == 0 else f"{address:#x}"
        return Fault(
            "pointer",
            f"{parameter} is the address {shown}, which is not in device memory.",
            why if parameter in ("alpha", "beta") else ON_DEVICE,
        )

    def matrix(self, m: Matrix) -> torch.Tensor:
        """Return the elements of `m` as a view of shape (batch, rows, cols)."""
        lines, length = m.lines
        many = f"{m.batch} matrices of " if m.batch > 1 else ""
        further = f"({m.batch} − 1) × {m.step} + " if m.batch > 1 else ""
        return self.array(
            m.parameter,
            m.address,
            DTYPES[m.kind],
            (m.batch, m.rows, m.cols),
            (m.step, *((m.ld, 1) if m.row_major else (1, m.ld))),
            f"is taken for {many}{m.rows} × {m.cols} elements of "
            f"{DTYPES[m.kind].itemsize} bytes with leading dimension {m.ld}",
            f"{further}({lines} − 1) × {m.ld} + {length} elements from the address on. "
            "Compare the sizes and the leading dimension with how the array is stored.",
        )

    def apart(self, name: str, out: torch.Tensor, **operands: torch.Tensor) -> None:
        """Refuse a result whose elements overlap an operand, or each other.

        name: the result's name. out, operands: the result and operands, as views.
        """
        mine, names = covered(out), {}
        for buffer in self.memory.buffers:
            names[buffer.storage.data_ptr()] = buffer.name
        start = out.untyped_storage().data_ptr()
        why = (
            "The blocks of a GPU run in any order: one may overwrite what another has "
            "still to read, or has just written."
        )
        if int(mine.sum()) < out.nbytes:
            said = f"The results in {name} share memory with each other."
            self.refuse(Fault("device-bounds", said, why, headline=OVERLAP))
        for operand, view in operands.items():
            same = view.untyped_storage().data_ptr() == start and view.numel()
            if same and (mine & covered(view)).any():
                said = f"{name} shares memory with {operand}: both are in "
                said += f"{names[start]}."
                self.refuse(Fault("input-written", said, why))

    def room(self, what: str, address: int, nbytes: int, needed: int) -> None:
        """Refuse a workspace of `nbytes` bytes that is not wholly in device memory."""
        if (found := self.memory.find(address)) is None:
            self.refuse(
                Fault(
                    "pointer",
                    f"{capital(what)} needs {needed:,} bytes of workspace, and the "
                    f"address that is passed, {address:#x}, is not in device memory.",
                    "The library does not allocate it: the caller does, on the device.",
                )
            )
        buffer, offset = found
        if offset < 0 or offset + nbytes > buffer.nbytes:
            self.refuse(
                Fault(
                    "device-bounds",
                    f"{capital(what)} works in {nbytes:,} bytes from the address that "
                    f"is passed on, and {buffer.name} ends after "
                    f"{buffer.nbytes - offset:,}.",
                    "The library believes what it is told. It would overwrite what "
                    "comes after the workspace.",
                    headline="a workspace that is too small",
                )
            )


OVERLAP = "results that overlap"
UNKNOWN = "This says nothing about NVIDIA's library, but no exercise needs it."
ON_DEVICE = "Arrays are passed by their address on the device: `x.data_ptr()`."


class Kind(NamedTuple):
    """A kind of opaque object: its name, and the state of a new object.

    state: returns that state, given the arguments of the call that makes the object.
    null: the status of a call that gets a null address for such an object.
    """

    what: str
    state: Callable[[Any], Any]
    null: int


class Library:
    """A model of one library: its functions, named as in the binding.

    A method gets the arguments of a call, named as in the header. It returns the value
    that the function returns through a pointer, and raises `Refusal` where the library
    would return a status other than 0. Functions that only make or destroy an object,
    or set or read one of its fields, need no method: tables list them. kinds: the kind
    of object that each function makes. sets, gets: the field that each function sets or
    reads, in the object that its first argument identifies. The second argument of a
    function in `sets` is the new value.
    """

    name: ClassVar[str]
    kinds: ClassVar[Mapping[str, Kind]]
    sets: ClassVar[Mapping[str, str]] = {}
    gets: ClassVar[Mapping[str, str]] = {}
    ends_null: ClassVar[bool] = False  # whether destroying a null address is allowed

    def __init__(self, model: Model) -> None:
        self.model = model
        self.shown = ModelLibrary(HEADERS[self.name], self.answer, model.refuse)
        model.libraries[self.name] = self

    def answer(self, prototype: Prototype, a: Any) -> int:
        """Execute a call with the arguments `a`, and return its status."""
        a.symbol = prototype.symbol.removesuffix("_v2")
        if status := self.model.fail_next.pop(a.symbol, 0):
            self.model.failed_at = self.model.here()
            return status
        try:
            value = self.call(prototype, a)
        except Refusal as refusal:
            return self.refused(refusal)
        if prototype.returns:
            data = bytes(TYPES[prototype.returns](value))
            self.model.write(a.result, data, "the pointer to the result")
        return 0

    def call(self, prototype: Prototype, a: Any) -> Any:
        """Execute a function; return its result. Raises `Refusal` if it is refused."""
        name = prototype.name
        if hasattr(self, name):
            return getattr(self, name)(a)
        if name in self.kinds:
            return self.make(name, a)
        (parameter, first), (_, second), *_ = vars(a).items()
        if kind := self.kinds.get(name.replace("destroy", "create")):
            ended = self.model.objects.destroy(first, kind.what, self.model.here())
            if not (ended or self.ends_null):
                raise Refusal(kind.null)
            return None
        if name in self.sets:
            return setattr(self.held(first, parameter), self.sets[name], second)
        return getattr(self.held(first, parameter), self.gets[name])

    def make(self, maker: str, a: Any) -> int:
        """Create an object of the kind that `maker` makes, and return its address."""
        kind = self.kinds[maker]
        return self.model.objects.create(kind.what, kind.state(a), self.model.here())

    def held(self, address: int, parameter: str = "handle", maker: str = "") -> Any:
        """Return the state of an object. Raises `Refusal` for a null address.

        maker: the function that makes this kind of object, by default the first in
        `kinds`.
        """
        kind = self.kinds[maker or next(iter(self.kinds))]
        state = self.model.objects.get(address, kind.what, parameter)
        if state is None:
            raise Refusal(kind.null, f"{parameter} is null.")
        return state

    def refused(self, refusal: Refusal) -> int:
        """Record why a call is refused, and return the status."""
        if refusal.reason:
            self.model.refusals.append(refusal.reason)
            self.shown.said = refusal.reason
        return refusal.status


class BadAddressError(Exception):
    """Raised for an address at which this process has no memory."""


_libc = ctypes.CDLL(None, use_errno=True)
_libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
_libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
_libc.read.restype = _libc.write.restype = ctypes.c_ssize_t


@contextlib.contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    """Open a pipe; yield the end to read from and the end to write into."""
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


def peek(address: int, count: int) -> bytes:
    """Read `count` bytes, at most 4096. Raises BadAddressError for a bad address."""
    with pipe() as (out, into):
        if address == 0 or _libc.write(into, address, count) != count:
            raise BadAddressError(f"{address:#x}")
        return os.read(out, count)


def poke(address: int, data: bytes) -> None:
    """Write `data`, at most 4096 bytes. Raises BadAddressError for a bad address."""
    with pipe() as (out, into):
        os.write(into, data)
        if address == 0 or _libc.read(out, address, len(data)) != len(data):
            raise BadAddressError(f"{address:#x}")
