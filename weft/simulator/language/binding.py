"""Turn a learner's kernel into a Python function that runs against the simulator.

The function keeps its source positions. Three things change: `cuda`, `math` and
Numba's types in its globals and closure become their simulated twins, device
functions are bound likewise, and every loop counts its steps.
"""

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import backend, intrinsics
from weft.code_objects import code_tree, global_names, with_globals
from weft.intrinsics import registry
from weft.places import Place
from weft.simulator.language import mathematics, rules
from weft.simulator.language.modules import Cast, NumbaModule, NumpyModule
from weft.simulator.language.rewriting import LOOP, STEP, begin, rewritten


class Bound:
    """A kernel and the device functions it calls, bound to one simulated `cuda`.

    `call` runs it; `lines` maps every code object of the learner's to its source
    lines, by line number. With `notes` (see `instrument`: what its two names stand for)
    the kernel notes what it does, and `noted` gives the place of each number, and the
    operations of arithmetic there.
    """

    def __init__(
        self,
        fn: types.FunctionType,
        cuda: Any,
        step: Callable[[], bool],
        loop: Callable[[Any], Any],
        refuse: Callable[[str, str], Any],
        notes: dict[str, Any] | None = None,
    ) -> None:
        self.lines: dict[types.CodeType, dict[int, str]] = {}
        self.noted: dict[int, tuple[Place, int]] = {}
        self._notes = notes
        self._cuda, self._step, self._loop, self._refuse = cuda, step, loop, refuse
        self._done: dict[types.FunctionType, types.FunctionType] = {}
        self._builtins = rules.builtins_of_a_kernel(refuse)
        begin()
        self.call = self._bind(fn, kernel=True)

    def _bind(self, fn: types.FunctionType, kernel: bool = False) -> types.FunctionType:
        """The function as it runs here, and so what it calls."""
        if fn in self._done:
            return self._done[fn]
        found = rewritten(fn, self._notes is not None, kernel)
        code, lines = found.code, found.lines
        for inner in code_tree(code):
            self.lines[inner] = lines
        self.noted.update(enumerate(found.notes, found.first))
        scope = fn.__globals__ | {"__builtins__": self._builtins}
        closure = None
        if fn.__closure__:
            cells = dict(zip(fn.__code__.co_freevars, fn.__closure__, strict=True))
            closure = tuple(types.CellType() for _ in code.co_freevars)
        bound = with_globals(fn, scope, code, closure)
        self._done[fn] = bound  # before its names: it may call itself

        for name in global_names(code) & scope.keys():
            scope[name] = self._twin(name, scope[name])
        scope |= {STEP: self._step, LOOP: self._loop} | (self._notes or {})
        for name, cell in zip(code.co_freevars, closure or (), strict=True):
            cell.cell_contents = self._twin(name, cells[name].cell_contents)
        return bound

    def _twin(self, name: str, value: Any) -> Any:
        """What the kernel finds under a name, given what the host has there."""
        if isinstance(value, types.ModuleType):
            module = self._module(value)
            if module is not None:
                return module
        if isinstance(value, types.BuiltinFunctionType) and value.__module__ == "math":
            return mathematics.NAMES.get(value.__name__, value)
        if backend.is_number_type(value):
            return Cast(backend.as_dtype(value))
        operation = registry.of(value)
        if operation is not None:
            return self._cuda.intrinsics.form(operation)
        inner = backend.python_function(value)
        if inner is not None:
            return self._bind(inner)
        if isinstance(value, types.FunctionType) and not rules.usable(value):
            return self._not_compiled(name)
        if isinstance(value, np.ndarray):
            return self._cuda._constant(value, name)
        stub = self._cuda.twin_of(value)
        if stub is None and not rules.usable(value):
            return rules.Refused(self._refuse, *rules.described(name, value))
        return value if stub is None else stub

    def _module(self, value: types.ModuleType) -> Any:
        """What the kernel finds in the place of a module, None for most."""
        if value is intrinsics:
            return self._cuda.intrinsics.module()
        if backend.is_cuda(value):
            return self._cuda
        if backend.is_libdevice(value):
            return mathematics.Libdevice()
        if value.__name__ == "math":
            return mathematics.MATH
        if value.__name__ == "numba":
            return NumbaModule(value, self._cuda, self._refuse)
        if value.__name__ == "numpy":
            return NumpyModule(value, self._refuse)
        return rules.OpenModule(value, self._refuse) if rules.usable(value) else None

    def _not_compiled(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            return self._refuse(
                f"`{name}` is a plain Python function",
                "A kernel can only call functions that are compiled for the GPU: "
                "decorate it with @cuda.jit(device=True).",
            )

        return refuse
