"""Kernels compiled for given constants, like templates in C++.

    large = specialise(gemm, unroll=("kk",), BM=128, BN=128, TM=8, TN=8)

A kernel names the sizes of its tiles, which must be constants when it is compiled. In
CUDA C++ they would be template parameters, and a loop to be unrolled would be marked
with `#pragma unroll`. Numba has neither. So `specialise` compiles the kernel, and the
device functions that it calls, again with other values for these names. Loops over the
variables in `unroll` are unrolled before Numba sees them. LLVM alone does not unroll a
loop if the result would be long; an array indexed by the loop's variable is then not in
registers.
"""

import ast
import copy
import inspect
import textwrap
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from numba import cuda

from weft import backend, meaning
from weft.code_objects import global_names, with_globals
from weft.simulator.limits import allow_shared

__all__ = ["large_shared", "specialise", "written_out"]

_jit: Any = cuda.jit


def specialise(
    kernel: Any,
    unroll: Iterable[str] = (),
    max_registers: int | None = None,
    launch_bounds: tuple[int, int] | None = None,
    signature: str | None = None,
    **constants: Any,
) -> Any:
    """Return `kernel` compiled again, with other values for global names.

    kernel: made by `@cuda.jit`. unroll: the variables of loops over `range` to unroll,
    in the kernel and in the device functions that it calls, which are inlined.
    max_registers, launch_bounds, signature: as for `cuda.jit`. Raises ValueError if
    `kernel` is not a kernel, a constant is not a global name of any of the functions,
    or the limits of a loop to unroll are not constants.
    """
    function = meaning.python_function(kernel)
    if function is None:
        raise ValueError(f"{kernel!r} is no kernel; @cuda.jit makes one")
    unknown = sorted(constants.keys() - {name for s in scopes(function) for name in s})
    if unknown:
        names = ", ".join(unknown)
        raise ValueError(f"{function.__name__} knows no global name {names}")
    made = _specialised(function, set(unroll), constants)
    options = {"max_registers": max_registers, "launch_bounds": launch_bounds}
    given = {name: value for name, value in options.items() if value is not None}
    return _jit(*([] if signature is None else [signature]), **given)(made)


def scopes(function: types.FunctionType) -> Iterator[dict[str, Any]]:
    """Yield the globals of a kernel, and of its device functions from other modules."""
    found: list[dict[str, Any]] = []
    seen, todo = set(), [function]
    while todo:
        one = todo.pop()
        seen.add(one)
        if not any(one.__globals__ is scope for scope in found):
            found.append(one.__globals__)
            yield one.__globals__
        for name in global_names(one.__code__) & one.__globals__.keys():
            inner = meaning.python_function(one.__globals__[name])
            if inner is not None and inner not in seen:
                todo.append(inner)


def large_shared(kernel: Any, size: int, *arguments: Any) -> Any:
    """Compile `kernel` for these arguments and allow it over 48 KB of shared memory.

    size: the most bytes of dynamic shared memory that a launch may use. arguments: as
    for a launch; none if the kernel has a signature. Returns the kernel. Raises
    RuntimeError if the GPU has less.
    """
    if meaning.simulating():
        allow_shared(meaning.python_function(kernel), size)
    else:
        if arguments:
            kernel.compile(tuple(map(meaning.typing_of(kernel).value_type, arguments)))
        backend.allow_shared(kernel, size)
    return kernel


def _specialised(
    function: types.FunctionType,
    unroll: set[str],
    constants: dict[str, Any],
) -> types.FunctionType:
    """Return a copy of the function with `constants` filled in.

    The functions that it calls are copied likewise. The loops over variables in
    `unroll` are also written out, except in the simulator.
    """
    scope = function.__globals__ | constants
    for name in global_names(function.__code__) & scope.keys():
        inner = meaning.python_function(scope[name])
        if inner is not None:
            made = _specialised(inner, unroll, constants)
            scope[name] = _jit(device=True, forceinline=True)(made)
    if unroll & set(function.__code__.co_varnames) and not meaning.simulating():
        return written_out(function, unroll, scope)
    return with_globals(function, scope)


def written_out(
    function: types.FunctionType, unroll: Iterable[str], scope: dict[str, Any]
) -> types.FunctionType:
    """Return the function with some of its `for` loops unrolled.

    unroll: the variables of those loops. scope: the globals that the result will have.
    Integers among them may appear in the `range` of such a loop; an `if` that they
    decide is replaced by the branch taken. Lines keep their numbers.
    """
    lines, first = inspect.getsourcelines(function)
    tree = ast.parse(textwrap.dedent("".join(lines)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.decorator_list = []
    numbers = {n: v for n, v in scope.items() if type(v) is int}
    tree = ast.fix_missing_locations(_Unroll(set(unroll), numbers).visit(tree))
    ast.increment_lineno(tree, first - 1)
    made = dict(scope)
    exec(compile(tree, function.__code__.co_filename, "exec"), made)
    result: types.FunctionType = made[function.__name__]
    return result


class _Unroll(ast.NodeTransformer):
    """Unrolls loops: the variable is replaced by its value in each iteration."""

    def __init__(self, unroll: set[str], numbers: Mapping[str, int]) -> None:
        self._unroll, self._numbers = unroll, numbers

    def _value(self, node: ast.expr) -> int | None:
        """Return the integer value of an expression, or None if it is not known."""
        try:
            code = compile(ast.Expression(node), "", "eval")
            value = eval(code, {"__builtins__": {}}, dict(self._numbers))
        except Exception:
            return None
        return value if isinstance(value, int) else None

    def all(self, statements: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Visit statements, each of which may become several."""
        made = [self.visit(statement) for statement in statements]
        return [n for m in made for n in (m if isinstance(m, list) else [m])]

    def visit_For(self, node: ast.For) -> Any:
        """Unroll a loop over a chosen variable.

        Raises ValueError for limits that are not constants.
        """
        call, target = node.iter, node.target
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id == "range"
            and isinstance(target, ast.Name)
            and target.id in self._unroll
        ):
            limits = [self._value(a) for a in call.args]
            if None in limits:
                raise ValueError(
                    f"the loop over {target.id} in line {node.lineno} cannot be "
                    "written out: its limits are no constants"
                )
            body: list[ast.stmt] = []
            for turn in range(*limits):  # type: ignore[arg-type]
                inner = _Unroll(self._unroll, {**self._numbers, target.id: turn})
                fill = _Fill(target.id, turn)
                body += inner.all(fill.visit(copy.deepcopy(n)) for n in node.body)
            return body
        self.generic_visit(node)
        return node

    def visit_If(self, node: ast.If) -> Any:
        value = self._value(node.test)
        if value is None:
            self.generic_visit(node)
            return node
        body = self.all(node.body if value else node.orelse)
        return body or ast.copy_location(ast.Pass(), node)


class _Fill(ast.NodeTransformer):
    """Replaces a name with a number."""

    def __init__(self, name: str, number: int) -> None:
        self._name, self._number = name, number

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id == self._name and isinstance(node.ctx, ast.Load):
            return ast.copy_location(ast.Constant(self._number), node)
        return node
