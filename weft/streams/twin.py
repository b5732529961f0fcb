"""`cuda` as watched host code sees it: streams, events, copies, launches, the clock.

`Watched` copies a function and replaces its `cuda`, kernels and clocks; the function
itself is unchanged. So host code is checked in the same way with and without a GPU.
"""

import contextlib
import linecache
import math
import re
import sys
import time
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from weft.code_objects import with_globals
from weft.kernels.trial import IDLE, too_large
from weft.meaning import is_kernel, python_function
from weft.places import Note, Place, frame_place
from weft.simulator import record
from weft.simulator.faults import LaunchError
from weft.simulator.launch import parameters
from weft.simulator.limits import configuration
from weft.simulator.trace.trace import GLOBAL, READ
from weft.streams.bench import Arrays
from weft.streams.machine import (
    ASKING,
    LOOKING,
    MS_PER_BYTE,
    PINNING,
    CudaAPIError,
    Machine,
    Mark,
    Region,
    Worker,
)


class HostArray(np.ndarray[Any, Any]):
    """A NumPy array that tells a machine when the host reads or writes it."""

    machine: Machine | None = None

    def __array_finalize__(self, made_from: Any) -> None:
        self.machine = getattr(made_from, "machine", None)

    def _touch(self, value: Any, writes: bool) -> None:
        """Record an access to an array, or to each array in a list or tuple."""
        if isinstance(value, list | tuple):
            for part in value:
                self._touch(part, writes)
        elif self.machine is not None and isinstance(value, np.ndarray):
            self.machine.touch(self.machine.region(value), writes)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, np.ndarray):  # a single element
            self._touch(self._cell(key), False)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        self._touch(value, False)
        target = super().__getitem__(key)
        inside = isinstance(target, np.ndarray) and np.shares_memory(target, self)
        self._touch(target if inside else self._cell(key), True)
        super().__setitem__(key, plain(value))

    def _cell(self, key: Any) -> Any:
        if self.ndim == 1 and isinstance(key, int | np.integer):
            at = int(key) % self.size
            return plain(self)[at : at + 1]
        return self

    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, **more: Any
    ) -> Any:
        return self._called(getattr(ufunc, method), inputs, more)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func in _SHAPES:
            return super().__array_function__(func, types, args, kwargs)
        written = ("out", 0, "dst") if func is np.copyto else ("out",)
        return self._called(func, args, kwargs, written)

    def _called(
        self, function: Any, args: Any, kwargs: Any, written: tuple[Any, ...] = ("out",)
    ) -> Any:
        """Record what a NumPy function reads and writes, and call it.

        written: the positions or names of the arguments that it writes to.
        """
        given = {**dict(enumerate(args)), **kwargs}
        for key in sorted(given, key=written.__contains__):  # reads come first
            self._touch(given[key], key in written)
        return function(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})

    def copy(self, *args: Any, **kwargs: Any) -> Any:
        self._touch(self, False)
        return plain(self).copy(*args, **kwargs)

    def tolist(self) -> Any:
        self._touch(self, False)
        return plain(self).tolist()

    def fill(self, value: Any) -> None:
        self._touch(self, True)
        plain(self).fill(value)


_SHAPES = (np.empty_like, np.shape, np.size, np.ndim, np.array_split, np.split)


def plain(value: Any) -> Any:
    """Return a `HostArray`, or every one inside a list or tuple, as an ordinary array.

    Other values are returned unchanged.
    """
    if type(value) in (list, tuple):
        return type(value)(map(plain, value))
    return value.view(np.ndarray) if isinstance(value, HostArray) else value


def host_array(machine: Machine, data: np.ndarray[Any, Any]) -> HostArray:
    array = data.view(HostArray)
    array.machine = machine
    return array


class Stream:
    """A stream of the model."""

    def __init__(self, machine: Machine, worker: Worker) -> None:
        self._machine, self.worker = machine, worker

    def synchronize(self) -> None:
        self._machine.wait(self.worker)

    @contextlib.contextmanager
    def auto_synchronize(self) -> "Iterator[Stream]":
        yield self
        self.synchronize()

    def __repr__(self) -> str:
        return f"<{self.worker.name}>"


class Event:
    """A point in a stream that the host and other streams can wait for."""

    def __init__(self, machine: Machine, timing: bool = True) -> None:
        self._machine, self._timing = machine, timing
        self._mark: Mark | None = None  # None before it is recorded
        self._waited = 0  # how many times the host had waited when it was recorded
        self._asked = False  # whether a query came before it was done

    def record(self, stream: Any = 0) -> None:
        machine, worker = self._machine, of(self._machine, stream)
        made = machine.mark(worker)
        self._mark = Mark(made.clock, max(made.end, machine.now))
        self._waited, self._asked = machine.waited, False
        if worker is machine.default:
            machine.strays.append((machine.where(), "recorded"))

    def wait(self, stream: Any = 0) -> None:
        """Make a stream wait for the event.

        As in CUDA, waiting for an event that was never recorded has no effect.
        """
        machine, worker = self._machine, of(self._machine, stream)
        if self._mark is not None:
            machine.hold(worker, self._mark)
        if worker is machine.default:
            machine.strays.append((machine.where(), "waited for"))

    def synchronize(self) -> None:
        if self._mark is not None:
            self._machine.wait_until(self._mark, "an event")

    def query(self) -> bool:
        if self._mark is None:
            return True
        done = self._mark.end <= self._machine.now
        if done:  # a host whose earlier query found it unfinished has waited
            self._machine.wait_until(self._mark, "an event" * self._asked)
        else:
            self._machine.host.end += ASKING
            self._asked = True
        return done

    def elapsed_time(self, later: "Event") -> float:
        return later._happened() - self._happened()

    def _happened(self) -> float:
        if self._mark is None:
            raise CudaAPIError("CUDA_ERROR_INVALID_HANDLE: an event was never recorded")
        if not self._timing:
            raise CudaAPIError("CUDA_ERROR_INVALID_HANDLE: made with timing=False")
        waited = self._machine.waited > self._waited
        late = self._mark.end - self._machine.now
        # time may have passed, but nothing guarantees enough
        if late > 0 or not waited:
            raise CudaAPIError(
                "CUDA_ERROR_NOT_READY: an event has not happened yet, and the host has "
                "not waited for it"
            )
        return self._mark.end


class DeviceArray:
    """An array in the device's memory, which the host cannot access."""

    def __init__(
        self, machine: Machine, data: np.ndarray[Any, Any], stream: Any = 0
    ) -> None:
        self._machine, self._data, self.stream = machine, data, stream
        self.shape, self.dtype, self.size = data.shape, data.dtype, data.size
        self.nbytes, self.ndim, self.strides = data.nbytes, data.ndim, data.strides

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, key: Any) -> "DeviceArray":
        found = self._data[key]
        if not isinstance(found, np.ndarray):
            raise TypeError("one element of a device array: copy_to_host() brings it")
        return DeviceArray(self._machine, found, self.stream)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise NotImplementedError(
            "the model in which host code is checked copies by copy_to_device only: "
            "d[lo:hi].copy_to_device(x[lo:hi], stream=s)"
        )

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        """Copy the array to the host for `np.asarray`, as Numba does."""
        found: np.ndarray[Any, Any] = plain(self.copy_to_host())
        return found if dtype is None else found.astype(dtype)

    def reshape(self, *shape: Any) -> "DeviceArray":
        return DeviceArray(self._machine, self._data.reshape(*shape), self.stream)

    def split(self, section: int, stream: Any = 0) -> "Iterator[DeviceArray]":
        for low in range(0, self.size, section):
            part = self._data[low : low + section]
            yield DeviceArray(self._machine, part, stream or self.stream)

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Queue a copy into this array, from the host or from the device."""
        machine, worker = self._machine, of(self._machine, stream or self.stream)
        on_device = isinstance(ary, DeviceArray)
        data = ary._data if on_device else plain(np.asarray(ary))
        same_shape(self, data)
        here, source = machine.region(self._data), machine.region(data)
        made = machine.enqueue(
            worker,
            "kernel" if on_device else "copy in",
            f"the copy to {here}",
            self.nbytes * MS_PER_BYTE,
            some(source),
            some(here),
            pageable=source is None,
        )
        if source is None:  # pageable: staged while the host waits
            machine.wait_until(Mark({}, made.end))
        if not (on_device or stream or self.stream):
            machine.wait(worker, quietly=True)
        self._data[...] = data

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """Queue a copy of this array to the host, into `ary` or a new array."""
        machine, worker = self._machine, of(self._machine, stream or self.stream)
        if ary is None:
            ary = host_array(machine, np.empty(self.shape, self.dtype))
        if not isinstance(ary, np.ndarray):
            raise TypeError(f"copy_to_host into a {type(ary).__name__}")
        data = plain(ary)
        same_shape(self, data)
        target, here = machine.region(data), machine.region(self._data)
        pageable = target is None
        machine.enqueue(
            worker,
            "copy out",
            f"the copy from {here}",
            self.nbytes * MS_PER_BYTE,
            some(here),
            some(target),
            pageable,
        )
        if pageable or not (stream or self.stream):
            machine.wait(worker, quietly=True)
        data[...] = self._data
        return ary


def same_shape(mine: DeviceArray, other: np.ndarray[Any, Any]) -> None:
    if mine.shape != other.shape or mine.dtype != other.dtype:
        raise ValueError(
            f"a copy between {mine.dtype}{list(mine.shape)} on the device and "
            f"{other.dtype}{list(other.shape)}"
        )


def some(region: Region | None) -> tuple[Region, ...]:
    return () if region is None else (region,)


def of(machine: Machine, stream: Any) -> Worker:
    """Return the worker of a `stream` argument; 0 and None are the default stream.

    Raises TypeError for anything else that is not a stream.
    """
    if isinstance(stream, Stream):
        return stream.worker
    if stream in (0, None):
        return machine.default
    raise TypeError(f"{stream!r} is not a stream: cuda.stream() makes one")


Look = Callable[[Any, list[Note]], None]


class Kernel:
    """A kernel whose launches run in the simulator, and are recorded."""

    def __init__(self, machine: Machine, kernel: Any, look: Look | None) -> None:
        self._machine, self._kernel, self._look = machine, kernel, look
        self.__name__ = kernel.__name__

    def __getitem__(self, config: Any) -> Callable[..., None]:
        configuration(config)  # a wrong one is refused on the line that configures
        return lambda *args: self._launch(config, args)

    def forall(
        self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> Callable[..., None]:
        threads = tpb or 128
        return self[max(1, -(-ntasks // threads)), threads, stream, sharedmem]

    def __call__(self, *args: Any) -> None:
        raise TypeError(
            f"{self.__name__} was called without a grid and a block: "
            f"{self.__name__}[grid, block, stream](...)"
        )

    def _launch(self, config: Any, args: tuple[Any, ...]) -> None:
        """Simulate a launch, and queue it as an operation of its stream."""
        machine = self._machine
        parts = tuple(config)
        stream = parts[2] if len(parts) > 2 else 0
        worker = of(machine, stream)
        fn = python_function(self._kernel)
        assert fn is not None
        names = parameters(fn, args)
        back: list[tuple[DeviceArray, Any]] = []
        given: list[Any] = []
        for name, arg in zip(names, args, strict=True):
            if isinstance(arg, np.ndarray) and not self._mapped(arg):
                machine.implicit.append((name, machine.where()))
                copy = empty(machine, f"a copy of {name}", arg.shape, arg.dtype)
                copy.copy_to_device(arg, stream)
                back.append((copy, arg))
                given.append(copy._data)
            elif isinstance(arg, DeviceArray):
                given.append(arg._data)
            else:
                given.append(plain(arg))
        grid, block, _, _ = configuration(config)
        elements = max((int(np.size(value)) for value in given), default=0)
        if message := too_large(grid, block, elements):
            raise LaunchError(message, IDLE)
        where = machine.where()
        machine.launches.append((where, math.prod(block)))
        bare = (parts[0], parts[1], 0, *parts[3:])
        trace, _ = record(self._kernel, bare, tuple(given))
        if self._look is not None:
            self._look(trace, [(where, "launched here")])
        reads, writes = self._touched(names, given, trace)
        size = sum(r.stop - r.start for r in (*reads, *writes))
        what = f"the kernel {self.__name__}"
        machine.enqueue(worker, "kernel", what, size * MS_PER_BYTE / 2, reads, writes)
        for copy, arg in back:
            copy.copy_to_host(arg, stream)

    def _mapped(self, array: np.ndarray[Any, Any]) -> bool:
        region = self._machine.region(plain(array))
        return region is not None and region.buffer.memory == "mapped"

    def _touched(
        self, names: list[str], given: list[Any], trace: Any
    ) -> tuple[tuple[Region, ...], tuple[Region, ...]]:
        """Return the regions that a launch read, and those that it wrote.

        Each region extends from the first accessed byte of an array to the last.
        """
        found: tuple[list[Region], list[Region]] = ([], [])
        arrays = dict(zip(names, given, strict=True))
        for number, name in enumerate(trace.arrays):
            data = arrays.get(name)
            mine = (trace.array == number) & (trace.space == GLOBAL)
            if not isinstance(data, np.ndarray) or not mine.any():
                continue
            region = self._machine.region(data)
            if region is None:
                continue
            stores = trace.operation != READ
            for rows, kept in ((mine & ~stores, found[0]), (mine & stores, found[1])):
                if rows.any():
                    low = int(trace.address[rows].min()) - trace.bases[name]
                    high = int((trace.address + trace.size)[rows].max())
                    kept.append(
                        Region(
                            region.buffer,
                            region.start + low,
                            region.start + high - trace.bases[name],
                        )
                    )
        return tuple(found[0]), tuple(found[1])


def empty(machine: Machine, name: str, shape: Any, dtype: Any, stream: Any = 0) -> Any:
    buffer = machine.empty(name, "device", shape, dtype)
    return DeviceArray(machine, buffer.data, stream)


class Cuda:
    """The host's side of `numba.cuda`, on a modelled machine."""

    def __init__(self, machine: Machine, real: Any) -> None:
        self._machine, self._real = machine, real

    def stream(self) -> Stream:
        return Stream(self._machine, self._machine.stream())

    def default_stream(self) -> Stream:
        return Stream(self._machine, self._machine.default)

    def event(self, timing: bool = True) -> Event:
        return Event(self._machine, timing)

    def event_elapsed_time(self, evtstart: Event, evtend: Event) -> float:
        return evtstart.elapsed_time(evtend)

    def synchronize(self) -> None:
        self._machine.wait_for_all()

    def device_array(
        self, shape: Any, dtype: Any = np.float64, stream: Any = 0
    ) -> DeviceArray:
        made: DeviceArray = empty(
            self._machine, self._name("a device array"), shape, dtype, stream
        )
        return made

    def device_array_like(self, ary: Any, stream: Any = 0) -> DeviceArray:
        return self.device_array(ary.shape, ary.dtype, stream=stream)

    def to_device(
        self, obj: Any, stream: Any = 0, copy: bool = True, to: Any = None
    ) -> DeviceArray:
        if isinstance(obj, DeviceArray):
            return obj
        array = np.asanyarray(obj)
        made = self.device_array_like(array, stream) if to is None else to
        if copy:
            made.copy_to_device(array, stream)
        return made

    def pinned_array(self, shape: Any, dtype: Any = np.float64) -> HostArray:
        name = self._name("a pinned array")
        buffer = self._machine.empty(name, "pinned", shape, dtype)
        place = self._machine.where()
        if place.line:  # made by the function itself
            self._machine.pins.append(place)
            self._machine.host.end += buffer.data.nbytes * MS_PER_BYTE * PINNING
        return host_array(self._machine, buffer.data)

    def pinned_array_like(self, ary: Any) -> HostArray:
        return self.pinned_array(ary.shape, ary.dtype)

    def mapped_array(self, shape: Any, dtype: Any = np.float64) -> HostArray:
        name = self._name("a mapped array")
        buffer = self._machine.empty(name, "mapped", shape, dtype)
        return host_array(self._machine, buffer.data)

    @contextlib.contextmanager
    def pinned(self, *arrays: Any) -> "Iterator[None]":
        made = [
            self._machine.buffer("a pinned array", "pinned", plain(array))
            for array in arrays
        ]
        yield
        for buffer in made:
            self._machine.buffers.remove(buffer)

    def _name(self, otherwise: str) -> str:
        """Return the name that the current line assigns to, or `otherwise`."""
        text = self._machine.where().text
        match = re.match(r"(\w+)\s*=[^=]", text)
        return match[1] if match else otherwise

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or not hasattr(self._real, name):
            raise AttributeError(
                f"the model in which host code is checked has no cuda.{name}"
            )
        if callable(getattr(self._real, name)):
            raise NotImplementedError(
                f"the model in which host code is checked has no cuda.{name}"
            )
        return getattr(self._real, name)


class Time:
    """A stand-in for the module `time` that uses the machine's clock."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def perf_counter(self) -> float:
        self._machine.host.end += LOOKING
        return self._machine.now / 1e3

    def perf_counter_ns(self) -> int:
        return round(self.perf_counter() * 1e9)

    time = monotonic = perf_counter
    time_ns = monotonic_ns = perf_counter_ns

    def sleep(self, seconds: float) -> None:
        self._machine.host.end += seconds * 1e3


class Watched:
    """A copy of a function, with the model's `cuda`, kernels and clocks."""

    def __init__(self, function: FunctionType, look: Look | None = None) -> None:
        """Prepare to watch a function.

        look: called with the trace of each launch, and the line that made it.
        """
        from numba import cuda

        self._look = look
        self.machine = Machine(self._where)
        self.cuda = Cuda(self.machine, cuda)
        self._clock = Time(self.machine)
        self._cuda = cuda
        self._given = function.__globals__
        self._scope = dict(self._given)
        self._function = function
        for name, value in self._given.items():
            self._scope[name] = self._twin(value)
        self.call = self._twin(function)

    def _twin(self, value: Any) -> Any:
        if value is self._cuda:
            return self.cuda
        if value is time:
            return self._clock
        if isinstance(value, ModuleType):
            return value
        name = getattr(value, "__name__", "")
        if isinstance(value, FunctionType) and value.__globals__ is self._given:
            return with_globals(value, self._scope)
        if is_kernel(value):
            return Kernel(self.machine, value, self._look)
        if name and name in vars(Time) and value is getattr(time, name, None):
            return getattr(self._clock, name)
        if name and name in vars(Cuda) and value is getattr(self._cuda, name, None):
            return getattr(self.cuda, name)
        return value

    def _where(self) -> Place:
        """Return the learner's innermost running line, or an empty place."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_globals is not self._scope:
            frame = frame.f_back
        if frame is None:
            return Place("", 0)
        lines = linecache.getlines(frame.f_code.co_filename)
        return frame_place(frame, dict(enumerate((t.rstrip() for t in lines), 1)))


class Bench(Arrays):
    """Makes the arguments of a watched function: arrays, streams, work."""

    def __init__(self, watched: Watched) -> None:
        super().__init__(watched.cuda)
        self._machine = watched.machine

    def pageable(self, data: np.ndarray[Any, Any]) -> HostArray:
        """Copy an array to memory that records when the host reads or writes it."""
        return host_array(self._machine, data.copy())

    def pinned(self, data: np.ndarray[Any, Any]) -> HostArray:
        """Copy an array to memory that the model treats as pinned."""
        buffer = self._machine.buffer("a pinned array", "pinned", data.copy())
        return host_array(self._machine, buffer.data)

    def work(self, ms: float) -> Callable[[], None]:
        """Return a function that queues a kernel that takes `ms` milliseconds."""
        machine = self._machine

        def work() -> None:
            machine.enqueue(machine.default, "kernel", "the kernel", ms)

        return work

    def name(self, arg: Any, name: str) -> None:
        """Name the memory of an argument after its parameter."""
        if isinstance(arg, list | tuple):
            for number, part in enumerate(arg):
                self.name(part, f"{name}[{number}]")
            return
        data = arg._data if isinstance(arg, DeviceArray) else arg
        if isinstance(data, np.ndarray):
            region = self._machine.region(plain(data))
            if region is not None:
                region.buffer.name = name
