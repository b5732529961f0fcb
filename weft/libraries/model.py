"""A model of a GPU and its libraries: memory, opaque objects, and what was called."""

import contextlib
import ctypes
import os
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np
import torch

from weft.libraries.convolutions import Tensor
from weft.libraries.device_memory import DTYPES, DeviceArray, DeviceMemory
from weft.libraries.enumerations import CudaType, PointerMode
from weft.libraries.faults import Fault, ModelFault
from weft.libraries.objects import Objects
from weft.libraries.products import SCALARS, Matrix
from weft.libraries.prototypes import FUNCTIONS
from weft.libraries.shared_library import ModelLibrary
from weft.places import Note, Place


@dataclass(frozen=True)
class Call:
    """One call that did work: the function of C, its scalars, its stream."""

    symbol: str
    scalars: tuple[float, float]
    held: tuple[bytes, bytes]  # what was there, in 8 bytes; b"" on the device
    scale: CudaType
    stream: int
    places: tuple[Note, ...]
    refused: str = ""  # what the library said where it refused
    matrices: tuple[Matrix, ...] = ()  # as the library takes them
    tensors: tuple[tuple[str, int, Tensor], ...] = ()  # the same of cuDNN: name, where


@dataclass
class Model:
    """One device and the libraries on it.

    strict: whether faults are kept for a verdict. code: the learner's function, whose
    lines verdicts name. stream: on which the data of this run are made.
    """

    strict: bool = True
    code: CodeType | None = None
    lines: list[str] = field(default_factory=list)
    stream: int = 0

    def __post_init__(self) -> None:
        self.memory = DeviceMemory()
        self.objects = Objects(self.refuse, self.here)
        self.faults: list[Fault] = []
        self.calls: list[Call] = []
        self.refusals: list[str] = []
        self.ignored: list[str] = []  # what a library takes no notice of, and why
        self.printed: list[str] = []  # what the library writes to the terminal
        self.fail_next: dict[str, int] = {}  # symbol → the status it will return
        self.libraries: dict[str, ModelLibrary] = {}

    def add(self, name: str, library: Any) -> None:
        """Let the device have a library, whose methods are its functions."""
        bodies = {each: getattr(library, each) for each in FUNCTIONS[name]}
        self.libraries[name] = ModelLibrary(name, FUNCTIONS[name], bodies, self.refuse)

    def place(self, tensor: torch.Tensor, name: str = "") -> DeviceArray:
        """Put a tensor into device memory."""
        return self.memory.place(tensor, name)

    # What is wrong

    def refuse(self, fault: Fault) -> None:
        """Keep a fault, and end the call that made it."""
        if not fault.places:
            fault = Fault(
                fault.kind, fault.message, fault.why, self.here(), fault.headline
            )
        self.faults.append(fault)
        raise ModelFault(fault)

    def computed(self, symbol: str, stream: int) -> None:
        """Note a call that did work and has no scalars."""
        nothing = (1.0, 0.0), (b"", b""), CudaType.R_32F
        self.calls.append(Call(symbol, *nothing, stream, self.here()))

    def here(self) -> tuple[Note, ...]:
        """The line of the learner's function that is running."""
        frame = sys._getframe(1)
        while frame is not None and frame.f_code is not self.code:
            frame = frame.f_back  # type: ignore[assignment]
        if frame is None or self.code is None:
            return ()
        offset = frame.f_lineno - self.code.co_firstlineno
        text = self.lines[offset].strip() if 0 <= offset < len(self.lines) else ""
        return ((Place(self.code.co_name, frame.f_lineno, text), ""),)

    def said(self, library: str, line: str) -> None:
        """Let the library say something, as NVIDIA's prints it."""
        self.libraries[library].said = line

    # The host's memory

    def read(self, address: int, count: int, parameter: str) -> bytes:
        """Read the host's memory for a parameter; refuse a wrong address."""
        if self.memory.find(address):
            buffer = self.memory.find(address)
            assert buffer is not None
            self.refuse(
                Fault(
                    "pointer",
                    f"{parameter} is an address on the device, in {buffer[0].name}. "
                    "The library reads it on the host.",
                    "A GPU's address means nothing to the CPU: the program would crash "
                    "here. For scalars, the handle's pointer mode says where they are.",
                )
            )
        try:
            return peek(address, count)
        except BadAddressError:
            self.refuse(self._nowhere(address, parameter))
            raise

    def write(self, address: int, data: bytes, parameter: str) -> None:
        """Write the host's memory for a parameter; refuse a wrong address."""
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

    def scalar(self, address: int, kind: CudaType, mode: int, parameter: str) -> float:
        """Read alpha or beta from where the pointer mode says it is."""
        dtype = np.dtype(SCALARS[kind])
        if mode == PointerMode.HOST:
            data = self.read(address, dtype.itemsize, parameter)
            return float(np.frombuffer(data, dtype)[0])
        self.span(Matrix(parameter, address, kind, 1, 1, 1))
        return float(self.view(Matrix(parameter, address, kind, 1, 1, 1))[0, 0])

    def around(self, address: int, mode: int) -> bytes:
        """The 8 bytes at a scalar on the host, for a verdict; fewer at an end."""
        if mode != PointerMode.HOST:
            return b""
        for count in (8, 4, 2):
            with contextlib.suppress(BadAddressError):
                return peek(address, count)
        return b""

    # The device's memory

    def span(self, matrix: Matrix) -> None:
        """Refuse a matrix that is not wholly inside one buffer of the device."""
        if not matrix.elements:
            return
        found = self.memory.find(matrix.address)
        if found is None:
            self.refuse(self._not_on_device(matrix))
            return
        buffer, offset = found
        size = DTYPES[matrix.kind].itemsize
        end = offset + matrix.elements * size
        if offset >= 0 and end <= buffer.nbytes:
            return
        lines, length = matrix.lines
        line = "row" if matrix.row_major else "column"
        self.refuse(
            Fault(
                "device-bounds",
                f"{matrix.parameter}, at the address of {buffer.name}, is taken for "
                f"{matrix.rows} × {matrix.cols} elements of {size} bytes with leading "
                f"dimension {matrix.ld}. Its last {line} ends at byte {end:,}, and "
                f"{buffer.name} has {buffer.nbytes:,} bytes"
                + (f" (the address is {offset:,} bytes on)." if offset else "."),
                f"({lines} − 1) × {matrix.ld} + {length} elements from the address on. "
                "A GPU would read or overwrite what comes after, mostly in silence. "
                "Compare the sizes and the leading dimension with how the array is "
                "stored.",
            )
        )

    def _not_on_device(self, matrix: Matrix) -> Fault:
        """What is wrong with an address that is in no buffer of the device."""
        cut = self.memory.cut_off(matrix.address)
        if cut is not None and matrix.address:
            return Fault(
                "prototype",
                f"{matrix.parameter} arrives as {matrix.address:#x}, and {cut.name} is "
                f"at {cut.address:#x}: the upper half of the address is missing.",
                "Without `argtypes`, ctypes passes a Python integer as a C int, which "
                "has 32 bits.",
            )
        shown = "null" if matrix.address == 0 else f"{matrix.address:#x}"
        why = "Matrices are passed by their address on the device: `x.data_ptr()`."
        if matrix.parameter in ("alpha", "beta"):
            why = "The pointer mode is DEVICE, so scalars are read on the device too."
        return Fault(
            "pointer",
            f"{matrix.parameter} is the address {shown}, which is not in device "
            "memory.",
            why,
        )

    def view(self, matrix: Matrix) -> torch.Tensor:
        """The elements of a matrix that is inside its buffer, (rows, cols), not copied.

        Refuses an address between two elements.
        """
        found = self.memory.find(matrix.address)
        assert found is not None
        buffer, offset = found
        dtype = DTYPES[matrix.kind]
        if offset % dtype.itemsize:
            self.refuse(
                Fault(
                    "device-bounds",
                    f"{matrix.parameter} begins at byte {offset} of {buffer.name}, "
                    f"which is no multiple of its elements' {dtype.itemsize} bytes.",
                    "Strides count elements, addresses count bytes.",
                    headline="an address between two elements",
                )
            )
        steps = (matrix.ld, 1) if matrix.row_major else (1, matrix.ld)
        first = offset // dtype.itemsize
        return torch.empty(0, dtype=dtype).set_(
            buffer.storage, first, (matrix.rows, matrix.cols), steps
        )

    def overlap(self, one: Matrix, others: Iterable[Matrix]) -> Matrix | None:
        """The first of the others whose bytes are partly those of `one`."""

        def reach(m: Matrix) -> tuple[int, int]:
            size = DTYPES[m.kind].itemsize
            return m.address, m.address + m.elements * size

        low, high = reach(one)
        for other in others:
            start, end = reach(other)
            if start < high and low < end:
                return other
        return None


def unpacked(data: bytes) -> int:
    """A little-endian integer of any size."""
    return int.from_bytes(data, "little", signed=True)


def packed(value: int, count: int) -> bytes:
    return struct.pack("<q", value)[:count]


class BadAddressError(Exception):
    """There is no memory of this process at an address."""


_libc = ctypes.CDLL(None, use_errno=True)
_libc.read.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
_libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
_libc.read.restype = _libc.write.restype = ctypes.c_ssize_t


def peek(address: int, count: int) -> bytes:
    """Read `count` bytes, at most 4096. Raises BadAddressError."""
    out, into = os.pipe()
    try:
        if address == 0 or _libc.write(into, address, count) != count:
            raise BadAddressError(f"{address:#x}")
        return os.read(out, count)
    finally:
        os.close(out)
        os.close(into)


def poke(address: int, data: bytes) -> None:
    """Write bytes, at most 4096. Raises BadAddressError."""
    out, into = os.pipe()
    try:
        os.write(into, data)
        if address == 0 or _libc.read(out, address, len(data)) != len(data):
            raise BadAddressError(f"{address:#x}")
    finally:
        os.close(out)
        os.close(into)
