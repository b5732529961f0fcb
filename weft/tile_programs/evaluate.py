"""The instructions of a tile kernel, executed in NumPy, one program at a time.

A tile is a NumPy array, and a view is a `View`. Values have the type that cuTile's
compiler gave them. If NumPy lacks that type, they are float32, and are rounded after
each instruction if the type is bfloat16 or tfloat32. Memory is accessed by address (see
`Memory`).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from weft.places import Place
from weft.tile_programs.cutile import Refused, dtype_of, located, pointee

Array = np.ndarray[Any, Any]


class Unsupported(Exception):
    """Raised for an instruction that is not simulated."""

    def __init__(self, what: str, places: tuple[Place, ...]) -> None:
        super().__init__(what)
        self.what, self.places = what, places


class TooLong(Exception):
    """Raised if a program runs too many instructions."""

    def __init__(self, places: tuple[Place, ...]) -> None:
        super().__init__("too many instructions")
        self.places = places


class Memory(Protocol):
    """Memory accessed by byte address, only where an access's mask `inside` is true."""

    def load(self, at: "Access", dtype: np.dtype[Any]) -> Array: ...

    def store(self, at: "Access", values: Array) -> None: ...

    def update(
        self, at: "Access", function: Callable[[Array, Array], Array], values: Array
    ) -> Array: ...


@dataclass(frozen=True)
class Access:
    """One load, store or atomic of one program.

    addresses: the address of each element of the tile. inside: which elements are
    accessed: for a view, those within the array; for pointers, those that the mask
    allows. padding: the value of the other elements, or None if unspecified. array: the
    first address of the accessed array, or 0 if unknown. whole: the view and the tile's
    index, or None for an access through pointers.
    """

    addresses: Array
    inside: Array
    padding: Any
    array: int
    whole: tuple["View", tuple[int, ...]] | None
    places: tuple[Place, ...]
    relaxed: bool = True


@dataclass(frozen=True)
class View:
    """An array, perhaps cut into tiles.

    start: the address of element 0. shape, strides: in elements, along the array's
    axes. tile, order, step: the shape of a tile, the array's axis for each axis of the
    tile, and the distance between tiles. padding: the value outside the array, or None
    if unspecified.
    """

    start: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tile: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    step: tuple[int, ...] = ()
    padding: Any = None

    @property
    def tiles(self) -> tuple[int, ...]:
        """The number of tiles along each axis, in the order of a tile's axes."""
        sizes = (self.shape[axis] for axis in self.order)
        return tuple(-(-n // s) for n, s in zip(sizes, self.step, strict=True))

    def elements(self, index: Sequence[int]) -> tuple[Array, Array]:
        """Return the addresses of a tile's elements, and which are inside the array."""
        where = np.zeros(self.tile, np.int64)
        inside = np.ones(self.tile, bool)
        for k, (axis, n) in enumerate(zip(self.order, self.tile, strict=True)):
            along = index[k] * self.step[k] + np.arange(n)
            along = along.reshape([-1 if j == k else 1 for j in range(len(self.tile))])
            where = where + along * self.strides[axis]
            inside = inside & (along >= 0) & (along < self.shape[axis])
        return self.start + where * self.dtype.itemsize, inside


class Done(Exception):
    """Raised to end a program that returns."""


class Evaluator:
    """Executes instructions for one program after another.

    most: the most instructions that a program may run.
    """

    def __init__(self, memory: Memory, grid: tuple[int, int, int], most: int) -> None:
        self._memory, self._grid, self._most = memory, grid, most
        self._places: dict[int, tuple[Place, ...]] = {}
        self._left = 0
        self.block = (0, 0, 0)
        self.now: Any = None  # the running instruction

    def run(
        self, body: Any, given: dict[str, Any], block: tuple[int, int, int]
    ) -> None:
        """Run one program. given: the value of each parameter."""
        self.block, self._left, self._values = block, self._most, dict(given)
        with suppress(Done):
            self._run(body)

    def here(self) -> tuple[Place, ...]:
        """Return the place of the running instruction, then those of its callers."""
        key = id(self.now)
        if key not in self._places:
            self._places[key] = located(self.now.loc)
        return self._places[key]

    def _run(self, block: Any) -> tuple[str, tuple[Any, ...]]:
        """Run a block of code; return how it ends, and the values it passes on."""
        values = self._values
        for operation in block:
            self.now = operation
            name = operation.op
            if name in ENDS:
                found = getattr(operation, ENDS[name], ())
                return name, tuple(values[v.name] for v in found)
            self._left -= 1
            if self._left < 0:
                raise TooLong(self.here())
            if (carry_out := OPERATIONS.get(name)) is None:
                raise Unsupported(name, self.here())
            found = carry_out(self, operation)
            results = operation.result_vars
            if len(results) != 1:
                for variable, value in zip(results, found or (), strict=False):
                    values[variable.name] = value
            else:
                values[results[0].name] = self._fit(found, results[0])
        return "", ()

    def _fit(self, value: Any, variable: Any) -> Any:
        """Convert a value to the type of its variable."""
        kind = variable.try_get_type()
        if not isinstance(value, np.ndarray | np.generic) or not hasattr(kind, "dtype"):
            return value
        wanted = dtype_of(kind.dtype)
        value = np.asarray(value)
        if value.dtype != wanted:
            value = value.astype(wanted)
        return rounded(value, str(kind.dtype))

    def get(self, variable: Any) -> Any:
        return self._values[variable.name]

    def all(self, variables: Sequence[Any]) -> list[Any]:
        return [self._values[v.name] for v in variables]

    # Control

    def if_else(self, op: Any) -> Any:
        """Run one of two blocks of code; return its values."""
        chosen = op.then_block if bool(self.get(op.cond)) else op.else_block
        how, found = self._run(chosen)
        if how == "return":
            raise Done
        if how in ("continue", "break"):
            raise Jump(how, found)
        if len(op.result_vars) == 1:
            return found[0]
        return found

    def loop(self, op: Any) -> Any:
        """Run a loop, counted or not, and return its final values."""
        state = tuple(self.all(op.initial_values))
        turns: Iterator[Any] = iter(lambda: None, 0)  # for ever
        if op.is_for_loop:
            start, stop, step = (int(self.get(v)) for v in (op.start, op.stop, op.step))
            turns = iter(range(start, stop, step))
        for turn in turns:
            if op.is_for_loop:
                self._values[op.induction_var.name] = np.int32(turn)
            for variable, value in zip(op.body_vars, state, strict=True):
                self._values[variable.name] = value
            try:
                how, found = self._run(op.body)
            except Jump as jump:
                how, found = jump.how, jump.values
            if how == "return":
                raise Done
            state = found
            if how == "break":
                break
        return state[0] if len(op.result_vars) == 1 else state

    def folded(self, op: Any, pairs: Sequence[tuple[Array, Array]]) -> list[Array]:
        """Run the body of a reduction or scan on tiles instead of single numbers."""
        flat = [value for pair in pairs for value in pair]
        for variable, value in zip(op.body.params, flat, strict=True):
            self._values[variable.name] = value
        kept = self.now
        _, found = self._run(op.body)
        self.now = kept
        return list(found)

    # Memory

    def access(self, op: Any) -> Access:
        """Return an operation's access to the tile that its view and index select."""
        view: View = self.get(op.view)
        index = tuple(int(i) for i in self.all(op.index))
        addresses, inside = view.elements(index)
        return Access(
            addresses, inside, view.padding, view.start, (view, index), self.here()
        )

    def pointed(self, op: Any, padding: Any = None) -> Access:
        """Return the access of `gather`, `scatter` or an atomic through pointers."""
        addresses = np.asarray(self.get(op.pointer))
        mask = getattr(op, "mask", None)
        inside = np.ones(addresses.shape, bool)
        if mask is not None:
            inside = np.broadcast_to(self.get(mask), addresses.shape)
        order = str(getattr(op, "memory_order", "RELAXED"))
        relaxed = "RELAXED" in order or "WEAK" in order
        return Access(addresses, inside, padding, 0, None, self.here(), relaxed)


class Jump(Exception):
    """Raised for `continue` or `break` inside a branch."""

    def __init__(self, how: str, values: tuple[Any, ...]) -> None:
        super().__init__(how)
        self.how, self.values = how, values


ENDS = {
    "continue": "values",
    "break": "values",
    "end_branch": "outputs",
    "return": "none",
}


def rounded(value: Array, kind: str) -> Array:
    """Round float32 numbers to a type that NumPy lacks; return others unchanged."""
    if kind not in KEPT or value.dtype != np.float32:
        return value
    bits = np.ascontiguousarray(value).view(np.uint32)
    drop = 23 - KEPT[kind]
    half = np.uint32((1 << (drop - 1)) - 1)
    odd = (bits >> np.uint32(drop)) & np.uint32(1)
    kept = (bits + half + odd) & np.uint32(~((1 << drop) - 1) & 0xFFFFFFFF)
    return np.where(np.isnan(value), value, kept.view(np.float32))


KEPT = {"bfloat16": 7, "tfloat32": 10}  # bits of the significand


# The instructions, by cuTile's names


def _shape(op: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = op.result_vars[0].get_type().shape
    return found


def _constant(run: Evaluator, op: Any) -> Array:
    kind = op.result_vars[0].get_type()
    return np.full(kind.shape, op.value, dtype_of(kind.dtype))


def _arithmetic(run: Evaluator, op: Any) -> Array:
    a, b = run.get(op.lhs), run.get(op.rhs)
    with np.errstate(all="ignore"):
        return BINARY[op.fn](np.asarray(a), np.asarray(b))


def _floor_divide(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.floor(a / b)
    return np.where(b == 0, -1, a // np.where(b == 0, 1, b))


def _remainder(a: Array, b: Array) -> Array:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    return np.where(b == 0, -1, np.fmod(a, np.where(b == 0, 1, b)))


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.divide,
    "floordiv": _floor_divide,
    "cdiv": lambda a, b: -_floor_divide(-a, b),
    "c_mod": _remainder,
    "pow": np.power,
    "atan2": np.arctan2,
    "min": np.fmin,
    "max": np.fmax,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}

UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "neg": np.negative,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "invert": np.invert,
    "bitwise_not": np.invert,
    **{
        name: getattr(np, name)
        for name in (
            "exp exp2 sin cos sinh cosh tan tanh log log2 sqrt floor ceil"
        ).split()
    },
}


def _unary(run: Evaluator, op: Any) -> Array:
    with np.errstate(all="ignore"):
        return UNARY[op.fn](np.asarray(run.get(op.operand)))


def _converted(run: Evaluator, op: Any) -> Array:
    x = np.asarray(run.get(op.x))
    wanted = dtype_of(op.result_vars[0].get_type().dtype)
    with np.errstate(all="ignore"):
        if x.dtype.kind == "f" and wanted.kind in "iu":
            info = np.iinfo(wanted)
            x = np.clip(np.nan_to_num(np.trunc(x), nan=0.0), info.min, info.max)
        return x.astype(wanted)


def _product(run: Evaluator, op: Any) -> Array:
    """Compute acc + x @ y as tensor cores do: exact products, summed in acc's type."""
    x, y, acc = (np.asarray(run.get(v)) for v in (op.x, op.y, op.acc))
    with np.errstate(all="ignore"):
        found: Array = np.matmul(x.astype(acc.dtype), y.astype(acc.dtype)) + acc
    return found


def _fused(run: Evaluator, op: Any) -> Array:
    a, b, c = (np.asarray(run.get(v)) for v in (op.lhs, op.rhs, op.acc))
    wide = np.float64 if a.dtype != np.float64 else np.longdouble
    with np.errstate(all="ignore"):
        found: Array = (a.astype(wide) * b + c).astype(a.dtype)
    return found


def _reduced(run: Evaluator, op: Any) -> Any:
    """Reduce an axis by combining its halves until one element is left.

    The length of the axis is a power of two.
    """
    parts = [np.asarray(x) for x in run.all(op.xs)]
    count = parts[0].shape[op.axis]
    while count > 1:
        count //= 2
        halves = [np.split(x, 2, op.axis) for x in parts]
        parts = run.folded(op, [(a, b) for a, b in halves])
    found = [np.squeeze(x, op.axis) for x in parts]
    return found[0] if len(found) == 1 else found


def _scanned(run: Evaluator, op: Any) -> Any:
    """Scan an axis one element after another, from its end if `reverse` is set."""
    parts = [np.moveaxis(np.asarray(x), op.axis, 0) for x in run.all(op.xs)]
    if op.reverse:
        parts = [x[::-1] for x in parts]
    done = [[x[0]] for x in parts]
    for k in range(1, len(parts[0])):
        pairs = [(d[-1], x[k]) for d, x in zip(done, parts, strict=True)]
        for d, value in zip(done, run.folded(op, pairs), strict=True):
            d.append(value)
    found = [np.stack(d) for d in done]
    if op.reverse:
        found = [x[::-1] for x in found]
    found = [np.moveaxis(x, 0, op.axis) for x in found]
    return found[0] if len(found) == 1 else found


def _array(run: Evaluator, op: Any) -> View:
    kind = op.result_vars[0].get_type()
    shape, strides = (
        tuple(int(v) for v in run.all(which)) for which in (op.shape, op.strides)
    )
    return View(int(run.get(op.base_ptr)), dtype_of(kind.dtype), shape, strides)


def _tiled(run: Evaluator, op: Any) -> View:
    array: View = run.get(op.array)
    kind = op.result_vars[0].get_type()
    shape = tuple(kind.tile_shape)
    if len(shape) != len(array.shape):  # `ct.store` itself does not check
        why = f"a tile of shape {shape} for an array of {len(array.shape)} axes"
        raise Refused(why, run.here())
    step = getattr(kind, "traversal_steps", shape)
    return View(
        array.start,
        array.dtype,
        array.shape,
        array.strides,
        shape,
        tuple(kind.order),
        tuple(step),
        PADDING[kind.padding_mode.name],
    )


PADDING = {
    "UNDETERMINED": None,
    "ZERO": 0.0,
    "NEG_ZERO": -0.0,
    "NAN": np.nan,
    "POS_INF": np.inf,
    "NEG_INF": -np.inf,
}


def _tile_counts(run: Evaluator, op: Any) -> Any:
    """Return the number of tiles along each axis of an array; a scalar for one axis."""
    found = [np.int32(count) for count in run.get(op.view).tiles]
    return found[0] if len(found) == 1 else found


def _load(run: Evaluator, op: Any) -> tuple[Any, None]:
    view: View = run.get(op.view)
    return run._memory.load(run.access(op), view.dtype), None


def _store(run: Evaluator, op: Any) -> tuple[None]:
    run._memory.store(run.access(op), np.asarray(run.get(op.tile)))
    return (None,)


def _gather(run: Evaluator, op: Any) -> tuple[Any, None]:
    kind = op.result_vars[0].get_type()
    given = op.padding_value
    padding = None if given is None else run.get(given)
    return run._memory.load(run.pointed(op, padding), dtype_of(kind.dtype)), None


def _scatter(run: Evaluator, op: Any) -> tuple[None]:
    run._memory.store(run.pointed(op), np.asarray(run.get(op.value)))
    return (None,)


def _offset(run: Evaluator, op: Any) -> Array:
    kind = op.pointer.get_type()
    size = pointee(kind).itemsize
    found: Array = (
        np.asarray(run.get(op.pointer)) + np.asarray(run.get(op.offset)) * size
    )
    return found


UPDATES: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": np.add,
    "ADD_INT": np.add,
    "ADD_FLOAT": np.add,
    "AND": np.bitwise_and,
    "OR": np.bitwise_or,
    "XOR": np.bitwise_xor,
    "XCHG": lambda old, new: new,
    "MAX_SIGNED": np.maximum,
    "MAX_UNSIGNED": np.maximum,
    "MIN_SIGNED": np.minimum,
    "MIN_UNSIGNED": np.minimum,
    "MAX": np.maximum,
    "MIN": np.minimum,
}


def _update(run: Evaluator, op: Any) -> tuple[Any, None]:
    change, values = UPDATES[op.mode.name], np.asarray(run.get(op.update))
    return run._memory.update(run.pointed(op), change, values), None


def _exchange(run: Evaluator, op: Any) -> tuple[Any, None]:
    wanted, new = np.asarray(run.get(op.expected)), np.asarray(run.get(op.desired))

    def change(old: Array, k: Array) -> Array:
        return np.where(old == wanted.ravel()[k], new.ravel()[k], old)

    at = run.pointed(op)
    numbers = np.arange(at.addresses.size).reshape(at.addresses.shape)
    return run._memory.update(at, change, numbers), None


def _slices(run: Evaluator, op: Any, shape: Sequence[int]) -> tuple[slice, ...]:
    index = [int(i) for i in run.all(op.index)]
    return tuple(slice(i * n, (i + 1) * n) for i, n in zip(index, shape, strict=True))


def _permuted(run: Evaluator, op: Any) -> Array:
    """Permute axes. Raises `Refused` for a repeated axis, which cuTile may overlook."""
    if len(set(op.axes)) < len(op.axes):
        raise Refused(f"repeated axis in {tuple(op.axes)}", run.here())
    return np.transpose(run.get(op.x), op.axes)


def _inserted(run: Evaluator, op: Any) -> Array:
    x, value = np.array(run.get(op.x)), np.asarray(run.get(op.value))
    x[_slices(run, op, value.shape)] = value
    return x


def _asserted(run: Evaluator, op: Any) -> tuple[()]:
    if not np.asarray(run.get(op.cond)).all():
        raise AssertionError(op.message)
    return ()


def _same(run: Evaluator, op: Any) -> Any:
    return run.get(op.x)


OPERATIONS: dict[str, Callable[[Evaluator, Any], Any]] = {
    "typed_const": _constant,
    "make_token": lambda run, op: None,
    "join_tokens": lambda run, op: None,
    "make_dummy": lambda run, op: None,
    "assume_bounded": _same,
    "assume_div_by": _same,
    "assign": lambda run, op: run.get(op.value),
    "tile_bid": lambda run, op: np.int32(run.block[op.axis]),
    "tile_num_blocks": lambda run, op: np.int32(run._grid[op.axis]),
    "tile_arange": lambda run, op: np.arange(_shape(op)[0]),
    "tile_reshape": lambda run, op: np.reshape(run.get(op.x), _shape(op)),
    "tile_broadcast": lambda run, op: np.broadcast_to(run.get(op.x), _shape(op)),
    "tile_permute": _permuted,
    "tile_cat": lambda run, op: np.concatenate([run.get(op.x), run.get(op.y)], op.axis),
    "tile_extract": lambda run, op: run.get(op.x)[_slices(run, op, op.shape)],
    "tile_insert": _inserted,
    "tile_astype": _converted,
    "tile_bitcast": lambda run, op: np.asarray(run.get(op.x)).view(
        dtype_of(op.result_vars[0].get_type().dtype)
    ),
    "tile_mma": _product,
    "tile_reduce": _reduced,
    "tile_scan": _scanned,
    "raw_binary_arith": _arithmetic,
    "raw_binary_bitwise": _arithmetic,
    "raw_bitwise_shift": _arithmetic,
    "raw_cmp": _arithmetic,
    "raw_fpowi": lambda run, op: np.power(run.get(op.base), run.get(op.exponent)),
    "raw_where": lambda run, op: np.where(
        run.get(op.cond), run.get(op.x), run.get(op.y)
    ),
    "unaryop": _unary,
    "fma": _fused,
    "make_tensor_view": _array,
    "make_partition_view": _tiled,
    "make_strided_view": _tiled,
    "num_tiles": _tile_counts,
    "tile_load": _load,
    "tile_store": _store,
    "load_pointer": _gather,
    "store_pointer": _scatter,
    "pointer_offset": _offset,
    "tile_atomic_rmw": _update,
    "tile_atomic_cas": _exchange,
    "assert": _asserted,
    "tile_printf": lambda run, op: (),
    "ifelse": Evaluator.if_else,
    "loop": Evaluator.loop,
}
