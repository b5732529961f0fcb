"""Operations that require compute capability 9.0: TMA, wgmma, clusters.

PTX ISA: "cp.async.bulk.tensor", "wgmma", "setmaxnreg", "stmatrix", "mapa",
"barrier.cluster", "fence.proxy", and "Matrix descriptor" for `descriptor`.

A place in shared memory is passed as an array and an index, a tensor map as the array
of 128 bytes that holds it (see `weft.tensor_maps`). Every warpgroup operation has to
be called by all 128 threads of the warpgroup.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from weft.intrinsics.bits import bits
from weft.intrinsics.formats import BFLOAT16, E4M3, Format
from weft.intrinsics.instructions import HOPPER, instruction
from weft.intrinsics.lowering import Builder, Lowering
from weft.intrinsics.matrices import Calls, stored, transpose
from weft.intrinsics.registry import Effect, Lanes, Operation, register

Does = Callable[..., Any]  # the twin of an operation, see `Effect.HOPPER`


def _register(
    name: str, meaning: str, ptx: Builder, does: Does, gives: str = ""
) -> Any:
    """Register an operation. meaning: its docstring. does: its twin."""
    does.__doc__ = meaning
    given = (gives,) if gives else ()
    return register(
        Operation(name, does, ptx, Effect.HOPPER, needs=HOPPER, gives=given)
    )


# The tensor memory accelerator

_LOAD = (
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
)

tma_load = _register(
    "tma_load",
    """Start to load a box of a tensor: `(tile, i, tensor_map, col, row, bars, s)`.

    The box whose first element is (row, col) goes to `tile[i]` and on; what is outside
    of the tensor becomes 0. `col` is at a multiple of 16 bytes. The bytes of the box
    count at the mbarrier `bars[s]`. One thread calls it.
    """,
    instruction(
        f"{_LOAD} [$0], [$1, {{$2, $3}}], [$4];", "SHARED MAP NUMBER NUMBER SHARED"
    ),
    lambda hopper, *given: hopper.tensors.load("tma_load", 2, *given),
)
tma_load_multicast = _register(
    "tma_load_multicast",
    """Load a box for several blocks: `(tile, i, tensor_map, col, row, bars, s, mask)`.

    As `tma_load`, for each block of the cluster whose bit is set in `mask`: the box
    goes to the same place there, and its bytes count at the same mbarrier.
    """,
    instruction(
        "{ .reg .b16 m; cvt.u16.u32 m, $5; "
        f"{_LOAD}.multicast::cluster [$0], [$1, {{$2, $3}}], [$4], m; }}",
        "SHARED MAP NUMBER NUMBER SHARED NUMBER",
    ),
    lambda hopper, *given: hopper.tensors.load_multicast("tma_load_multicast", *given),
)
tma_store = _register(
    "tma_store",
    """Start to store a box: `(tensor_map, col, row, tile, i)`.

    What is outside of the tensor is not written. `col` is at a multiple of 16 bytes,
    and neither `col` nor `row` is negative. `fence_async` has to come before,
    `bulk_commit` and a wait after. One thread calls it.
    """,
    instruction(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
        "[$0, {$1, $2}], [$3];",
        "MAP NUMBER NUMBER SHARED",
    ),
    lambda hopper, *given: hopper.tensors.store("tma_store", 2, *given),
)
bulk_commit = _register(
    "bulk_commit",
    """Make a group of this thread's stores since the last group.""",
    instruction("cp.async.bulk.commit_group;"),
    lambda hopper: hopper.tensors.commit(),
)
bulk_wait_read = _register(
    "bulk_wait_read",
    """Wait until all but the last n groups have read shared memory: n a constant.""",
    instruction("cp.async.bulk.wait_group.read {0};", "LITERAL"),
    lambda hopper, n: hopper.tensors.wait(n, stored=False),
)
bulk_wait = _register(
    "bulk_wait",
    """Wait until all but the last n groups have been stored: n a constant.""",
    instruction("cp.async.bulk.wait_group {0};", "LITERAL"),
    lambda hopper, n: hopper.tensors.wait(n, stored=True),
)
fence_tensor_map = _register(
    "fence_tensor_map",
    """Let a block use a tensor map that the host has written: `(tensor_map)`.

    A thread of each block calls it for each map, and the block synchronises, before
    any thread of the block uses the map.
    """,
    instruction("fence.proxy.tensormap::generic.acquire.sys [$0], 128;", "MAP"),
    lambda hopper, tensor_map: hopper.tensors.fence(tensor_map),
)
fence_async = _register(
    "fence_async",
    """Let TMA and wgmma see what this thread has stored in shared memory.""",
    instruction("fence.proxy.async.shared::cta;"),
    lambda hopper: hopper.fence_async(),
)


# Products of a warpgroup

_DESCRIPTOR = (
    "{ .reg .b32 p; .reg .b64 d; and.b32 p, $1, 0x3FFFF; shr.u32 p, p, 4; "
    "cvt.u64.u32 d, p; or.b64 $0, d, 0x4000004000010000; }"
)
descriptor = _register(
    "descriptor",
    """Describe an operand of wgmma: `(tile, i)` -> int64.

    The operand begins at `tile[i]`, which has to be a multiple of 1024 bytes. Its rows
    are 128 bytes of k each, with the 128-byte swizzle. 32 bytes further along k, the
    descriptor is 2 more.
    """,
    instruction(_DESCRIPTOR, "SHARED", gives="int64", stays=False),
    lambda hopper, tile, i: hopper.groups.descriptor("descriptor", tile, i),
    "int64",
)


def _wgmma(kind: str, depth: int, tail: str, chained: bool = False) -> Builder:
    """Return a builder for `wgmma.mma_async` with 64 rows and `depth` numbers along k.

    tail: the instruction's last flags. chained: whether `a` is four words of each
    thread, from `words[at]` on, instead of a descriptor.
    """

    def build(gpu: Lowering, call: str) -> Callable[..., Any]:
        """Return the function that Numba's `intrinsic` takes."""
        types, ir = gpu.types, gpu.ir

        def check(acc: Any, n: Any, left: Any, at: Any) -> None:
            literal = types.IntegerLiteral
            if not isinstance(n, literal) or n.literal_value % 8:
                raise gpu.TypingError(f"{call}: n is a constant, a multiple of 8")
            if at is not None and not isinstance(at, literal):
                raise gpu.TypingError(f"{call}: the first word's index is a constant")
            if not (isinstance(acc, types.Array) and str(acc.dtype) == "float32"):
                raise gpu.TypingError(f"{call}: the sums are a local array of float32")
            words = isinstance(left, types.Array) and str(left.dtype) == "int32"
            if at is not None and not words:
                raise gpu.TypingError(f"{call}: the words are a local array of int32")

        def typed(acc: Any, n: Any, left: Any, at: Any, *rest: Any) -> Any:
            """Return the signature, and the function that generates the code."""
            check(acc, n, left, at)
            size = n.literal_value // 2

            def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
                """Load the sums, emit the instruction, and store the new sums."""
                kinds = signature.args
                sums = _cells(gpu, context, builder, kinds[0], args[0], range(size))

                def number(k: int, kind: Any) -> Any:
                    return context.cast(builder, args[k], kinds[k], kind)

                if at is None:
                    a = [number(2, types.int64)]
                else:
                    places = range(at.literal_value, at.literal_value + 4)
                    held = _cells(gpu, context, builder, kinds[2], args[2], places)
                    a = [builder.load(each) for each in held]
                b, flag = number(len(args) - 2, types.int64), len(args) - 1
                count = size + len(a)
                left = ",".join(f"${size + k}" for k in range(len(a)))
                text = (
                    f"{{ .reg .pred p; setp.ne.b32 p, ${count + 1}, 0; "
                    f"wgmma.mma_async.sync.aligned.m64n{2 * size}k{depth}.f32."
                    f"{kind}.{kind} {{{','.join(f'${k}' for k in range(size))}}}, "
                    f"{left if at is None else f'{{{left}}}'}, ${count}, p{tail}; }}"
                )
                letters = ["=f"] * size + ["l" if at is None else "r"] * len(a)
                letters += ["l", "r", *map(str, range(size))]
                values = [*a, b, number(flag, types.int32), *map(builder.load, sums)]
                struct = ir.LiteralStructType([ir.FloatType()] * size)
                new = gpu.assembly(builder, struct, text, ",".join(letters), values)
                for k, cell in enumerate(sums):
                    builder.store(builder.extract_value(new, k), cell)
                return context.get_dummy_value()

            given = (acc, n, left, *rest) if at is None else (acc, n, left, at, *rest)
            return types.void(*given), codegen

        def described(ctx: Any, acc: Any, n: Any, a: Any, b: Any, add: Any) -> Any:
            return typed(acc, n, a, None, b, add)

        def from_words(
            ctx: Any, acc: Any, n: Any, words: Any, at: Any, b: Any, add: Any
        ) -> Any:
            return typed(acc, n, words, at, b, add)

        return from_words if chained else described

    return build


def _cells(
    gpu: Lowering, context: Any, builder: Any, kind: Any, value: Any, places: range
) -> list[Any]:
    """Return the addresses of the elements `places` of a local array."""
    first = context.make_array(kind)(context, builder, value).data
    return [builder.gep(first, [gpu.word(k)], inbounds=True) for k in places]


def _hold(gpu: Lowering, call: str) -> Callable[..., Any]:
    def hold(typingctx: Any, acc: Any, count: Any) -> Any:
        if not isinstance(count, gpu.types.IntegerLiteral):
            raise gpu.TypingError(f"{call}: the count is a constant")
        number, letter, _ = gpu.letters(acc.dtype)

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            places, kind = range(count.literal_value), signature.args[0]
            for cell in _cells(gpu, context, builder, kind, args[0], places):
                old, kinds = [builder.load(cell)], f"={letter},0,~{{memory}}"
                builder.store(gpu.assembly(builder, number, "", kinds, old), cell)
            return context.get_dummy_value()

        return gpu.types.void(acc, count), codegen

    return hold


def _described(name: str, form: Format) -> Does:
    """Return the twin of a product whose operands are both given by descriptors."""

    def wgmma(
        hopper: Any, acc: Any, n: Any, a: Any, b: Any, add: Any
    ) -> Iterator[None]:
        yield from hopper.groups.product(name, form, acc, n, a, None, b, add)

    return wgmma


def _from_words(name: str, form: Format) -> Does:
    """Return the twin of a product whose left operand is in registers."""

    def wgmma(
        hopper: Any, acc: Any, n: Any, words: Any, at: Any, b: Any, add: Any
    ) -> Iterator[None]:
        yield from hopper.groups.product(name, form, acc, n, words, at, b, add)

    return wgmma


_MEANING = """`acc += a @ b.T` by a warpgroup, asynchronously: `(acc, n, a, b, add)`.

    a: 64 rows, b: n rows, of {0} numbers along k, by their descriptors. acc: n / 2
    float32 of each thread, a local array. Where `add` is 0, what it held is forgotten.
    `wgmma_fence` has to come before the first, `wgmma_commit` and `wgmma_wait` after.
    """
wgmma_bf16 = _register(
    "wgmma_bf16",
    _MEANING.format("16 bfloat16"),
    _wgmma("bf16", 16, ", 1, 1, 0, 0"),
    _described("wgmma_bf16", BFLOAT16),
)
wgmma_e4m3 = _register(
    "wgmma_e4m3",
    _MEANING.format("32 float8 e4m3"),
    _wgmma("e4m3", 32, ", 1, 1"),
    _described("wgmma_e4m3", E4M3),
)
wgmma_fence = _register(
    "wgmma_fence",
    """Order the registers of `acc` before the products that follow.""",
    instruction("wgmma.fence.sync.aligned;"),
    lambda hopper: hopper.groups.fence(),
)
wgmma_commit = _register(
    "wgmma_commit",
    """Make a group of the products since the last group.""",
    instruction("wgmma.commit_group.sync.aligned;"),
    lambda hopper: hopper.groups.commit(),
)
wgmma_wait = _register(
    "wgmma_wait",
    """Wait until all but the last n groups are done: n a constant.""",
    instruction("wgmma.wait_group.sync.aligned {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.wait(n),
)
hold = _register(
    "hold",
    """Keep the compiler from moving uses of `acc` up across this: `(acc, count)`.""",
    _hold,
    lambda hopper, acc, count: hopper.groups.hold("hold", acc, count),
)


def _stores(number: int, transposed: bool) -> Callable[[Calls], dict[int, Any]]:
    """Return the twin of `stmatrix` for two or four matrices."""

    def stmatrix(calls: Calls) -> dict[int, Any]:
        words = [[bits(word) for word in calls[lane][2:]] for lane in range(32)]
        rows = np.array(words, np.uint32).reshape(8, 4, number).transpose(2, 0, 1)
        rows = np.ascontiguousarray(rows)  # matrix, row, word
        if transposed:
            rows = transpose(rows)
        flat = rows.reshape(8 * number, 4)
        idle = dict.fromkeys(range(8 * number, 32))
        return dict(enumerate(flat)) | idle

    return stmatrix


def _stmatrix(number: int, transposed: bool, meaning: str) -> Operation:
    """Return the `stmatrix` operation for two or four matrices."""
    name = f"stmatrix_x{number}" + "_trans" * transposed
    form = f"x{number}" + ".trans" * transposed
    words = ",".join(f"${k + 1}" for k in range(number))
    twin = _stores(number, transposed)
    twin.__doc__ = meaning
    return Operation(
        name,
        twin,
        instruction(
            f"stmatrix.sync.aligned.m8n8.{form}.shared.b16 [$0], {{{words}}};",
            "SHARED " + "NUMBER " * number,
        ),
        Effect.COLLECTIVE,
        Lanes.ALL,
        HOPPER,
        last=partial(stored, name),
    )


stmatrix_x4 = register(
    _stmatrix(
        4,
        False,
        """Store four 8 × 8 matrices of 16 bits: `(tile, i, w0, w1, w2, w3)`.

    The reverse of `ldmatrix_x4`: `tile[i]` is the start of the row that this lane
    addresses, and the words are its part of the four matrices. All 32 lanes call it.
    """,
    )
)
stmatrix_x2_trans = register(
    _stmatrix(
        2,
        True,
        """Store two 8 × 8 matrices of 16 bits transposed: `(tile, i, w0, w1)`.

    `tile[i]` is the start of the row in memory that this lane addresses, a column of a
    matrix; only the places of lanes 0 to 15 are used. All 32 lanes call it.
    """,
    )
)


# Warpgroups and clusters


def _cluster_sync(hopper: Any) -> Iterator[None]:
    yield from hopper.clusters.sync()


def _cluster_wait(hopper: Any) -> Iterator[None]:
    yield from hopper.clusters.wait()


def _only(dtype: str, verb: str) -> Callable[[str, Any], str]:
    """Return a function that returns why an array is refused, or '' if it is not."""

    def refused(call: str, x: Any) -> str:
        wrong = f"{call} {verb} {dtype}, and this is an array of {x.dtype}"
        return "" if str(x.dtype) == dtype else wrong

    return refused


def _there(text: str, where: str) -> str:
    """Return PTX that runs `text` with `t` as an element's address in another block.

    where: the operands for the address in this block, and for the other block's rank.
    """
    return f"{{ .reg .b32 t; mapa.shared::cluster.u32 t, {where}; {text} }}"


def _named_barrier(hopper: Any, number: Any, threads: Any) -> Iterator[None]:
    yield from hopper.groups.barrier(number, threads)


setmaxnreg_dec = _register(
    "setmaxnreg_dec",
    """Give registers back, each thread keeps n: a constant.""",
    instruction("setmaxnreg.dec.sync.aligned.u32 {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.registers("setmaxnreg_dec", n),
)
setmaxnreg_inc = _register(
    "setmaxnreg_inc",
    """Take registers, until each thread has n: a constant.

    Waits until other warpgroups of the block have given back enough of them.
    """,
    instruction("setmaxnreg.inc.sync.aligned.u32 {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.registers("setmaxnreg_inc", n),
)
named_barrier = _register(
    "named_barrier",
    """A barrier of some of a block's warps: `(number, threads)`, number 1 to 15.""",
    instruction("bar.sync $0, $1;", "NUMBER NUMBER"),
    _named_barrier,
)
cluster_sync = _register(
    "cluster_sync",
    """A barrier of all threads of all blocks of a cluster.

    The threads of a warp call it as one. Threads that have ended are not waited for.
    """,
    instruction(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
    ),
    _cluster_sync,
)
cluster_arrive = _register(
    "cluster_arrive",
    """Arrive at the barrier of the cluster, and go on; later, call `cluster_wait`.

    What the thread has done before is known after the wait. The threads of a warp call
    it as one, and each of them calls `cluster_wait` before it arrives again.
    """,
    instruction("barrier.cluster.arrive.release.aligned;"),
    lambda hopper: hopper.clusters.come("cluster_arrive"),
)
cluster_arrive_relaxed = _register(
    "cluster_arrive_relaxed",
    """Arrive as `cluster_arrive` does, without passing on what the thread has done.

    The wait then says that all threads have come so far, and nothing of memory.
    """,
    instruction("barrier.cluster.arrive.relaxed.aligned;"),
    lambda hopper: hopper.clusters.come("cluster_arrive_relaxed", relaxed=True),
)
cluster_wait = _register(
    "cluster_wait",
    """Wait until all threads of the cluster have arrived since this one's last wait.

    Threads that have ended are not waited for. The threads of a warp call it as one.
    """,
    instruction("barrier.cluster.wait.acquire.aligned;"),
    _cluster_wait,
)
cluster_rank = _register(
    "cluster_rank",
    """The number of this block in its cluster.""",
    instruction("mov.u32 $0, %cluster_ctarank;", gives="int32"),
    lambda hopper: np.int32(hopper.clusters.rank),
    "int32",
)
cluster_size = _register(
    "cluster_size",
    """The number of blocks in this block's cluster, 1 without clusters.""",
    instruction("mov.u32 $0, %cluster_nctarank;", gives="int32"),
    lambda hopper: np.int32(hopper.clusters.size),
    "int32",
)
cluster_load = _register(
    "cluster_load",
    """Load `x[i]` from the shared memory of block `rank`: `(x, i, rank)` -> float32.

    x: a shared array of float32, which is at the same place in each block. A
    `cluster_sync` has to come before, after the stores there, and another one after:
    until then that block must not end, nor change what is read.
    """,
    instruction(
        _there("ld.shared::cluster.f32 $0, [t];", "$1, $2"),
        "SHARED NUMBER",
        gives="float32",
        refused=_only("float32", "loads"),
    ),
    lambda hopper, *given: hopper.clusters.load("cluster_load", *given),
    "float32",
)
cluster_store = _register(
    "cluster_store",
    """Store to `x[i]` in the shared memory of block `rank`: `(x, i, rank, value)`.

    x: a shared array of float32. That block has to have begun, and must not end before;
    its threads find the value after a barrier of the cluster.
    """,
    instruction(
        _there("st.shared::cluster.f32 [t], $2;", "$0, $1"),
        "SHARED NUMBER FLOAT",
        refused=_only("float32", "stores"),
    ),
    lambda hopper, *given: hopper.clusters.store("cluster_store", *given),
)
cluster_atomic_add = _register(
    "cluster_atomic_add",
    """Add to `x[i]` of block `rank`, atomically: `(x, i, rank, value)` -> old value.

    x: a shared array of float32. It orders no other accesses.
    """,
    instruction(
        _there("atom.relaxed.cluster.shared::cluster.add.f32 $0, [t], $3;", "$1, $2"),
        "SHARED NUMBER FLOAT",
        gives="float32",
        refused=_only("float32", "adds"),
    ),
    lambda hopper, *given: hopper.clusters.add("cluster_atomic_add", "float32", *given),
    "float32",
)
cluster_atomic_add_int32 = _register(
    "cluster_atomic_add_int32",
    """Add as `cluster_atomic_add` does, in a shared array of int32.""",
    instruction(
        _there("atom.relaxed.cluster.shared::cluster.add.s32 $0, [t], $3;", "$1, $2"),
        "SHARED NUMBER NUMBER",
        gives="int32",
        refused=_only("int32", "adds"),
    ),
    lambda hopper, *given: hopper.clusters.add(
        "cluster_atomic_add_int32", "int32", *given
    ),
    "int32",
)
mbarrier_arrive_at = _register(
    "mbarrier_arrive_at",
    """Arrive at the mbarrier of block `rank` of the cluster: `(bars, i, rank)`.""",
    instruction(
        _there("mbarrier.arrive.shared::cluster.b64 _, [t];", "$0, $1"),
        "SHARED NUMBER",
    ),
    lambda hopper, *given: hopper.clusters.arrive("mbarrier_arrive_at", *given),
)


# Launches that begin early (programmatic dependent launch)

griddep_wait = _register(
    "griddep_wait",
    """Wait until the grids before this one have ended, and see all they have written.

    For a kernel that is launched early (`weft.prepare`): a thread calls it before it
    accesses global memory that these grids access. In any other launch it returns at
    once, as in the simulator, where each launch ends before the next begins.
    """,
    instruction("griddepcontrol.wait;"),
    lambda hopper: None,
)
griddep_launch = _register(
    "griddep_launch",
    """Let the next grid begin, if it is launched early, once all blocks have said so.

    A block that ends has said so too. The next grid's blocks start where there is room
    for them, and see what this grid has written only after `griddep_wait`.
    """,
    instruction("griddepcontrol.launch_dependents;"),
    lambda hopper: None,
)


tma_load_plane = _register(
    "tma_load_plane",
    """Start to load a box: `(tile, i, stack_map, col, row, plane, bars, s)`.

    As `tma_load`, from matrix `plane` of a stack. Rows past the end of a matrix are
    zeros, also where another matrix follows; a store leaves them alone.
    """,
    instruction(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile"
        ".mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];",
        "SHARED MAP NUMBER NUMBER NUMBER SHARED",
    ),
    lambda hopper, *given: hopper.tensors.load("tma_load_plane", 3, *given),
)
tma_store_plane = _register(
    "tma_store_plane",
    """Start to store a box: `(stack_map, col, row, plane, tile, i)`.

    As `tma_store`, to matrix `plane` of a stack.
    """,
    instruction(
        "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
        "[$0, {$1, $2, $3}], [$4];",
        "MAP NUMBER NUMBER NUMBER SHARED",
    ),
    lambda hopper, *given: hopper.tensors.store("tma_store_plane", 3, *given),
)


# Products whose left operand is in registers: the sums of one product, rounded to
# bfloat16 and packed two to a word, are in each thread exactly what the next one takes.

_COLUMNS = (
    "{ .reg .b32 p; .reg .b64 d, l; and.b32 p, $1, 0x3FFFF; shr.u32 p, p, 4; "
    "cvt.u64.u32 d, p; shr.u32 p, $2, 4; cvt.u64.u32 l, p; shl.b64 l, l, 16; "
    "or.b64 d, d, l; or.b64 $0, d, 0x4000004000000000; }"
)


def _descriptor_columns(hopper: Any, tile: Any, i: Any, apart: Any) -> Any:
    return hopper.groups.descriptor("descriptor_columns", tile, i, apart)


descriptor_columns = _register(
    "descriptor_columns",
    """Describe a right operand whose rows are along k: `(tile, i, apart)` -> int64.

    The operand is stored as boxes of 64 columns, `apart` bytes from box to box, with
    the 128-byte swizzle; each row of a box is one k. It begins at `tile[i]`, which has
    to be a multiple of 1024 bytes. 16 rows further along k, the descriptor is 128 more.
    """,
    instruction(_COLUMNS, "SHARED NUMBER", gives="int64", stays=False),
    _descriptor_columns,
    "int64",
)
wgmma_bf16_chained = _register(
    "wgmma_bf16_chained",
    """`acc += a @ b`, a in registers, asynchronously: `(acc, n, words, at, b, add)`.

    a: 64 rows of 16 bfloat16, of which each thread passes `words[at]` to
    `words[at + 3]`. b: 16 rows along k of n columns, by `descriptor_columns`. acc: n/2
    float32 of each thread. Where `add` is 0, what it held is forgotten. Until the
    product is done, `words` must not change.
    """,
    _wgmma("bf16", 16, ", 1, 1, 1", chained=True),
    _from_words("wgmma_bf16_chained", BFLOAT16),
)
hold_words = _register(
    "hold_words",
    """As `hold`, for a local array of int32: `(words, count)`.""",
    _hold,
    lambda hopper, words, count: hopper.groups.hold("hold_words", words, count),
)
