"""What Numba's kernels lack: wide accesses, words that others watch, pairs of bfloat16.

A thread that reads `x[i], x[i + 1], x[i + 2], x[i + 3]` issues four 32-bit loads.
`load4(x, i)` issues one of 128 bits: a quarter of the instructions and of the
requests for the same bytes. The address must be a multiple of 16 bytes, so `i`
must be a multiple of 4 and the array must begin on such an address (every array
that PyTorch or Numba allocates does; a slice such as `x[1:]` does not). So does an
array of a kernel that is declared with `alignment=16`, or is the only shared one. The
elements are float32, int32 or uint32.

On a GPU the two functions are Numba intrinsics (LLVM `load <4 x float>, align 16`,
which becomes PTX `ld.global.v4`: PTX ISA, "Vectors" and "ld"). In the simulator they
are the plain Python twins below, which also refuse an index that is not aligned.

Three more are the same accesses with a hint to the caches, in inline PTX, for global
memory alone: `load4_cs` and `store4_cs` (streaming: likely to be accessed once, so the
first to be evicted; PTX ISA, "Cache Operators") and `load4_nc` (read-only for as long
as the kernel runs; PTX ISA, "ld.global.nc"). A hint changes no result.

`peek(x, i)` and `poke(x, i, value)` are a load and a store of one 4- or 8-byte number
in global memory that another block may store or load at the same time (PTX ISA,
"ld.relaxed.gpu" and "st.relaxed.gpu"). The number arrives whole, never half of it, and
a loop around `peek` looks again each time, which a loop around `x[i]` need not. They
order nothing else: put `cuda.threadfence()` before the `poke` and after the `peek`
where other data goes with the number.

`bf16_pair`, `bf16_low`, `bf16_high` and `bf16_max` work on an int32 that holds two
bfloat16, the one with the lower address in the lower half (PTX ISA, "cvt.rn.bf16x2.f32"
and "max.bf16x2"; compute capability 8.0 or higher).

`exp2(x)` is 2 to the power of a float32 in one instruction, right to about 22 bits,
and 0 where the result would be below 2 to the power of -126 (PTX ISA,
"ex2.approx.ftz.f32").

`mul_wide(a, b)` is the product of two uint32, all 64 bits of it, as two uint32: the
upper half and the lower (PTX ISA, "mul.wide.u32").

`copy_async(tile, i, x, j, inside)` and `copy4_async` start a copy of one element, or of
four, from global memory to shared memory, past the registers; where `inside` is false,
`x` is not read and zeros arrive. `commit_group()` makes a group of the copies that the
thread has started since the last, `wait_group(n)` waits until all but its last n groups
have arrived: for this thread, so that a barrier has to follow before others look. Until
then nobody may touch the cells (PTX ISA, "cp.async" with `ignore-src`; compute
capability 8.0 or higher).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

import numba
import numpy as np

__all__ = [
    "TWIN",
    "bf16_high",
    "bf16_low",
    "bf16_max",
    "bf16_pair",
    "commit_group",
    "copy4_async",
    "copy_async",
    "exp2",
    "load4",
    "load4_cs",
    "load4_nc",
    "mul_wide",
    "peek",
    "poke",
    "store4",
    "store4_cs",
    "wait_group",
]


class Misaligned(ValueError):
    """Four numbers that do not begin on a boundary of 16 bytes."""

    def __init__(self, message: str, why: str) -> None:
        super().__init__(f"{message}. {why}")
        self.message, self.why = message, why


type_of_index = "an integer, or (row, column) for a matrix"


def _refuse(call: str, x: Any) -> str:
    """Say why `x` cannot be accessed four numbers at a time; "" if it can.

    Works on NumPy arrays, on the simulator's arrays and on Numba's array types.
    """
    if str(x.dtype) not in ("float32", "int32", "uint32"):
        return f"{call} moves four numbers of 4 bytes; this array holds {x.dtype}"
    if x.ndim > 2:
        return f"{call} takes a vector or a matrix; this array has {x.ndim} axes"
    return ""


def _first(call: str, x: Any, index: Any) -> tuple[Any, ...]:
    """Check alignment and return the index of the first element as a tuple."""
    wrong = _refuse(call, x)
    if wrong:
        raise TypeError(wrong)
    at = index if isinstance(index, tuple) else (index,)
    if len(at) != x.ndim:
        needed = "(row, column) for a matrix" if x.ndim == 2 else "an integer"
        raise TypeError(f"{call}: the index must be {needed}; got {index!r}")
    element = at[0] * x.shape[1] + at[1] if x.ndim == 2 else at[0]
    if element % 4:
        where = f"{getattr(x, '_name', 'x')}[{', '.join(str(int(k)) for k in at)}]"
        if x.ndim == 2:
            where += f", which is element {int(element)} of the array"
        row = ""
        if x.ndim == 2 and at[1] % 4 == 0:
            row = (
                f" Row {int(at[0])} does not begin on one, since rows of "
                f"{x.shape[1]} elements do not fill whole pieces of 16 bytes."
            )
        raise Misaligned(
            f"`{call}` begins at {where}; {int(element)} is not a multiple of 4",
            "It moves 16 bytes at once, and those must begin on a boundary of 16 "
            f"bytes: at every fourth {x.dtype}.{row} On a GPU this is the error "
            "`misaligned address`, which ends the program.",
        )
    if getattr(x, "_loose", False):
        made = f"cuda.{x._space}.array(..., alignment=16)"
        raise Misaligned(
            f"`{call}` is given {x._name}, which need not begin on a boundary of 16 "
            "bytes",
            f"It moves 16 bytes at once, and those must begin on one. Beside other "
            f"arrays {x._name} begins at any boundary of {x.dtype.itemsize} bytes, "
            f"unless it is made by `{made}`. On a GPU this may be the error "
            "`misaligned address`, which ends the program.",
        )
    return at


def _together(x: Any) -> AbstractContextManager[None]:
    """Let a traced array count four accesses as one of 16 bytes."""
    as_one = getattr(x, "as_one", None)
    return nullcontext() if as_one is None else as_one(16)


def _shared(x: Any) -> bool:
    return getattr(x, "_space", "global") == "shared"


def _global_only(call: str, x: Any) -> None:
    if _shared(x):
        raise TypeError(
            f"{call} is for global memory: there are no caches to advise for shared "
            f"memory. Use {call.partition('_')[0]}"
        )


def _read(call: str, x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    """Simulate a load: four reads, after a check of the alignment."""
    *row, i = _first(call, x, index)
    with _together(x):
        if row:
            r = row[0]
            return x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3]
        return x[i], x[i + 1], x[i + 2], x[i + 3]


def _write(call: str, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    """Simulate a store: four writes, after a check of the alignment."""
    *row, i = _first(call, x, index)
    with _together(x):
        if row:
            r = row[0]
            x[r, i], x[r, i + 1], x[r, i + 2], x[r, i + 3] = a, b, c, d
        else:
            x[i], x[i + 1], x[i + 2], x[i + 3] = a, b, c, d


def _load4(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    return _read("load4", x, index)


def _load4_cs(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    _global_only("load4_cs", x)
    return _read("load4_cs", x, index)


def _load4_nc(x: Any, index: Any) -> tuple[Any, Any, Any, Any]:
    _global_only("load4_nc", x)
    return _read("load4_nc", x, index)


def _store4(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    _write("store4", x, index, a, b, c, d)


def _store4_cs(x: Any, index: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    _global_only("store4_cs", x)
    _write("store4_cs", x, index, a, b, c, d)


def _refuse_word(call: str, x: Any) -> str:
    """Say why no element of `x` can be stored and loaded whole; "" if they can."""
    if str(x.dtype) not in ("int32", "uint32", "float32", "int64", "uint64", "float64"):
        return f"{call} takes numbers of 4 or 8 bytes; this array holds {x.dtype}"
    return ""


def _word(call: str, x: Any, index: Any) -> None:
    wrong = _refuse_word(call, x)
    if not wrong and _shared(x):
        wrong = f"{call} is for global memory, which other blocks see as well"
    parts = index if isinstance(index, tuple) else (index,)
    if not wrong and len(parts) != x.ndim:
        wrong = f"{call}: the index must name one element; got {index!r}"
    if wrong:
        raise TypeError(wrong)


def _peek(x: Any, index: Any) -> Any:
    _word("peek", x, index)
    return x[index]


def _poke(x: Any, index: Any, value: Any) -> None:
    _word("poke", x, index)
    x[index] = value


class Copies:
    """The asynchronous copies that one thread has under way.

    A copy clears its cells at once and fills them when it is waited for: who reads too
    early finds nothing there, and who still reads what was there collides with it.
    """

    def __init__(self, clear: Callable[[Any, Any], None]) -> None:
        self._clear = clear
        self._started: list[tuple[Any, Any, Any]] = []
        self._groups: list[list[tuple[Any, Any, Any]]] = []

    def copy(self, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
        """Start a copy of one element."""
        _may_copy("copy_async", tile, x)
        self._clear(tile, i)
        self._started.append((tile, i, x[j] if inside else x.dtype.type(0)))

    def copy4(self, tile: Any, i: Any, x: Any, j: Any, inside: Any) -> None:
        """Start a copy of four elements."""
        _may_copy("copy4_async", tile, x)
        _first("copy4_async", tile, i)
        zero = x.dtype.type(0)
        four = _read("copy4_async", x, j) if inside else (zero, zero, zero, zero)
        *row, col = i if isinstance(i, tuple) else (i,)
        with _together(tile):
            for n in range(4):
                self._clear(tile, (*row, col + n) if row else col + n)
        self._started.append((tile, i, four))

    def commit(self) -> None:
        """Make a group of what was started."""
        self._groups.append(self._started)
        self._started = []

    def wait(self, n: Any) -> None:
        """Fill the cells of all groups but the last n."""
        done = len(self._groups) - int(n)
        for tile, i, value in (c for g in self._groups[: max(done, 0)] for c in g):
            if isinstance(value, tuple):
                _write("copy4_async", tile, i, *value)
            else:
                tile[i] = value
        del self._groups[: max(done, 0)]


def _may_copy(call: str, tile: Any, x: Any) -> None:
    """Raise TypeError unless `call` can copy from `x` to `tile`."""
    wrong = _refuse(call, tile) or _refuse(call, x)
    if not wrong and tile.dtype != x.dtype:
        wrong = f"{call} copies bytes: {x.dtype} does not become {tile.dtype}"
    if not wrong and not _shared(tile):
        wrong = f"{call} copies to shared memory, which its first argument is not"
    if not wrong and _shared(x):
        wrong = f"{call} copies from global memory; its third argument is shared"
    if wrong:
        raise TypeError(wrong)


def _outside(*_: Any) -> None:
    raise TypeError("an asynchronous copy is a kernel's")


def _bits(value: Any) -> int:
    """The bits of `value`, an integer or a number that becomes a float32."""
    if isinstance(value, (int, np.integer)):
        return int(value) & 0xFFFFFFFF
    return int(np.float32(value).view(np.uint32))


def _half(value: Any) -> int:
    """The 16 bits of the bfloat16 nearest to a float32, of two the even one."""
    if value != value:
        return 0x7FFF
    bits = _bits(np.float32(value))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _int32(bits: int) -> Any:
    return np.uint32(bits).view(np.int32)


def _bf16_pair(low: Any, high: Any) -> Any:
    return _int32(_half(high) << 16 | _half(low))


def _bf16_low(word: Any) -> Any:
    return np.uint32(_bits(word) << 16 & 0xFFFFFFFF).view(np.float32)


def _bf16_high(word: Any) -> Any:
    return np.uint32(_bits(word) & 0xFFFF0000).view(np.float32)


def _bf16_max(a: Any, b: Any) -> Any:
    low = np.fmax(_bf16_low(a), _bf16_low(b))
    return _bf16_pair(low, np.fmax(_bf16_high(a), _bf16_high(b)))


def _mul_wide(a: Any, b: Any) -> tuple[Any, Any]:
    product = _bits(a) * _bits(b)
    return np.uint32(product >> 32), np.uint32(product & 0xFFFFFFFF)


def _exp2(x: Any) -> Any:
    result = np.exp2(np.float32(x))
    return np.float32(0) if result < np.float32(2**-126) else result


def _build() -> dict[str, Any]:
    """Make the GPU's functions, by name.

    Both of Numba-CUDA 0.22 and 0.30 keep `intrinsic` in `numba.cuda.extending`.
    """
    from llvmlite import ir
    from numba.core.errors import TypingError
    from numba.cuda.extending import intrinsic

    cgutils: Any = import_module("numba.cuda.cgutils")
    types: Any = import_module("numba.cuda.types")
    address, lane = ir.IntType(64), ir.IntType(32)

    def check(call: str, x: Any, index: Any) -> None:
        """Raise TypingError, in words, unless `x[index]` can be what `call` moves."""
        if not isinstance(x, types.Array):
            raise TypingError(f"{call}: the first argument must be an array, not {x}")
        word = call in ("peek", "poke")
        wrong = _refuse_word(call, x) if word else _refuse(call, x)
        if not wrong and x.layout != "C" and not word:
            wrong = (
                f"{call} needs a C-contiguous array: four neighbours in memory. "
                "This one is a strided view"
            )
        kinds = tuple(index) if isinstance(index, types.BaseTuple) else (index,)
        if not wrong and (
            len(kinds) != x.ndim or not all(isinstance(k, types.Integer) for k in kinds)
        ):
            wrong = f"{call}: the index must be {type_of_index}; got {index}"
        if wrong:
            raise TypingError(wrong)

    def pointer(context: Any, builder: Any, kinds: Any, values: Any) -> Any:
        """Return the address of `x[index]`."""
        array, index = kinds[:2]
        if isinstance(index, types.BaseTuple):
            parts = list(
                zip(index, cgutils.unpack_tuple(builder, values[1]), strict=True)
            )
        else:
            parts = [(index, values[1])]
        at = [context.cast(builder, v, kind, types.intp) for kind, v in parts]
        struct = context.make_array(array)(context, builder, values[0])
        return cgutils.get_item_pointer(
            context, builder, array, struct, at, wraparound=False
        )

    def assembly(
        builder: Any, result: Any, text: str, kinds: str, args: Any, stays: bool = True
    ) -> Any:
        """Call a line of PTX; it `stays` where it is, and is never left out."""
        signature = ir.FunctionType(result, [v.type for v in args])
        line = ir.InlineAsm(signature, text, kinds, side_effect=stays)
        return builder.call(line, args)

    def letters(kind: Any) -> tuple[Any, str, str]:
        """How LLVM, inline assembly and PTX call numbers of a Numba type."""
        if isinstance(kind, types.Float):
            wide = kind.bitwidth == 64
            return (
                ir.DoubleType() if wide else ir.FloatType(),
                "d" if wide else "f",
                f"f{kind.bitwidth}",
            )
        letter = "l" if kind.bitwidth == 64 else "r"
        return ir.IntType(kind.bitwidth), letter, f"u{kind.bitwidth}"

    def load(call: str, hint: str = "") -> Any:
        def load4(typingctx: Any, x: Any, index: Any) -> Any:
            """Read `x[index]` and the three elements after it in one 128-bit load.

            x: float32, int32 or uint32, C-contiguous, `(n,)` or `(rows, columns)`;
            index: an integer, or `(row, column)`, of an element whose position in
            memory is a multiple of 4. Returns four numbers of the array's type. Nothing
            checks the index: guard it as you would `x[i]`, with `i + 3 < x.size`.
            """
            check(call, x, index)
            number, letter, name = letters(x.dtype)

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                at = pointer(context, builder, signature.args, args)
                if hint:
                    text = f"ld.global.{hint}.v4.{name} {{$0,$1,$2,$3}}, [$4];"
                    kinds = f"={letter}," * 4 + "l,~{memory}"
                    at = builder.ptrtoint(at, address)
                    four = ir.LiteralStructType([number] * 4)
                    got = assembly(builder, four, text, kinds, [at])
                    parts = [builder.extract_value(got, k) for k in range(4)]
                else:
                    vector = ir.VectorType(number, 4).as_pointer()
                    got = builder.load(builder.bitcast(at, vector))
                    got.align = 16
                    parts = [builder.extract_element(got, lane(k)) for k in range(4)]
                return context.make_tuple(builder, signature.return_type, parts)

            return types.UniTuple(x.dtype, 4)(x, index), codegen

        load4.__name__ = load4.__qualname__ = call
        return intrinsic(load4)

    def store(call: str, hint: str = "") -> Any:
        def store4(
            typingctx: Any, x: Any, index: Any, a: Any, b: Any, c: Any, d: Any
        ) -> Any:
            """Write a, b, c, d to `x[index]` and the three elements after it at once.

            The same conditions as for `load4`. The values are converted to the array's
            type.
            """
            check(call, x, index)
            number, letter, name = letters(x.dtype)
            vector, f = ir.VectorType(number, 4), x.dtype

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                to = pointer(context, builder, signature.args, args)
                if hint:
                    text = f"st.global.{hint}.v4.{name} [$0], {{$1,$2,$3,$4}};"
                    kinds = "l," + f"{letter}," * 4 + "~{memory}"
                    values = [builder.ptrtoint(to, address), *args[2:]]
                    assembly(builder, ir.VoidType(), text, kinds, values)
                    return context.get_dummy_value()
                four = ir.Constant(vector, ir.Undefined)
                for k, value in enumerate(args[2:]):
                    four = builder.insert_element(four, value, lane(k))
                to = builder.bitcast(to, vector.as_pointer())
                builder.store(four, to).align = 16
                return context.get_dummy_value()

            return types.void(x, index, f, f, f, f), codegen

        store4.__name__ = store4.__qualname__ = call
        return intrinsic(store4)

    @intrinsic
    def peek(typingctx: Any, x: Any, index: Any) -> Any:
        """Load `x[index]`, which another block may store meanwhile.

        x: numbers of 4 or 8 bytes in global memory. Relaxed: orders nothing else.
        """
        check("peek", x, index)
        number, letter, name = letters(x.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            at = pointer(context, builder, signature.args, args)
            text = f"ld.relaxed.gpu.global.{name} $0, [$1];"
            kinds = f"={letter},l,~{{memory}}"
            at = builder.ptrtoint(at, address)
            return assembly(builder, number, text, kinds, [at])

        return x.dtype(x, index), codegen

    @intrinsic
    def poke(typingctx: Any, x: Any, index: Any, value: Any) -> Any:
        """Store `value` to `x[index]`, which another block may load meanwhile.

        The same conditions as for `peek`; the value is converted to the array's type.
        """
        check("poke", x, index)
        _, letter, name = letters(x.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            to = pointer(context, builder, signature.args, args)
            text = f"st.relaxed.gpu.global.{name} [$0], $1;"
            values = [builder.ptrtoint(to, address), args[2]]
            kinds = f"l,{letter},~{{memory}}"
            assembly(builder, ir.VoidType(), text, kinds, values)
            return context.get_dummy_value()

        return types.void(x, index, x.dtype), codegen

    def copier(call: str, size: int, cache: str) -> Any:
        def copy_async(
            typingctx: Any, tile: Any, i: Any, x: Any, j: Any, inside: Any
        ) -> Any:
            """Start a copy from `x[j]`, in global memory, to `tile[i]`, in shared.

            `copy4_async` copies four elements, whose first ones must lie on boundaries
            of 16 bytes. Where `inside` is false, zeros arrive and `x` is not read.
            """
            check(call, tile, i)
            check(call, x, j)
            if tile.dtype != x.dtype:
                raise TypingError(f"{call}: {x.dtype} does not become {tile.dtype}")

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                kinds = signature.args
                to = pointer(context, builder, kinds[:2], args[:2])
                shared = ir.PointerType(to.type.pointee, 3)
                to = builder.ptrtoint(builder.addrspacecast(to, shared), lane)
                source = pointer(context, builder, kinds[2:4], args[2:4])
                source = builder.ptrtoint(source, address)
                inside = context.cast(builder, args[4], kinds[4], types.int32)
                text = (
                    "{ .reg .pred p; setp.eq.b32 p, $2, 0; cp.async."
                    f"{cache}.shared.global [$0], [$1], {size}, p; }}"
                )
                letters = "r,l,r,~{memory}"
                assembly(builder, ir.VoidType(), text, letters, [to, source, inside])
                return context.get_dummy_value()

            return types.void(tile, i, x, j, types.boolean), codegen

        copy_async.__name__ = copy_async.__qualname__ = call
        return intrinsic(copy_async)

    def order(builder: Any, context: Any, text: str) -> Any:
        assembly(builder, ir.VoidType(), text, "~{memory}", [])
        return context.get_dummy_value()

    @intrinsic
    def commit_group(typingctx: Any) -> Any:
        """Make a group of the copies that this thread has started."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return order(builder, context, "cp.async.commit_group;")

        return types.void(), codegen

    def wait_group(typingctx: Any, n: Any) -> Any:
        """Wait until all of this thread's groups but the last n have arrived.

        n: a number that is known when the kernel is compiled.
        """
        if not isinstance(n, types.IntegerLiteral):
            raise TypingError("wait_group: write a number, or the name of a constant")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = n.literal_value
            return order(builder, context, f"cp.async.wait_group {number};")

        return types.void(n), codegen

    def plain(call: str, text: str, result: Any, kinds: str, *takes: Any) -> Any:
        """Make a function of numbers from one piece of PTX."""
        number, stays = letters(result)[0], "prmt" in text

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return assembly(builder, number, text, kinds, args, stays)

        def one(typingctx: Any, a: Any) -> Any:
            return result(*takes), codegen

        def two(typingctx: Any, a: Any, b: Any) -> Any:
            return result(*takes), codegen

        function = one if len(takes) == 1 else two
        function.__name__ = function.__qualname__ = call
        function.__doc__ = f"See `weft.intrinsics`: {text}"
        return intrinsic(function)

    @intrinsic
    def mul_wide(typingctx: Any, a: Any, b: Any) -> Any:
        """Return the upper and the lower half of the product of two uint32."""
        word = types.uint32

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            text = "{ .reg .u64 t; mul.wide.u32 t, $2, $3; mov.b64 {$1, $0}, t; }"
            halves = ir.LiteralStructType([lane, lane])
            got = assembly(builder, halves, text, "=r,=r,r,r", args, False)
            parts = [builder.extract_value(got, k) for k in range(2)]
            return context.make_tuple(builder, signature.return_type, parts)

        return types.UniTuple(word, 2)(word, word), codegen

    i, f = types.int32, types.float32
    # A word is unpacked anew each time it is asked for: the assembly stays where it
    # is, and so the compiler does not keep two registers for what one can hold.
    half = "{{ .reg .b32 t; prmt.b32 t, $1, 0, {}; mov.b32 $0, t; }}"
    pairs = [
        plain("bf16_pair", "cvt.rn.bf16x2.f32 $0, $2, $1;", i, "=r,f,f", f, f),
        plain("bf16_low", half.format("0x1044"), f, "=f,r", i),
        plain("bf16_high", half.format("0x3244"), f, "=f,r", i),
        plain("bf16_max", "max.bf16x2 $0, $1, $2;", i, "=r,r,r", i, i),
        plain("exp2", "ex2.approx.ftz.f32 $0, $1;", f, "=f,f", f),
    ]
    names = "bf16_pair", "bf16_low", "bf16_high", "bf16_max", "exp2"

    return {
        "load4": load("load4"),
        "load4_cs": load("load4_cs", "cs"),
        "load4_nc": load("load4_nc", "nc"),
        "store4": store("store4"),
        "store4_cs": store("store4_cs", "cs"),
        "mul_wide": mul_wide,
        "peek": peek,
        "poke": poke,
        "copy_async": copier("copy_async", 4, "ca"),
        "copy4_async": copier("copy4_async", 16, "cg"),
        "commit_group": commit_group,
        "wait_group": intrinsic(wait_group),
    } | dict(zip(names, pairs, strict=True))


# What a kernel calls in the simulator, which makes `peek` and `poke` known to others
# and gives each thread `Copies` of its own.
TWIN: dict[str, Callable[..., Any]] = {
    "load4": _load4,
    "load4_cs": _load4_cs,
    "load4_nc": _load4_nc,
    "store4": _store4,
    "store4_cs": _store4_cs,
    "mul_wide": _mul_wide,
    "peek": _peek,
    "poke": _poke,
    "copy_async": lambda *_: _outside(),
    "copy4_async": lambda *_: _outside(),
    "commit_group": lambda *_: _outside(),
    "wait_group": lambda *_: _outside(),
    "bf16_pair": _bf16_pair,
    "bf16_low": _bf16_low,
    "bf16_high": _bf16_high,
    "bf16_max": _bf16_max,
    "exp2": _exp2,
}
for _name, _twin in TWIN.items():  # what Python calls it in an error
    _twin.__qualname__ = _name
_config: Any = numba.config
_here: dict[str, Any] = TWIN if _config.ENABLE_CUDASIM else _build()

load4: Any = _here["load4"]
load4_cs: Any = _here["load4_cs"]
load4_nc: Any = _here["load4_nc"]
store4: Any = _here["store4"]
store4_cs: Any = _here["store4_cs"]
mul_wide: Any = _here["mul_wide"]
peek: Any = _here["peek"]
poke: Any = _here["poke"]
bf16_pair: Any = _here["bf16_pair"]
bf16_low: Any = _here["bf16_low"]
bf16_high: Any = _here["bf16_high"]
bf16_max: Any = _here["bf16_max"]
exp2: Any = _here["exp2"]
copy_async: Any = _here["copy_async"]
copy4_async: Any = _here["copy4_async"]
commit_group: Any = _here["commit_group"]
wait_group: Any = _here["wait_group"]
