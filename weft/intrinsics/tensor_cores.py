"""Products of small matrices, computed by a whole warp: what a tensor core does.

PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions", "mma.sync", with its
figures of the fragments of m16n8k16; "cvt.rna.tf32".

Each of the 32 lanes holds a few 32-bit words of each matrix, its *fragment*. Counted
in words, the layout is the same for all formats: `a` is 16 × 8 words, `b` is 8 words ×
8, `c` is 16 × 8 float32. Lane 4 * g + t has

    a: (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)
    b: (t, g), (t + 4, g)
    c: (g, 2 * t), (g, 2 * t + 1), (g + 8, 2 * t), (g + 8, 2 * t + 1)

and a word holds one tf32, two float16 or bfloat16, or four float8, neighbours along k.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.formats import BFLOAT16, E4M3, FLOAT16, TF32, Format
from weft.intrinsics.lowering import Lowering, computes
from weft.intrinsics.memory import as_one
from weft.intrinsics.registry import Effect, Lanes, Operation, operation, register

Array = np.ndarray[Any, Any]
Calls = dict[int, tuple[Any, ...]]

_G, _T = np.divmod(np.arange(32), 4)
_WORDS = ("int32", "uint32", "float32")


def matrix_a(fragments: Array) -> Array:
    """Return the words of `a`, shaped (16, 8) or (16, 4). Lane l has `fragments[l]`."""
    found = np.zeros((16, 2 * fragments.shape[1]), fragments.dtype)
    for k in range(fragments.shape[1]):
        found[_G + 8 * (k % 2), _T + 4 * (k // 2)] = fragments[:, k]
    return found


def matrix_b(fragments: Array) -> Array:
    """Return the words of `b`, shaped (8, 8) or (4, 8). Lane l has `fragments[l]`."""
    found = np.zeros((4 * fragments.shape[1], 8), fragments.dtype)
    for k in range(fragments.shape[1]):
        found[_T + 4 * k, _G] = fragments[:, k]
    return found


def matrix_c(fragments: Array) -> Array:
    """Return the matrix `c`, shaped (16, 8). Lane l holds `fragments[l]`."""
    found = np.zeros((16, 8), fragments.dtype)
    for k in range(4):
        found[_G + 8 * (k // 2), 2 * _T + k % 2] = fragments[:, k]
    return found


def fragments_c(matrix: Array) -> Array:
    """Return the fragments of a (16, 8) matrix: row l is what lane l holds."""
    return np.stack([matrix[_G + 8 * (k // 2), 2 * _T + k % 2] for k in range(4)], 1)


def product(a: Array, b: Array, c: Array, form: Format) -> Array:
    """Compute `a @ b + c` in float64, where `a` and `b` hold words of `form`.

    The products are exact, and the sums nearly so. A GPU's sums are less exact: chapter
    21 measures their errors.
    """
    numbers_a = form.values(a).reshape(16, -1).astype(np.float64)
    numbers_b = form.values(b).astype(np.float64)
    numbers_b = numbers_b.transpose(0, 2, 1).reshape(-1, 8)
    with np.errstate(all="ignore"):
        found: Array = numbers_a @ numbers_b + c
    return found


def _in_registers(x: Any) -> bool:
    return getattr(x, "_space", "") == "local"


def _read(fragment: Any) -> list[Any]:
    """Read the words of a fragment, as one access if it is a local array."""
    if not _in_registers(fragment):
        return [fragment[k] for k in range(len(fragment))]
    with as_one(fragment, len(fragment)):
        first = fragment[0]
    return [first, *fragment._data[1:]]


class _Fragment:
    """The requirement that an argument be an array, or a tuple, of `size` words."""

    def __init__(self, call: str, name: str, size: int, kinds: tuple[str, ...]) -> None:
        self._call, self._name, self._size, self._kinds = call, name, size, kinds
        self._dtypes = frozenset(map(np.dtype, kinds))

    def of(self, given: Any) -> list[Any]:
        """Return the words of a lane's argument. Raises TypeError if it is invalid."""
        vector = getattr(given, "ndim", None) == 1 or isinstance(given, tuple)
        if vector and len(given) == self._size:
            if _in_registers(given) and given.dtype in self._dtypes:
                return _read(given)
            values = _read(given)
            if {getattr(v, "dtype", None) for v in values} <= self._dtypes:
                return values
        raise TypeError(self._refusal(given))

    def _refusal(self, given: Any) -> str:
        """Return a message that says what is required and what was given instead."""
        kinds = " or ".join(k for k in self._kinds if k != "uint32")
        plural = "s" * (self._size > 1)
        asks = (
            f"{self._call}: `{self._name}` is an array of {self._size} "
            f"number{plural}, {kinds}"
        )
        if not hasattr(given, "__len__"):
            return f"{asks}; got a single number"
        shape = tuple(getattr(given, "shape", (len(given),)))
        if shape != (self._size,):
            return f"{asks}; got one of shape {shape}"
        types = {str(getattr(v, "dtype", type(v).__name__)) for v in given}
        return f"{asks}; got {', '.join(sorted(types))}"


class Mma:
    """An `mma.sync` instruction.

    form: the format of `a` and `b`. words: the instruction's size along k, in 32-bit
    words. half: whether the sums are float16, two to a word, rather than float32.
    """

    def __init__(
        self, name: str, form: Format, *, words: int = 8, half: bool = False
    ) -> None:
        self.name, self.form, self.half = name, form, half
        self.sizes = (2 if half else 4), words // 2, words // 4  # of c, a, b
        sums = _WORDS[:2] if half else ("float32",)
        self._asked = [
            _Fragment(name, argument, size, kinds)
            for argument, size, kinds in zip(
                "cab", self.sizes, (sums, _WORDS, _WORDS), strict=True
            )
        ]

    def first(self, lane: int, c: Any, a: Any, b: Any) -> tuple[Any, ...]:
        """Read a lane's fragments."""
        if not hasattr(c, "dtype"):
            raise TypeError(
                f"{self.name}: `c` must be an array, to which the sums are written"
            )
        given = zip(self._asked, (c, a, b), strict=True)
        return tuple(fragment.of(argument) for fragment, argument in given)

    def last(self, given: tuple[Any, ...], sums: list[Any]) -> None:
        """Write a lane's sums to its `c`."""
        c = given[0]
        if _in_registers(c):
            with as_one(c, len(sums)):
                c[0] = sums[0]
            c._data[:] = sums
        else:
            for k, value in enumerate(sums):
                c[k] = value

    def twin(self, calls: Calls) -> dict[int, Any]:
        """Return the sums of each lane, from the fragments of all lanes."""
        lanes = [calls[lane] for lane in range(32)]
        a, b = (
            np.array([[bits(word) for word in lane[part]] for lane in lanes], np.uint32)
            for part in (1, 2)
        )
        c = np.array([lane[0] for lane in lanes])
        if self.half:
            c = c.astype(np.int32).view(np.float16)
        found = product(matrix_a(a), matrix_b(b), matrix_c(c), self.form)
        with np.errstate(all="ignore"):
            sums = fragments_c(found).astype(c.dtype)
        if self.half:
            sums = np.ascontiguousarray(sums).view(np.int32)
        return {lane: list(sums[lane]) for lane in range(32)}

    def build(self, gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""

        def mma(typingctx: Any, c: Any, a: Any, b: Any) -> Any:
            """Return the signature, and the function that generates the code."""
            self._check(gpu, c, a, b)

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                parts = [
                    _Words(gpu, context, builder, kind, value, size)
                    for kind, value, size in zip(
                        signature.args, args, self.sizes, strict=True
                    )
                ]
                sums = gpu.word if self.half else gpu.ir.FloatType()
                old = parts[0].values(sums)
                a, b = (part.values(gpu.word) for part in parts[1:])
                parts[0].store(self._call(gpu, builder, sums, old, a, b))
                return context.get_dummy_value()

            return gpu.types.void(c, a, b), codegen

        return mma

    def _check(self, gpu: Lowering, c: Any, a: Any, b: Any) -> None:
        """Raise TypingError unless the GPU and the arguments suit the instruction."""
        types = gpu.types
        needs = _needs(self)
        capability = gpu.capability()
        if capability and capability < needs:
            raise gpu.TypingError(
                f"{self.name} needs compute capability {needs[0]}.{needs[1]} or higher"
            )
        if not isinstance(c, types.Array):
            raise gpu.TypingError(
                f"{self.name}: `c` must be an array, to which the sums are written"
            )
        for name, kind, size in zip("cab", (c, a, b), self.sizes, strict=True):
            numbers = kind.dtype if hasattr(kind, "dtype") else None
            asked = ("float32",) if name == "c" and not self.half else _WORDS
            fits = isinstance(kind, types.Array) and (kind.ndim, kind.layout) == (
                1,
                "C",
            )
            fits |= isinstance(kind, types.UniTuple) and kind.count == size
            if not fits or str(numbers) not in asked:
                raise gpu.TypingError(
                    f"{self.name}: `{name}` is {size} numbers of "
                    f"{' or '.join(asked)}, in an array; got {kind}"
                )

    def _call(
        self, gpu: Lowering, builder: Any, sums: Any, c: Any, a: Any, b: Any
    ) -> Any:
        """Emit the instruction and return the new sums.

        For float16 below compute capability 8.0, emits two instructions of half the
        size.
        """
        capability = gpu.capability()
        whole = len(a) == 4
        if whole and self.form is FLOAT16 and capability and capability < (8, 0):
            c = self._one(gpu, builder, sums, c, a[:2], b[:1])
            return self._one(gpu, builder, sums, c, a[2:], b[1:])
        return self._one(gpu, builder, sums, c, a, b)

    def _one(
        self, gpu: Lowering, builder: Any, sums: Any, c: Any, a: Any, b: Any
    ) -> list[Any]:
        """Emit one `mma.sync` and return the new sums."""
        depth = 4 * len(b) * self.form.in_word
        total = "f16" if self.half else "f32"
        name = self.form.ptx
        groups, at = [], 0
        for size in (len(c), len(a), len(b), len(c)):
            groups.append("{" + ",".join(f"${at + k}" for k in range(size)) + "}")
            at += size
        text = (
            f"mma.sync.aligned.m16n8k{depth}.row.col.{total}.{name}.{name}.{total} "
            f"{', '.join(groups)};"
        )
        letter = "r" if self.half else "f"
        kinds = [f"={letter}"] * len(c) + ["r"] * (len(a) + len(b)) + [letter] * len(c)
        struct = gpu.ir.LiteralStructType([sums] * len(c))
        values = [*a, *b, *c]
        got = gpu.assembly(builder, struct, text, ",".join(kinds), values, stays=False)
        return [builder.extract_value(got, k) for k in range(len(c))]


class _Words:
    """An intrinsic's argument that is an array or a tuple of 32-bit numbers."""

    def __init__(
        self, gpu: Lowering, context: Any, builder: Any, kind: Any, value: Any, n: int
    ) -> None:
        self._gpu, self._builder, self._size = gpu, builder, n
        self._value = value
        self._first = None
        if isinstance(kind, gpu.types.Array):
            self._first = context.make_array(kind)(context, builder, value).data

    def _at(self, k: int) -> Any:
        return self._builder.gep(self._first, [self._gpu.word(k)], inbounds=True)

    def values(self, wanted: Any) -> list[Any]:
        """Load the numbers, with their bits reinterpreted as the type `wanted`."""
        builder = self._builder
        if self._first is None:
            parts = [builder.extract_value(self._value, k) for k in range(self._size)]
        else:
            parts = [builder.load(self._at(k)) for k in range(self._size)]
        return [
            part if part.type == wanted else builder.bitcast(part, wanted)
            for part in parts
        ]

    def store(self, values: list[Any]) -> None:
        for k, value in enumerate(values):
            to = self._at(k)
            if value.type != to.type.pointee:
                value = self._builder.bitcast(value, to.type.pointee)
            self._builder.store(value, to)


def _needs(mma: Mma) -> tuple[int, int]:
    if mma.form is E4M3:
        return 8, 9
    return (7, 5) if mma.form is FLOAT16 else (8, 0)


def _register(mma: Mma, meaning: str) -> Any:
    """Register an instruction. meaning: its docstring."""

    def twin(calls: Calls) -> dict[int, Any]:
        return mma.twin(calls)

    twin.__doc__ = meaning
    return register(
        Operation(
            mma.name,
            twin,
            mma.build,
            Effect.COLLECTIVE,
            Lanes.ALL,
            _needs(mma),
            first=mma.first,
            last=mma.last,
        )
    )


mma_f16 = _register(
    Mma("mma_f16", FLOAT16),
    """Compute `c += a @ b` in a warp, for float16 with float32 sums: `(c, a, b)`.

    The shapes are (16, 16) for `a`, (16, 8) for `b` and (16, 8) for `c`. Each of the 32
    lanes passes its fragments. The docstring of `weft.intrinsics.tensor_cores` shows
    which lane holds which elements. c: an array of 4 float32, which receives the new
    sums. a, b: arrays or tuples of 4 words and of 2 words, with two float16 per word.
    Below compute capability 8.0, the call becomes two instructions.
    """,
)
mma_f16_k8 = _register(
    Mma("mma_f16_k8", FLOAT16, words=4),
    """Compute `c += a @ b` as `mma_f16` does, but with 8 numbers along k: `(c, a, b)`.

    The shapes are (16, 8) for `a`, (8, 8) for `b` and (16, 8) for `c`. The fragments of
    `a` and `b` have 2 words and 1 word: the first halves of those that `mma_f16` takes.
    """,
)
mma_f16_acc16 = _register(
    Mma("mma_f16_acc16", FLOAT16, half=True),
    """Compute `c += a @ b` as `mma_f16` does, but with float16 sums: `(c, a, b)`.

    c: an array of 2 int32, with two float16 in each.
    """,
)
mma_bf16 = _register(
    Mma("mma_bf16", BFLOAT16),
    """Compute `c += a @ b` in a warp, for bfloat16 with float32 sums: `(c, a, b)`.

    The shapes are (16, 16) for `a`, (16, 8) for `b` and (16, 8) for `c`. As for
    `mma_f16`, each lane passes 4 float32 of `c`, 4 words of `a` and 2 words of `b`,
    here with two bfloat16 per word.
    """,
)
mma_tf32 = _register(
    Mma("mma_tf32", TF32),
    """Compute `c += a @ b` in a warp, for tf32 with float32 sums: `(c, a, b)`.

    The shapes are (16, 8) for `a`, (8, 8) for `b` and (16, 8) for `c`. Each lane passes
    4 float32 of `c`, 4 of `a` and 2 of `b`. In those of `a` and `b`, the lower 13 bits
    are ignored, so round these numbers with `tf32` first.
    """,
)
mma_e4m3 = _register(
    Mma("mma_e4m3", E4M3),
    """Compute `c += a @ b` in a warp, for float8 e4m3 with float32 sums: `(c, a, b)`.

    The shapes are (16, 32) for `a`, (32, 8) for `b` and (16, 8) for `c`. As for
    `mma_f16`, each lane passes 4 float32 of `c`, 4 words of `a` and 2 words of `b`,
    here with four float8 per word.
    """,
)


@operation(
    Effect.PURE,
    computes(
        "{ .reg .b32 t; cvt.rna.tf32.f32 t, $1; mov.b32 $0, t; }",
        "float32",
        "=f,f",
        "float32",
    ),
    needs=(8, 0),
    gives="float32",
)
def tf32(x: Any) -> Any:
    """Round a float32 to the nearest tf32, ties away from zero."""
    whole = bits(np.float32(x))
    if whole & 0x7F800000 == 0x7F800000:
        return np.float32(x)
    return np.uint32((whole + 0x1000) & 0xFFFFE000).view(np.float32)


@operation(
    Effect.PURE,
    computes(
        "{ .reg .b16 l, h; cvt.rn.f16.f32 l, $1; cvt.rn.f16.f32 h, $2; "
        "mov.b32 $0, {l, h}; }",
        "int32",
        "=r,f,f",
        "float32",
        "float32",
    ),
    gives="int32",
)
def f16_pair(low: Any, high: Any) -> Any:
    """Round two float32 numbers to float16 and pack them into an int32."""
    with np.errstate(over="ignore"):
        pair = np.array([low, high], np.float32).astype(np.float16)
    return pair.view(np.int32)[0]
