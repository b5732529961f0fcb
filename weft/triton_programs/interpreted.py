"""Running a program in Triton's interpreter, whatever it was decorated for.

`TRITON_INTERPRET=1` decides once, at import, whether `@triton.jit` makes a function for
the interpreter or one for the compiler. A check needs both. So while a check runs, the
interpreter gets the program's Python function, and every other Triton function that it
calls; afterwards Triton is as it was.
"""

import contextlib
import functools
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FrameType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from weft.checking.step_limit import counted
from weft.places import Place, led_to, place
from weft.programs.trace import Dim
from weft.tracebacks import innermost

MOST_LINES = 3_000  # the learner's lines that one program may run; about 3 s


class Session:
    """The learner's functions, rewritten for the interpreter as they are called.

    Each uses a copy of its globals, because the interpreter adds its own names to them.
    masked: whether the last atomic had a mask.
    """

    def __init__(self) -> None:
        self.masked = True
        self._functions: dict[FunctionType, Any] = {}
        self._scopes: dict[int, dict[str, Any]] = {}
        self._own: set[int] = set()
        self._lines: dict[CodeType, dict[int, str]] = {}
        self._places: dict[tuple[Any, ...], tuple[Place, ...]] = {}

    def rewritten(self, function: FunctionType) -> Any:
        """Return the function as the interpreter runs it, rewriting it on first use."""
        from triton.runtime.interpreter import FunctionRewriter

        if function not in self._functions:
            scope = self._scope(function)
            copy = FunctionType(
                function.__code__,
                scope,
                function.__name__,
                function.__defaults__,
                function.__closure__,
            )
            functools.update_wrapper(copy, function)
            vars(copy).pop("__wrapped__")  # so that this copy is used
            self._functions[function] = FunctionRewriter(copy).rewrite_ast()
        return self._functions[function]

    def _scope(self, function: FunctionType) -> dict[str, Any]:
        """Return a copy of a function's globals, extended by its closure variables."""
        key = id(function.__globals__)
        if key not in self._scopes:
            self._scopes[key] = {
                name: getattr(value, "value", value) if is_constant(value) else value
                for name, value in function.__globals__.items()
            }
            if not str(function.__module__).startswith("triton."):
                self._own.add(id(self._scopes[key]))
        scope = self._scopes[key]
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            with contextlib.suppress(ValueError):  # it has no value yet
                scope[name] = cell.cell_contents
        return scope

    def is_learners(self, frame: FrameType) -> bool:
        return id(frame.f_globals) in self._own

    def here(self) -> tuple[Place, ...]:
        """Return the learner's line that is running, then those of its callers."""
        frame: FrameType | None = sys._getframe(1)
        frames = []
        while frame is not None:
            if self.is_learners(frame):
                frames.append((frame.f_code, frame.f_lasti))
            frame = frame.f_back
        return self._placed(tuple(frames))

    def raised(self, error: BaseException) -> tuple[Place, ...]:
        """Return the learner's line that raised an error, then those of its callers."""
        frames = []
        trace = error.__traceback__
        while trace is not None:
            if self.is_learners(trace.tb_frame):
                frames.append((trace.tb_frame.f_code, trace.tb_lasti))
            trace = trace.tb_next
        return self._placed(tuple(frames[::-1]))

    def asserted(self, error: BaseException) -> str:
        """Return the line in Triton whose assertion failed, or "" for any other error.

        The other errors include failed assertions in the learner's code.
        """
        trace = innermost(error)
        if trace is None or not isinstance(error, AssertionError):
            return ""
        if self.is_learners(trace.tb_frame):
            return ""
        file = trace.tb_frame.f_code.co_filename
        return linecache.getline(file, trace.tb_lineno).strip()

    def _placed(self, frames: tuple[tuple[CodeType, int], ...]) -> tuple[Place, ...]:
        if frames not in self._places:
            found = [place(code, at, self._text(code)) for code, at in frames]
            self._places[frames] = tuple(led_to(found))
        return self._places[frames]

    def _text(self, code: CodeType) -> dict[int, str]:
        """Return the lines of a function's file by number.

        The indentation of the function is removed from each line.
        """
        if code not in self._lines:
            lines = linecache.getlines(code.co_filename)
            first = lines[code.co_firstlineno - 1 :][:1]
            indent = len("".join(first)) - len(textwrap.dedent("".join(first)))
            self._lines[code] = {k + 1: text[indent:] for k, text in enumerate(lines)}
        return self._lines[code]


@contextlib.contextmanager
def interpreting(session: Session, ambiguous: Callable[[], Any]) -> Iterator[Any]:
    """Interpret Triton's language in a `with` block; yield the interpreter's builder.

    ambiguous: called where the learner's code uses a block as a truth value.
    """
    import triton
    import triton.compiler.code_generator  # keeps the language in its state at import
    import triton.language as tl
    from triton.language.semantic import TritonSemantic
    from triton.runtime import interpreter, jit

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a Triton function from another."""
        kwargs.pop("_semantic", None)
        return session.rewritten(function.fn)(*args, **kwargs)

    def truth(tensor: Any) -> bool:
        data = tensor.handle.data
        if data.size > 1 and session.is_learners(sys._getframe(1)):
            ambiguous()
        return bool(data.all()) if data.size == 1 else True

    types_of_atomic = TritonSemantic.atom_red_typechecking_impl

    def typechecked(semantic: Any, ptr: Any, val: Any, mask: Any, op: str) -> Any:
        session.masked = mask is not None
        return types_of_atomic(semantic, ptr, val, mask, op)

    languages = SimpleNamespace(__globals__={"tl": tl, "core": tl.core})
    scope = interpreter._patch_lang(languages)
    builder = interpreter.interpreter_builder
    try:
        for kind in (jit.JITFunction, interpreter.InterpretedFunction):
            scope.set_attr(kind, "__call__", call)
        for name, member in list(vars(tl.tensor).items()):
            if isinstance(member, jit.JITFunction):  # x.sum() as well as tl.sum(x)
                scope.set_attr(tl.tensor, name, method(call, member))
            elif not name.startswith("_") and callable(getattr(tl.math, name, None)):
                scope.set_attr(tl.tensor, name, getattr(tl.math, name))  # x.exp()
        scope.set_attr(TritonSemantic, "atom_red_typechecking_impl", typechecked)
        scope.set_attr(tl.tensor, "__bool__", truth)
        scope.set_attr(tl.tensor, "__index__", whole)  # Triton 3.6 needs NumPy < 2.4
        with triton.knobs.runtime.scope(), np.errstate(all="ignore"):
            triton.knobs.runtime.interpret = True
            yield builder
    finally:
        scope.restore()
        for name in [n for n in vars(builder) if n.startswith("create_")]:
            delattr(builder, name)


def is_constant(value: Any) -> bool:
    """Return whether a value is a `tl.constexpr`.

    The interpreter's values do not support arithmetic with such constants.
    """
    from triton.language import constexpr

    return isinstance(value, constexpr)


def whole(tensor: Any) -> int:
    return int(tensor.handle.data.item())


def method(call: Callable[..., Any], function: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: call(function, *args, **kwargs)


def run(
    session: Session,
    function: FunctionType,
    arguments: Mapping[str, Any],
    constants: frozenset[str],
    grid: Dim,
    backwards: bool,
) -> None:
    """Run every program of a grid, one after another, within `interpreting`.

    arguments: each parameter's argument. Raises `Endless` for a program that does not
    end, and whatever the program raises.
    """
    from triton.runtime import interpreter

    rewritten = session.rewritten(function)
    given = tuple(
        arguments[name] if name in constants else interpreter._implicit_cvt(value)
        for name, value in arguments.items()
    )
    builder = interpreter.interpreter_builder
    builder.set_grid_dim(*grid)
    programs = [
        (x, y, z)
        for z in range(grid[2])
        for y in range(grid[1])
        for x in range(grid[0])
    ]
    for index in programs[::-1] if backwards else programs:
        builder.set_grid_idx(*index)
        counted(rewritten, given, MOST_LINES)
