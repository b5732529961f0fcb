"""Host code run on a real GPU, with an event before and after each operation."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

from weft.code_objects import with_globals
from weft.meaning import is_kernel
from weft.streams.bench import Arrays, Bar


class _Notes:
    """Records an event before and after each operation."""

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda
        self.pairs: list[tuple[str, Any, Any, Any]] = []

    def around(self, engine: str, stream: Any, do: Callable[[], Any]) -> Any:
        first, last = self._cuda.event(), self._cuda.event()
        first.record(stream)
        done = do()
        last.record(stream)
        self.pairs.append((engine, stream, first, last))
        return done


class _Device:
    """A device array that times the copies into and out of it."""

    def __init__(self, notes: _Notes, array: Any) -> None:
        self._notes, self.array = notes, array

    def __getattr__(self, name: str) -> Any:
        return getattr(self.array, name)

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, key: Any) -> "_Device":
        return _Device(self._notes, self.array[key])

    def copy_to_device(self, ary: Any, stream: Any = 0) -> Any:
        given = ary.array if isinstance(ary, _Device) else ary
        where = stream or self.array.stream
        return self._notes.around(
            "copy in", where, lambda: self.array.copy_to_device(given, stream=stream)
        )

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        where = stream or self.array.stream
        return self._notes.around(
            "copy out", where, lambda: self.array.copy_to_host(ary, stream=stream)
        )


class _Kernel:
    """A kernel whose launches are timed."""

    def __init__(self, notes: _Notes, kernel: Any) -> None:
        self._notes, self._kernel = notes, kernel

    def __getitem__(self, config: Any) -> Callable[..., Any]:
        launcher = self._kernel[config]
        stream = config[2] if len(config) > 2 else 0

        def launch(*args: Any) -> Any:
            given = [a.array if isinstance(a, _Device) else a for a in args]
            return self._notes.around("kernel", stream, lambda: launcher(*given))

        return launch


class _Cuda:
    """`numba.cuda`, with device arrays whose copies are timed."""

    def __init__(self, notes: _Notes, real: Any) -> None:
        self._notes, self._real = notes, real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def device_array(self, *args: Any, **kwargs: Any) -> _Device:
        return _Device(self._notes, self._real.device_array(*args, **kwargs))

    def device_array_like(self, ary: Any, *args: Any, **kwargs: Any) -> _Device:
        return self.device_array(ary.shape, ary.dtype, *args, **kwargs)

    def to_device(self, obj: Any, stream: Any = 0) -> _Device:
        made = self.device_array(obj.shape, obj.dtype, stream=stream)
        made.copy_to_device(obj, stream=stream)
        return made


def measure(
    function: FunctionType, given: Callable[..., tuple[Any, ...]], inputs: Any
) -> list[Bar]:
    """Run `function` twice, and time the copies and launches of the second run."""
    from numba import cuda as real

    cuda: Any = real
    notes = _Notes(cuda)
    twin = _Cuda(notes, cuda)
    mine = function.__globals__
    scope = dict(mine)
    for name, value in mine.items():
        if value is cuda:
            scope[name] = twin
        elif is_kernel(value):
            scope[name] = _Kernel(notes, value)
        elif isinstance(value, FunctionType) and value.__globals__ is mine:
            scope[name] = with_globals(value, scope)
    args = given(Arrays(twin), *inputs)
    run = with_globals(function, scope)
    run(*args)
    cuda.synchronize()
    notes.pairs.clear()
    base = cuda.event()
    base.record()
    base.synchronize()
    run(*args)
    cuda.synchronize()
    numbers: dict[int, int] = {}
    return [
        Bar(
            engine,
            numbers.setdefault(id(stream) if stream else 0, len(numbers)),
            base.elapsed_time(first),
            base.elapsed_time(last),
        )
        for engine, stream, first, last in notes.pairs
    ]
