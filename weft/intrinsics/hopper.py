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

    The box begins at element (row, col) of the tensor, and is written to shared memory
    from `tile[i]` on. Its elements that are outside the tensor become 0. `col` times
    the element size must be a multiple of 16 bytes. `tile[i]` must be at a multiple of
    128 bytes, or of 1024 if wgmma reads the box. The mbarrier `bars[s]` counts all
    bytes of the box as they arrive. Only one thread makes the call.
    """,
    instruction(
        f"{_LOAD} [$0], [$1, {{$2, $3}}], [$4];", "SHARED MAP NUMBER NUMBER SHARED"
    ),
    lambda hopper, *given: hopper.tensors.load("tma_load", 2, *given),
)
tma_load_multicast = _register(
    "tma_load_multicast",
    """Start to multicast a box: `(tile, i, tensor_map, col, row, bars, s, mask)`.

    Works as `tma_load`, but loads the box into each block k of the cluster for which
    bit k of `mask` is set. At least one bit must be set. Each of these blocks receives
    the box at its own `tile[i]` and counts the bytes at its own mbarrier `bars[s]`.
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
    """Start to store a box of a tensor: `(tensor_map, col, row, tile, i)`.

    The box is read from shared memory, from `tile[i]` on, and its first element goes to
    (row, col) of the tensor. Elements that would be outside the tensor are not written.
    `col` times the element size must be a multiple of 16 bytes, and neither `col` nor
    `row` may be negative. `tile[i]` must be at a multiple of 128 bytes. Each thread
    that wrote to the box must first call `fence_async` and reach a barrier. Only one
    thread starts the store. That thread then calls `bulk_commit`, followed by
    `bulk_wait_read` or `bulk_wait`.
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
    """Group the TMA stores that this thread has started since its last group.""",
    instruction("cp.async.bulk.commit_group;"),
    lambda hopper: hopper.tensors.commit(),
)
bulk_wait_read = _register(
    "bulk_wait_read",
    """Wait until the TMA has read the boxes of all but the last n groups: `(n)`.

    The groups are those that this thread has made with `bulk_commit`. The shared memory
    of the boxes can then be overwritten. n: a number that is known when the kernel is
    compiled.
    """,
    instruction("cp.async.bulk.wait_group.read {0};", "LITERAL"),
    lambda hopper, n: hopper.tensors.wait(n, stored=False),
)
bulk_wait = _register(
    "bulk_wait",
    """Wait until the stores of all but the last n groups are complete: `(n)`.

    The groups are those that this thread has made with `bulk_commit`. The boxes are
    then in global memory. n: a number that is known when the kernel is compiled.
    """,
    instruction("cp.async.bulk.wait_group {0};", "LITERAL"),
    lambda hopper, n: hopper.tensors.wait(n, stored=True),
)
fence_tensor_map = _register(
    "fence_tensor_map",
    """Let a block use a tensor map that the host has written: `(tensor_map)`.

    In each block, one thread must call it for each map, before using that map itself.
    Other threads of the block may use the map only after a barrier that follows the
    call.
    """,
    instruction("fence.proxy.tensormap::generic.acquire.sys [$0], 128;", "MAP"),
    lambda hopper, tensor_map: hopper.tensors.fence(tensor_map),
)
fence_async = _register(
    "fence_async",
    """Make this thread's stores to shared memory visible to the TMA and to wgmma.""",
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
    """Return the descriptor of a wgmma operand in shared memory: `(tile, i)` -> int64.

    The operand begins at `tile[i]`, which must be at a multiple of 1024 bytes. Each of
    its rows is 128 bytes along k, stored with the 128-byte swizzle. To move 32 bytes
    along k, add 2 to the descriptor.
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


_MEANING = """Start `acc += a @ b.T` in a warpgroup: `(acc, n, a, b, add)`.

    a, b: descriptors of 64 rows and of n rows, each of {0} numbers along k.
    n: a multiple of 8, at most 256, that is known when the kernel is compiled. acc: a
    local array of float32, whose first n / 2 elements are this thread's sums. If `add`
    is 0, the product overwrites them. All 128 threads of the warpgroup make the call.

    `wgmma_fence` must come before the first product, and `wgmma_commit` and then
    `wgmma_wait` after the last. Until that wait is over, only products may use `acc`.
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
    """Order this thread's earlier register accesses before the products that follow.

    It must come before the first product. It is needed again whenever instructions
    other than products have accessed the sums, or the words of a left operand in
    registers, that the next product uses.
    """,
    instruction("wgmma.fence.sync.aligned;"),
    lambda hopper: hopper.groups.fence(),
)
wgmma_commit = _register(
    "wgmma_commit",
    """Group the products that this warpgroup has started since its last group.""",
    instruction("wgmma.commit_group.sync.aligned;"),
    lambda hopper: hopper.groups.commit(),
)
wgmma_wait = _register(
    "wgmma_wait",
    """Wait until all but this warpgroup's last n groups of products are done: `(n)`.

    The operands of the finished products can then be overwritten, and their sums can be
    used unless a later product still changes them. n: a number that is known when the
    kernel is compiled.
    """,
    instruction("wgmma.wait_group.sync.aligned {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.wait(n),
)
hold = _register(
    "hold",
    """Keep the compiler from moving uses of `acc` ahead of this call: `(acc, count)`.

    acc: a local array. count: the number of elements to hold, from the first, which is
    known when the kernel is compiled. Call it after `wgmma_wait`, because the compiler
    does not know that products write to `acc` until then. It adds no instruction.
    """,
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
        """Store four 8 × 8 matrices of 16-bit numbers: `(tile, i, w0, w1, w2, w3)`.

    This is the reverse of `ldmatrix_x4`. `tile[i]`, in shared memory, is the start of
    the 16-byte row that this lane addresses, on a 16-byte boundary. Lanes 0 to 7
    address the rows of the first matrix, lanes 8 to 15 those of the second, and so on.
    Each word is this lane's part of one matrix. All 32 lanes make the call.
    """,
    )
)
stmatrix_x2_trans = register(
    _stmatrix(
        2,
        True,
        """Store two 8 × 8 matrices of 16-bit numbers, transposed: `(tile, i, w0, w1)`.

    `tile[i]`, in shared memory, is the start of the 16-byte row that this lane
    addresses, on a 16-byte boundary. Each row receives one column of a matrix: lanes 0
    to 7 address the rows for the first matrix, lanes 8 to 15 those for the second. What
    the other lanes pass as `tile[i]` is ignored. Each word is this lane's part of one
    matrix. All 32 lanes make the call.
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
    """Release registers, so that each thread of the warpgroup keeps n: `(n)`.

    n: a multiple of 8, from 24 to 256, that is known when the kernel is compiled. It
    must be at most the number that each thread had before. All 128 threads of the
    warpgroup make the call.
    """,
    instruction("setmaxnreg.dec.sync.aligned.u32 {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.registers("setmaxnreg_dec", n),
)
setmaxnreg_inc = _register(
    "setmaxnreg_inc",
    """Acquire registers, so that each thread of the warpgroup has n: `(n)`.

    The call waits until other warpgroups of the block have released enough registers
    with `setmaxnreg_dec`. n: a multiple of 8, from 24 to 256, that is known when the
    kernel is compiled. It must be at least the number that each thread had before. All
    128 threads of the warpgroup make the call.
    """,
    instruction("setmaxnreg.inc.sync.aligned.u32 {0};", "LITERAL"),
    lambda hopper, n: hopper.groups.registers("setmaxnreg_inc", n),
)
named_barrier = _register(
    "named_barrier",
    """Synchronise some of the block's warps at a barrier: `(number, threads)`.

    number: which barrier, from 1 to 15 (`cuda.syncthreads` uses barrier 0). threads:
    how many threads must arrive, a multiple of 32, and at most those of the block.
    """,
    instruction("bar.sync $0, $1;", "NUMBER NUMBER"),
    _named_barrier,
)
cluster_sync = _register(
    "cluster_sync",
    """Wait until all threads of all blocks of the cluster have arrived.

    Threads that have ended are not waited for. The threads of a warp must call it
    together.
    """,
    instruction(
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"
    ),
    _cluster_sync,
)
cluster_arrive = _register(
    "cluster_arrive",
    """Arrive at the barrier of the cluster without waiting.

    Each thread must call `cluster_wait` before it arrives again. What a thread did
    before it arrived is visible to the other threads of the cluster after their
    `cluster_wait`. The threads of a warp must call it together.
    """,
    instruction("barrier.cluster.arrive.release.aligned;"),
    lambda hopper: hopper.clusters.come("cluster_arrive"),
)
cluster_arrive_relaxed = _register(
    "cluster_arrive_relaxed",
    """Arrive as `cluster_arrive` does, but without making earlier writes visible.

    After their `cluster_wait`, other threads can rely on this thread's arrival, but not
    on seeing what it wrote before. The threads of a warp must call it together.
    """,
    instruction("barrier.cluster.arrive.relaxed.aligned;"),
    lambda hopper: hopper.clusters.come("cluster_arrive_relaxed", relaxed=True),
)
cluster_wait = _register(
    "cluster_wait",
    """Wait until all threads of the cluster have arrived at its barrier.

    Since its last wait, the calling thread must have arrived as well, by
    `cluster_arrive` or `cluster_arrive_relaxed`. Threads that have ended are not waited
    for. The threads of a warp must call it together.
    """,
    instruction("barrier.cluster.wait.acquire.aligned;"),
    _cluster_wait,
)
cluster_rank = _register(
    "cluster_rank",
    """Return the number of this block in its cluster, from 0, as an int32.""",
    instruction("mov.u32 $0, %cluster_ctarank;", gives="int32"),
    lambda hopper: np.int32(hopper.clusters.rank),
    "int32",
)
cluster_size = _register(
    "cluster_size",
    """Return how many blocks this block's cluster has, as an int32.

    Without clusters, that is 1.
    """,
    instruction("mov.u32 $0, %cluster_nctarank;", gives="int32"),
    lambda hopper: np.int32(hopper.clusters.size),
    "int32",
)
cluster_load = _register(
    "cluster_load",
    """Load `x[i]` from the shared memory of block `rank`: `(x, i, rank)` -> float32.

    x: a shared array of float32, at the same place in each block of the cluster. A
    `cluster_sync` must come between that block's stores to the element and this load.
    Another one must follow the load before that block ends or changes the element.
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

    x: a shared array of float32, at the same place in each block of the cluster. That
    block must have begun, and must not end before the store is done. Its threads can
    read the value after the next barrier of the cluster, such as `cluster_sync`.
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
    """Add atomically to `x[i]` of block `rank`: `(x, i, rank, value)` -> old value.

    x: a shared array of float32, at the same place in each block of the cluster. The
    addition is relaxed: it orders no other memory accesses.
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
    """Add atomically to an int32 of block `rank`: `(x, i, rank, value)` -> old value.

    Works as `cluster_atomic_add`, but `x` is a shared array of int32, and `value` an
    integer.
    """,
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
    """Arrive at the mbarrier `bars[i]` of block `rank`: `(bars, i, rank)`.

    bars: a shared array of uint64, at the same place in each block of the cluster. That
    block must have initialised the mbarrier, and must not have ended. The call does not
    wait.
    """,
    instruction(
        _there("mbarrier.arrive.shared::cluster.b64 _, [t];", "$0, $1"),
        "SHARED NUMBER",
    ),
    lambda hopper, *given: hopper.clusters.arrive("mbarrier_arrive_at", *given),
)


# Launches that begin early (programmatic dependent launch)

griddep_wait = _register(
    "griddep_wait",
    """Wait until the grids before this one have ended and their writes are visible.

    A kernel that is launched early (`weft.prepare` with `early=True`) must call it
    before it accesses global memory that those grids read or write. In any other
    launch, the call returns at once. It also does so in the simulator, where each
    launch ends before the next begins.
    """,
    instruction("griddepcontrol.wait;"),
    lambda hopper: None,
)
griddep_launch = _register(
    "griddep_launch",
    """Let the next grid begin once all blocks of this one have made this call or ended.

    The call has an effect only if the next grid is launched early (`weft.prepare` with
    `early=True`). The next grid's blocks can then start as soon as there is room for
    them. Only after `griddep_wait` are they sure to see what this grid has written.
    """,
    instruction("griddepcontrol.launch_dependents;"),
    lambda hopper: None,
)


tma_load_plane = _register(
    "tma_load_plane",
    """Start to load a box of a stack: `(tile, i, stack_map, col, row, plane, bars, s)`.

    Works as `tma_load`, but loads from matrix `plane` of a stack of matrices (see
    `weft.stack_maps`). Rows of the box past the end of the matrix become 0, even if
    another matrix follows in memory.
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
    """Start to store a box of a stack: `(stack_map, col, row, plane, tile, i)`.

    Works as `tma_store`, but stores to matrix `plane` of a stack of matrices (see
    `weft.stack_maps`). `plane` may not be negative either. Rows of the box past the end
    of the matrix are not written, even if another matrix follows in memory.
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
    """Return the descriptor of an operand stored k by k: `(tile, i, apart)` -> int64.

    The operand is the right one of `wgmma_bf16_chained`. It consists of boxes of 64
    columns of 2-byte numbers. Each box has one row of 128 bytes for each k, stored with
    the 128-byte swizzle. The first box begins at `tile[i]`, which must be at a multiple
    of 1024 bytes, and each further box `apart` bytes after the previous one. To move 16
    rows along k, add 128 to the descriptor.
    """,
    instruction(_COLUMNS, "SHARED NUMBER", gives="int64", stays=False),
    _descriptor_columns,
    "int64",
)
wgmma_bf16_chained = _register(
    "wgmma_bf16_chained",
    """Start `acc += a @ b`, with `a` in registers: `(acc, n, words, at, b, add)`.

    a: 64 rows of 16 bfloat16. Each thread passes its part of them as the four elements
    of `words` from `words[at]` on. words: a local array of int32, which must not change
    until the product is done. at: a number that is known when the kernel is compiled.
    b: the descriptor, from `descriptor_columns`, of 16 rows, one for each k, of n
    bfloat16 each. acc: a local array of float32, whose first n / 2 elements are this
    thread's sums. If `add` is 0, the product overwrites them. The limits of n, and the
    calls that must come before and after, are those of `wgmma_bf16`.
    """,
    _wgmma("bf16", 16, ", 1, 1, 1", chained=True),
    _from_words("wgmma_bf16_chained", BFLOAT16),
)
hold_words = _register(
    "hold_words",
    """Keep the compiler from moving uses of `words` ahead of this: `(words, count)`.

    Works as `hold`, for a local array of int32.
    """,
    _hold,
    lambda hopper, words, count: hopper.groups.hold("hold_words", words, count),
)
