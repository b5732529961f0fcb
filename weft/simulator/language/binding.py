"""Turn a learner's kernel into a Python function that runs against the simulator.

The function keeps its source positions. Four things change: `cuda`, `math` and Numba's
types in its globals and closure are replaced by their simulated counterparts, device
functions are bound in the same way, every loop counts its iterations, and a function
that can wait becomes a generator.
"""

import ast
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from weft import intrinsics, meaning
from weft.code_objects import code_tree, global_names, with_globals
from weft.intrinsics import registry
from weft.places import Place
from weft.simulator.arithmetic.by_name import (
    BUILTINS,
    OPERATORS,
    Functions,
    of_numpy,
    plain,
)
from weft.simulator.inference.kinds import NEVER, REFUSED, Kind, same_type
from weft.simulator.language import rules
from weft.simulator.language.loops import names_of
from weft.simulator.language.modules import (
    Cast,
)
from weft.simulator.language.rewriting import Rewritten, begin, returned_by, rewritten
from weft.simulator.translation.iterations import ITERATION
from weft.simulator.translation.made import Access, Position
from weft.simulator.translation.notes import BASE, NOTES, Noting, Spotted

Form = tuple[types.FunctionType, tuple[Kind, ...]]
_PASSED = {Noting.NUMBERS: (NOTES, ITERATION), Noting.ACCESSES: (ITERATION,)}
_MATHEMATICS = {name: Functions(name) for name in ("math", "cmath")}


class Bound:
    """A kernel and the device functions it calls, bound to one simulated `cuda`.

    `call` runs the kernel, or returns its generator if it can wait; the parameters in
    `given` come before the kernel's own. `lines` maps the code objects of the kernel
    and its device functions to their source lines, by line number. `noted` maps the
    number of each note to its place and the count of arithmetic operations there;
    `accesses` maps places in code to what is accessed there.
    """

    def __init__(
        self,
        fn: types.FunctionType,
        cuda: Any,
        counting: dict[str, Callable[..., Any]],
        refuse: Callable[[str, str], Any],
        notes: dict[str, Any] | None = None,
        noting: Noting = Noting.NONE,
        given: tuple[Kind, ...] = (),
        change: type[ast.NodeTransformer] | None = None,
    ) -> None:
        """Bind a kernel. given: the kinds of its arguments.

        counting: the values of the names that `loops` and `waiting` insert. notes: the
        values of the names that record accesses.
        """
        self._change = change
        self.lines: dict[types.CodeType, dict[int, str]] = {}
        self.noted: dict[int, tuple[Place, int]] = {}
        self.accesses: dict[types.CodeType, dict[Position, Access]] = {}
        self._notes, self._noting = notes or {}, noting
        self.spots: list[tuple[int, Spotted | None]] = []  # one per list of notes
        self._cuda, self._counting, self._refuse = cuda, counting, refuse
        self._done: dict[Form, types.FunctionType] = {}
        self.first_forms: dict[types.CodeType, types.CodeType] = {}  # see `_first_form`
        self._found: dict[Form, Rewritten | None] = {}
        self._builtins = rules.builtins_of_a_kernel(refuse) | BUILTINS
        begin()
        self.call = self._bind(fn, given, kernel=True)
        kernel = self._found[fn, given]
        self.given = () if kernel is None else kernel.given

    def _rewritten(
        self, fn: types.FunctionType, given: tuple[Kind, ...], kernel: bool = False
    ) -> Rewritten | None:
        """Return `fn`, rewritten for the kinds `given`, or None while rewriting it."""
        form = fn, given
        if form not in self._found:
            self._found[form] = None  # it may call itself
            self._found[form] = rewritten(
                fn,
                given,
                names_of(fn),
                (self._device, self._returned),
                self._noting,
                kernel,
                self._change,
            )
        return self._found[form]

    def _device(self, value: Any, given: tuple[Kind, ...]) -> Rewritten | None:
        """Return a device function's `_rewritten` form, or None for any other value."""
        inner = meaning.python_function(value)
        return None if inner is None else self._rewritten(inner, given)

    def _returned(self, value: Any, given: tuple[Kind, ...]) -> Kind:
        """Infer the kind of a device function's result. given: the arguments' kinds."""
        inner = meaning.python_function(value)
        if inner is None:
            return REFUSED
        found = self._rewritten(inner, given)
        return self._recursive(inner, given, {}) if found is None else found.returned

    def _recursive(
        self,
        fn: types.FunctionType,
        given: tuple[Kind, ...],
        known: dict[Form, Kind],
    ) -> Kind:
        """Infer the kind of the result of a function that calls itself.

        known: the kinds assumed for results so far, each at first NEVER. The inference
        is repeated until the kind of the result no longer changes.
        """
        form = fn, given
        if form in known:
            return known[form]
        known[form] = NEVER

        def returned(value: Any, kinds: tuple[Kind, ...]) -> Kind:
            inner = meaning.python_function(value)
            return REFUSED if inner is None else self._recursive(inner, kinds, known)

        while True:
            found = returned_by(fn, given, names_of(fn), returned)
            if same_type(found, known[form]):
                return found
            known[form] = found

    def _bind(
        self,
        fn: types.FunctionType,
        given: tuple[Kind, ...] = (),
        kernel: bool = False,
    ) -> types.FunctionType:
        """Return the simulated form of `fn`, and bind the functions that it calls."""
        form = fn, given
        if form in self._done:
            return self._done[form]
        found = self._rewritten(fn, given, kernel)
        assert found is not None
        code, lines = found.code, found.lines
        for inner in code_tree(code):
            self.lines[inner] = lines
            self.accesses[inner] = found.accesses
        self.noted.update(enumerate(found.notes, found.first))
        scope = fn.__globals__ | {"__builtins__": self._builtins}
        closure = None
        if fn.__closure__:
            cells = dict(zip(fn.__code__.co_freevars, fn.__closure__, strict=True))
            closure = tuple(types.CellType() for _ in code.co_freevars)
        bound = with_globals(fn, scope, code, closure)
        self.first_forms[bound.__code__] = self._first_form(form, bound)
        self._done[form] = bound  # before its names are bound: it may call itself

        for name in global_names(code) & scope.keys():
            scope[name] = self._twin(name, scope[name])
        scope |= self._counting | self._notes | {BASE: len(self.spots)}
        self.spots += enumerate(found.spots, found.first)
        scope |= found.helpers
        for name, device, kinds in found.devices:
            called = meaning.python_function(device)
            assert called is not None
            scope[name] = self._noting_too(called, kinds)
        for name, cell in zip(code.co_freevars, closure or (), strict=True):
            cell.cell_contents = self._twin(name, cells[name].cell_contents)
        return bound

    def _first_form(self, form: Form, bound: types.FunctionType) -> types.CodeType:
        """Return the first code made from a function for arguments of these types.

        Numba compiles a function once for each combination of types. Here a function
        may have several forms for one combination, which differ in what is known about
        the arguments' values.
        """
        fn, given = form
        for (other, kinds), done in self._done.items():
            same = other is fn and len(kinds) == len(given)
            if same and all(map(same_type, kinds, given)):
                return self.first_forms[done.__code__]
        return bound.__code__

    def _noting_too(self, fn: types.FunctionType, given: tuple[Kind, ...]) -> Any:
        """Bind a device function for callers that first pass the `_passed` values."""
        bound = self._bind(fn, given)
        if self._takes_notes(bound):
            return bound
        more = len(self._passed)
        return lambda *args: bound(*args[more:])

    def _called_anyhow(self, bound: types.FunctionType) -> Any:
        """Return a form of `bound` that is called without the `_passed` arguments."""
        if not self._passed or not self._takes_notes(bound):
            return bound
        if self._noting is not Noting.NUMBERS:
            return lambda *args: bound(0, *args)
        now = self._notes[NOTES]
        return lambda *args: bound(now(), 0, *args)

    @property
    def _passed(self) -> tuple[str, ...]:
        """The parameters that device functions have in addition to their own."""
        return _PASSED.get(self._noting, ())

    def _takes_notes(self, fn: types.FunctionType) -> bool:
        passed = self._passed
        return fn.__code__.co_varnames[: len(passed)] == passed

    def _twin(self, name: str, value: Any) -> Any:
        """Return the value that a kernel sees under a name, given the host's value."""
        if isinstance(value, types.ModuleType):
            module = self._module(value)
            if module is not None:
                return module
        owner = getattr(value, "__module__", "")
        if isinstance(value, types.BuiltinFunctionType) and owner in _MATHEMATICS:
            return getattr(_MATHEMATICS[owner], value.__name__)
        if owner == "_operator":
            value = OPERATORS.get(getattr(value, "__name__", ""), value)
        if isinstance(value, np.ufunc):
            return of_numpy(value)
        if meaning.is_number_type(value):
            return Cast(meaning.as_dtype(value))
        if isinstance(value, type) and issubclass(value, np.generic):
            return Cast(np.dtype(value))
        if isinstance(value, np.generic):
            return value
        if type(value) is tuple:
            return plain(value)
        operation = registry.of(value)
        if operation is not None:
            return self._cuda.intrinsics.form(operation)
        inner = meaning.python_function(value)
        if inner is not None:
            return self._called_anyhow(self._bind(inner))
        if isinstance(value, types.FunctionType) and not rules.usable(value):
            return self._not_compiled(name)
        if isinstance(value, np.ndarray):
            return self._cuda._constant(value, name)
        stub = self._cuda.twin_of(value)
        if stub is None and not rules.usable(value):
            return rules.Refused(self._refuse, *rules.described(name, value))
        return value if stub is None else stub

    def _module(self, value: types.ModuleType) -> Any:
        """Return what replaces a module in a kernel, or None if nothing does."""
        if value is intrinsics:
            return self._cuda.intrinsics.module()
        if meaning.is_cuda(value):
            return self._cuda
        if meaning.is_libdevice(value):
            return Functions("libdevice")
        if value.__name__ in _MATHEMATICS:
            return _MATHEMATICS[value.__name__]
        if rules.usable(value):
            return rules.OpenModule(value, self._refuse, self._twin)
        return None

    def _not_compiled(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            return self._refuse(
                f"`{name}` is a plain Python function",
                "A kernel can only call functions that are compiled for the GPU: "
                "decorate it with @cuda.jit(device=True).",
            )

        return refuse
