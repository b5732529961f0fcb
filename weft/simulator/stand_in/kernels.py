"""The stand-in's `cuda.jit` and `njit`, and the objects they make from functions."""

import functools
from types import FunctionType, SimpleNamespace
from typing import Any

from weft import meaning
from weft.simulator import host
from weft.simulator.stand_in import types


class Compiled:
    """A function that would be compiled for the host; here Python runs it."""

    def __init__(self, function: FunctionType) -> None:
        self.py_func = function
        functools.update_wrapper(self, function)

    def __call__(self, *given: Any, **named: Any) -> Any:
        return self.py_func(*given, **named)


class CudaKernel:
    """A kernel or a device function; a kernel is launched with `[grid, block, ...]`."""

    typing = types

    def __init__(self, function: FunctionType, told: meaning.Options, **given: Any):
        self.py_func = function
        self.targetoptions = given
        self._weft_options = told
        functools.update_wrapper(self, function)

    def __getitem__(self, config: Any) -> host.Launcher:
        return host.Launcher(self, config)

    def configure(self, *config: Any) -> host.Launcher:
        """Return a launcher. config: grid, block, stream, bytes of shared memory."""
        return host.Launcher(self, config)

    def __call__(self, *given: Any) -> Any:
        return host.launch_unconfigured(self, *given)

    def forall(
        self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0
    ) -> host.Launcher:
        """Configure a launch with at least one thread for each of `ntasks` tasks."""
        return host.for_all(self, ntasks, tpb, stream, sharedmem)

    def specialize(self, *given: Any) -> "CudaKernel":
        """Return the kernel: there is nothing to compile for these arguments."""
        return self

    @property
    def overloads(self) -> "Overloads":
        return Overloads()


class Overloads(dict[Any, Any]):
    """The compiled forms of a kernel by argument types: here they are all the same."""

    def __missing__(self, types: Any) -> SimpleNamespace:
        most = host.MULTIPROCESSORS
        return SimpleNamespace(max_cooperative_grid_blocks=lambda block: most)


def jit(func_or_sig: Any = None, **given: Any) -> Any:
    """Mark a kernel or, with `device=True`, a device function.

    func_or_sig: the function, a signature or a list of signatures. Options that only a
    compiler needs are accepted.
    """
    told = meaning.told(func_or_sig, given, types.is_signature)
    if isinstance(func_or_sig, FunctionType):
        return CudaKernel(func_or_sig, told, **given)
    return lambda function: CudaKernel(function, told, **given)


def njit(func_or_sig: Any = None, **given: Any) -> Any:
    """Mark a function that the host and kernels can call; Python runs it."""
    if isinstance(func_or_sig, FunctionType):
        return Compiled(func_or_sig)
    return Compiled
