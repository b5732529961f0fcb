"""Products of a warpgroup whose left operand is in registers. None is simulated.

PTX ISA, "wgmma.mma_async": the sums of one product, rounded to bfloat16 and packed two
to a word, are in each thread just what the next product takes as its left operand. So
a chain of products needs no way through shared memory.
"""

from collections.abc import Callable
from typing import Any

from weft.intrinsics.hopper import _register
from weft.intrinsics.instructions import NUMBER, SHARED, instruction
from weft.intrinsics.lowering import Lowering

_COLUMNS = (
    "{ .reg .b32 p; .reg .b64 d, l; and.b32 p, $1, 0x3FFFF; shr.u32 p, p, 4; "
    "cvt.u64.u32 d, p; shr.u32 p, $2, 4; cvt.u64.u32 l, p; shl.b64 l, l, 16; "
    "or.b64 d, d, l; or.b64 $0, d, 0x4000004000000000; }"
)
descriptor_columns = _register(
    "descriptor_columns",
    """Describe a right operand whose rows are along k: `(tile, i, apart)` -> int64.

    The operand is stored as boxes of 64 columns, `apart` bytes from box to box, with
    the 128-byte swizzle; each row of a box is one k. It begins at `tile[i]`, which has
    to be a multiple of 1024 bytes. 16 rows further along k, the descriptor is 128 more.
    """,
    instruction(_COLUMNS, SHARED, NUMBER, gives="int64", stays=False),
    "int64",
)


def _chained(gpu: Lowering, call: str) -> Callable[..., Any]:
    """Make the intrinsic for the GPU."""
    types, ir = gpu.types, gpu.ir

    def wgmma(
        typingctx: Any, acc: Any, n: Any, words: Any, at: Any, b: Any, add: Any
    ) -> Any:
        """The type of the result, and the function that writes the code."""
        if not isinstance(n, types.IntegerLiteral) or n.literal_value % 8:
            raise gpu.TypingError(f"{call}: n is a constant, a multiple of 8")
        if not isinstance(at, types.IntegerLiteral):
            raise gpu.TypingError(f"{call}: the first word's index is a constant")
        if not (isinstance(acc, types.Array) and str(acc.dtype) == "float32"):
            raise gpu.TypingError(f"{call}: the sums are a local array of float32")
        if not (isinstance(words, types.Array) and str(words.dtype) == "int32"):
            raise gpu.TypingError(f"{call}: the words are a local array of int32")
        size, first = n.literal_value // 2, at.literal_value

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            """Write the instruction: sums in and out, words, descriptor, flag."""
            kinds = signature.args
            cells = _cells(gpu, context, builder, kinds[0], args[0], 0, size)
            left = _cells(gpu, context, builder, kinds[2], args[2], first, 4)
            long = context.cast(builder, args[4], kinds[4], types.int64)
            flag = context.cast(builder, args[5], kinds[5], types.int32)
            sums = ",".join(f"${k}" for k in range(size))
            mine = ",".join(f"${size + k}" for k in range(4))
            text = (
                f"{{ .reg .pred p; setp.ne.b32 p, ${size + 5}, 0; "
                f"wgmma.mma_async.sync.aligned.m64n{2 * size}k16.f32.bf16.bf16 "
                f"{{{sums}}}, {{{mine}}}, ${size + 4}, p, 1, 1, 1; }}"
            )
            letters = ["=f"] * size + ["r"] * 4 + ["l", "r"]
            letters += [str(k) for k in range(size)]
            values = [*map(builder.load, left), long, flag, *map(builder.load, cells)]
            struct = ir.LiteralStructType([ir.FloatType()] * size)
            new = gpu.assembly(builder, struct, text, ",".join(letters), values)
            for k, cell in enumerate(cells):
                builder.store(builder.extract_value(new, k), cell)
            return context.get_dummy_value()

        return types.void(acc, n, words, at, b, add), codegen

    return wgmma


def _cells(
    gpu: Lowering,
    context: Any,
    builder: Any,
    kind: Any,
    value: Any,
    start: int,
    count: int,
) -> list[Any]:
    """The addresses of elements of a local array."""
    first = context.make_array(kind)(context, builder, value).data
    places = range(start, start + count)
    return [builder.gep(first, [gpu.word(k)], inbounds=True) for k in places]


def _hold_words(gpu: Lowering, call: str) -> Callable[..., Any]:
    def hold(typingctx: Any, words: Any, count: Any) -> Any:
        if not isinstance(count, gpu.types.IntegerLiteral):
            raise gpu.TypingError(f"{call}: the count is a constant")

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            size = count.literal_value
            kind = signature.args[0]
            for cell in _cells(gpu, context, builder, kind, args[0], 0, size):
                old = [builder.load(cell)]
                new = gpu.assembly(builder, gpu.word, "", "=r,0,~{memory}", old)
                builder.store(new, cell)
            return context.get_dummy_value()

        return gpu.types.void(words, count), codegen

    return hold


wgmma_bf16_chained = _register(
    "wgmma_bf16_chained",
    """`acc += a @ b`, a in registers, asynchronously: `(acc, n, words, at, b, add)`.

    a: 64 rows of 16 bfloat16, of which each thread passes `words[at]` to
    `words[at + 3]`. b: 16 rows along k of n columns, by `descriptor_columns`. acc: n/2
    float32 of each thread. Where `add` is 0, what it held is forgotten. Until the
    product is done, `words` must not change.
    """,
    _chained,
)
hold_words = _register(
    "hold_words",
    """As `hold`, for a local array of int32: `(words, count)`.""",
    _hold_words,
)
