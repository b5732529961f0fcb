"""Time products of few bits beside bfloat16, and say how far off they are.

python record.py [--out FOLDER] [TABLE ...], on a machine with a Hopper GPU, PyTorch
and Triton. Tables: products, sums, layer, weights, sparse; each becomes a file. What a
machine cannot run gets a line with the reason instead of a row.
"""

import argparse
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import formats  # noqa: E402
import kernels  # noqa: E402
from profiled import WIDTH, facts, lab  # noqa: E402

COMMAND = "$ python3 record.py {}\n"
TIMED = "# medians of bursts of launches timed in turns, each after a pause\n"
ERROR = "# error: root mean square beside float64, in % of the size of each row\n"
EACH = 10  # characters of a column
TOKENS = 256  # rows of a result that are compared with float64

Launch = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One row: how to make its launch, and what to say of it beside its time.

    make: returns the launch, called on the GPU; it may raise. result: makes of what the
    launch returns the matrix that is compared, None for what is not compared. nbytes:
    what the launch has to read, for a rate. most: an error, in %, above which the row
    is wrong.
    """

    name: str
    make: Callable[[], Launch]
    result: Callable[[Any], Any] | None = lambda y: y
    nbytes: float = 0
    most: float = 50


def reason(error: Exception) -> str:
    """Return what an exception says, on one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:220]}"


def comment(text: str) -> str:
    """Set a comment below a table, on as many lines as it takes."""
    made = textwrap.fill(text, WIDTH, initial_indent="# ", subsequent_indent="#   ")
    return f"{made}\n"


def lines(title: str, heads: Sequence[str], rows: list[tuple[str, list[str]]]) -> str:
    """Set a table: names on the left, columns of EACH characters."""
    left = WIDTH - EACH * len(heads)
    if long := [name for name, _ in rows if len(name) >= left]:
        raise ValueError(f"no room for {long}")
    return "".join(
        f"{name:{left}}{''.join(f'{cell:>{EACH}}' for cell in cells)}".rstrip() + "\n"
        for name, cells in [(title, list(heads)), *rows]
    )


def timed(
    title: str,
    rows: Sequence[Row],
    wanted: Any = None,
    *,
    baseline: str,
    flops: float = 0,
    times: int = 1,
) -> str:
    """Make, run, compare and time the rows of a table, and set it.

    wanted: the right result's first rows, in float64. flops: of one product. times: how
    many products one launch makes.
    """
    watch = timing.BurstStopwatch(most=25)
    launches, errors, missing = dict[str, Launch](), dict[str, str](), []
    for row in rows:
        try:
            launch = row.make()
            errors[row.name] = ""
            if row.result and wanted is not None:
                got = row.result(launch())[: len(wanted)]
                found = formats.error(got, wanted)
                if not found < row.most:
                    raise ValueError(f"the result is wrong, its error is {found:.3g} %")
                errors[row.name] = f"{found:.3g}"
            watch.once(launch, 0.0)
            launches[row.name] = launch
        except Exception as error:  # of a library that lacks something
            missing.append(comment(f"{row.name}: {reason(error)}"))
            print(missing[-1], end="", flush=True)
    found = timing.measure(launches, watch)
    ms = {name: found[name].ms / times for name in launches}
    heads = ["ms"]
    read = {row.name: row.nbytes for row in rows}
    if flops:
        heads.append("TFLOP/s")
    if any(read.values()):
        heads += ["MB", "TB/s"]
    heads += ["speed"]
    if wanted is not None:
        heads += ["error, %"]
    shown = []
    for name, time in ms.items():
        cells = [f"{time:.4g}"]
        if flops:
            cells.append(f"{flops / time / 1e9:.0f}")
        if any(read.values()):
            cells += [f"{read[name] / 1e6:.0f}", f"{read[name] / time / 1e9:.2f}"]
        cells.append(f"{ms[baseline] / time:.2f}")
        if wanted is not None:
            cells.append(errors[name])
        shown.append((name, cells))
    return lines(title, heads, shown) + "".join(missing)


# Products of fp8.


def scaled_linear() -> type:
    """Return `Linear` of chapter 25 with scales for both operands."""
    import numpy as np

    class Scaled(of.Linear):
        """y = x @ w.T by cuBLASLt, of codes with scales.

        modes: cublasLtMatmulMatrixScale_t, of x and of w.
        """

        def __init__(self, x, w, y, scales, modes, fast=False):
            super().__init__(x, w, None, y, fast=fast)
            self.scales = scales
            (by_x, by_w), (mode_x, mode_w) = scales, modes
            self._put(17, by_w.data_ptr(), np.int64)  # A_SCALE_POINTER
            self._put(18, by_x.data_ptr(), np.int64)  # B_SCALE_POINTER
            self._put(31, mode_w, np.int32)  # A_SCALE_MODE
            self._put(32, mode_x, np.int32)  # B_SCALE_MODE
            self.found = self._algorithms(16)
            if not len(self.found):
                raise RuntimeError("the heuristic finds no algorithm")

    return Scaled


SCALAR, OUTER, VECTOR, BLOCK = 0, 3, 4, 5  # cublasLtMatmulMatrixScale_t


class Operands:
    """One product's operands in bfloat16, and quantised in several ways."""

    def __init__(self, m: int, n: int, k: int) -> None:
        self.sizes = m, n, k
        self.x = formats.activations(m, k, columns=40, device="cuda")
        self.w = formats.weights(n, k, device="cuda")
        self.wanted = self.x[:TOKENS].double() @ self.w.double().t()
        self.flops = 2.0 * m * n * k
        self.made: dict[Any, Any] = {}

    def place(self) -> Any:
        """Return an array for the result."""
        m, n, _ = self.sizes
        return torch.empty(m, n, dtype=torch.bfloat16, device="cuda")

    def codes(self, which: str, block: formats.Block, kind: Any = None) -> Any:
        """Return codes and scales of x or w; those per 1 x 128 column by column."""
        kind = kind or torch.float8_e4m3fn
        key = which, block, kind
        if key not in self.made:
            codes, scales = formats.quantise(getattr(self, which), kind, block)
            if block == formats.GROUP:
                scales = scales.t().contiguous().t()
            self.made[key] = codes, scales
        return self.made[key]

    def multiply(
        self, x_block: formats.Block, w_block: formats.Block, fast: bool = False
    ) -> Callable[[Any, Any], Any]:
        """Return PyTorch's public function as one of codes and scales of x."""
        functional = torch.nn.functional
        kinds = functional.ScalingType
        recipes = {
            formats.TENSOR: kinds.TensorWise,
            formats.ROW: kinds.RowWise,
            formats.GROUP: kinds.BlockWise1x128,
            formats.SQUARE: kinds.BlockWise128x128,
        }
        w, by_w = self.codes("w", w_block)
        if w_block != formats.GROUP:
            by_w = by_w.t()

        def product(x: Any, by_x: Any) -> Any:
            return functional.scaled_mm(
                *(x, w.t(), by_x, recipes[x_block], by_w, recipes[w_block]),
                output_dtype=torch.bfloat16,
                use_fast_accum=fast,
            )

        return product

    def by_torch(
        self, x_block: formats.Block, w_block: formats.Block, fast: bool = False
    ) -> Launch:
        """Return the product by PyTorch's public function for scaled operands."""
        product = self.multiply(x_block, w_block, fast)
        return partial(product, *self.codes("x", x_block))

    def by_cublas(
        self,
        x_block: formats.Block,
        w_block: formats.Block,
        modes: tuple[int, int],
        fast: bool = False,
    ) -> Launch:
        """Return the fastest of cuBLASLt's algorithms for scaled operands."""
        (x, by_x), (w, by_w) = self.codes("x", x_block), self.codes("w", w_block)
        y = self.place()
        light = scaled_linear()(x, w, y, (by_x, by_w), modes, fast)

        def run(i: int) -> Any:
            light(i)
            return y

        return fastest_of([partial(run, i) for i in range(len(light.found))])

    def by_triton(self) -> Launch:
        """Return the kernel with scales per block, with its best tile."""
        from triton.tools.tensor_descriptor import TensorDescriptor

        m, n, k = self.sizes
        x, by_x = self.codes("x", formats.GROUP)
        w, by_w = self.codes("w", formats.SQUARE)
        y = self.place()

        def with_tile(bm: int, bn: int, **options: int) -> Launch:
            described = TensorDescriptor.from_tensor
            args = described(x, [bm, 128]), described(w, [bn, 128])
            out = described(y, [bm, bn])
            grid = (-(-m // bm) * -(-n // bn),)

            def run() -> Any:
                kernels.scaled_blocks[grid](
                    *args, out, by_x, by_w, m, n, k, BM=bm, BN=bn, **options
                )
                return y

            return run

        tiles = (
            with_tile(128, 128, num_warps=8, num_stages=4),
            with_tile(128, 128, num_warps=8, num_stages=3),
            with_tile(64, 128, num_warps=4, num_stages=4),
            with_tile(64, 128, num_warps=4, num_stages=3),
            with_tile(64, 128, num_warps=4, num_stages=2),
        )
        return fastest_of(tiles)

    def int8(self) -> Launch:
        """Return the sums of int8 products, int32; the scales come afterwards."""
        x, w = (self.codes(which, formats.ROW, torch.int8)[0] for which in "xw")
        return lambda: torch._int_mm(x, w.t())

    def scaled(self, sums: Any) -> Any:
        """Return sums of int8 products times the scales of their row and column."""
        by_x, by_w = (self.codes(which, formats.ROW, torch.int8)[1] for which in "xw")
        return sums[:TOKENS].double() * by_x[:TOKENS].double() * by_w.double().t()

    def bf16(self) -> Launch:
        """Return the fastest of cuBLAS's products of bfloat16."""
        y = self.place()
        fastest = of.fastest(of.library(self.x, self.w, y))

        def run() -> Any:
            fastest()
            return y

        return run


def fastest_of(ways: Sequence[Launch]) -> Launch:
    """Return the fastest of the calls that succeed. Raises the last one's error."""
    good, failed = [], None
    for way in ways:
        try:
            way()
            torch.cuda.synchronize()
        except Exception as error:  # a tile that does not fit, an algorithm
            failed = error
        else:
            good.append(way)
    if not good:
        raise failed or RuntimeError("there is nothing to choose from")
    return of.fastest(good)


def products() -> Iterator[str]:
    """Yield tables of square products."""
    t, r, g, s = formats.TENSOR, formats.ROW, formats.GROUP, formats.SQUARE
    for n in 8192, 4096:
        ops = Operands(n, n, n)
        rows = [
            Row("bf16, cuBLAS", ops.bf16),
            Row("per tensor, scaled_mm", partial(ops.by_torch, t, t)),
            Row("per tensor, cuBLASLt", partial(ops.by_cublas, t, t, (SCALAR,) * 2)),
            Row(
                "per tensor, cuBLASLt, fast sums",
                partial(ops.by_cublas, t, t, (SCALAR,) * 2, True),
            ),
            Row("per row, scaled_mm", partial(ops.by_torch, r, r)),
            Row("per row, scaled_mm, fast sums", partial(ops.by_torch, r, r, True)),
            Row("per row, cuBLASLt", partial(ops.by_cublas, r, r, (OUTER,) * 2)),
            Row("1 x 128, 128 x 128, scaled_mm", partial(ops.by_torch, g, s)),
            Row(
                "1 x 128, 128 x 128, cuBLASLt",
                partial(ops.by_cublas, g, s, (VECTOR, BLOCK)),
            ),
            Row("1 x 128, 128 x 128, Triton", ops.by_triton),
            Row("1 x 128, 1 x 128, scaled_mm", partial(ops.by_torch, g, g)),
            Row(
                "1 x 128, 1 x 128, cuBLASLt",
                partial(ops.by_cublas, g, g, (VECTOR, VECTOR)),
            ),
            Row("int8 per row, _int_mm, unscaled", ops.int8, ops.scaled),
        ]
        title = f"{n} x {n} x {n}"
        base = "bf16, cuBLAS"
        yield timed(title, rows, ops.wanted, baseline=base, flops=ops.flops)


# How well the sums are added up.


def sums() -> Iterator[str]:
    """Yield tables of the errors of sums, beside float64 of the same codes."""
    n, lengths = 512, (1024, 4096, 16384, 65536)
    for title, made in (("normal numbers", torch.randn), ("from 0 to 1", torch.rand)):
        cells: dict[str, list[str]] = {}
        missing = []
        for k in lengths:
            torch.manual_seed(k)
            x, w = (made(n, k, device="cuda").to(torch.float8_e4m3fn) for _ in "xw")
            wanted = x.double() @ w.double().t()
            for name, way in added(x, w).items():
                try:
                    got = way()
                    cell = f"{formats.error(got, wanted):.3g}"
                except Exception as error:
                    cell = "-"
                    missing.append(comment(f"{name}, {k}: {reason(error)}"))
                cells.setdefault(name, []).append(cell)
        heads = [f"k = {k}" for k in lengths]
        yield lines(title, heads, list(cells.items())) + "".join(missing)


def added(x: Any, w: Any) -> dict[str, Launch]:
    """Return ways to compute x @ w.T in float32, of e4m3 codes without scales."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    functional = torch.nn.functional
    kinds = functional.ScalingType
    (m, k), n = x.shape, len(w)
    one = torch.ones(1, 1, device="cuda")
    single = torch.float32

    def whole(fast: bool) -> Any:
        return functional.scaled_mm(
            *(x, w.t(), one, kinds.TensorWise, one, kinds.TensorWise),
            output_dtype=single,
            use_fast_accum=fast,
        )

    def blocks() -> Any:
        by_x = torch.ones(k // 128, m, device="cuda").t()
        by_w = torch.ones(n // 128, k // 128, device="cuda").t()
        return functional.scaled_mm(
            *(x, w.t(), by_x, kinds.BlockWise1x128, by_w, kinds.BlockWise128x128),
            output_dtype=single,
        )

    def ours() -> Any:
        y = torch.empty(m, n, device="cuda")
        described = TensorDescriptor.from_tensor
        tiles = described(x, [128, 128]), described(w, [128, 128])
        ones = torch.ones(max(m, n) * k // 128, device="cuda")
        kernels.scaled_blocks[(m * n // 128**2,)](
            *(*tiles, described(y, [128, 128]), ones, ones, m, n, k),
            **{"BM": 128, "BN": 128, "num_warps": 8, "num_stages": 3},
        )
        return y

    def wide() -> Any:
        return torch.mm(x.bfloat16(), w.bfloat16().t(), out_dtype=single)

    return {
        "fp8, fast sums": partial(whole, True),
        "fp8": partial(whole, False),
        "fp8, blocks of 128, scaled_mm": blocks,
        "fp8, blocks of 128, Triton": ours,
        "bf16": wide,
    }


# A layer whose activations arrive in bfloat16.


def layer() -> Iterator[str]:
    """Yield a table of a linear layer: quantising x, multiplying, and both."""
    ops = Operands(8192, 16384, 4096)
    ways = {
        "per tensor": (formats.TENSOR, formats.TENSOR),
        "per row": (formats.ROW, formats.ROW),
        "1 x 128, 128 x 128": (formats.GROUP, formats.SQUARE),
    }
    rows = [Row("bf16, cuBLAS", ops.bf16)]
    for name, (x_block, w_block) in ways.items():
        rows += [
            Row(f"{name}, quantising", partial(quantising, ops, x_block), None),
            Row(f"{name}, product", partial(ops.by_torch, x_block, w_block)),
            Row(f"{name}, both", partial(both, ops, x_block, w_block)),
        ]
    yield timed("8192 tokens, 4096 to 16384", rows, ops.wanted, baseline="bf16, cuBLAS")


def quantising(ops: Operands, block: formats.Block) -> Launch:
    """Return the quantising of x, compiled."""

    @torch.compile(dynamic=False)
    def quantised(x: Any) -> Any:
        codes, scales = formats.quantise(x, torch.float8_e4m3fn, block)
        if block == formats.GROUP:
            scales = scales.t().contiguous().t()
        return codes, scales

    codes, scales = quantised(ops.x)
    right, by = ops.codes("x", block)
    off = (codes.float() != right.float()).float().mean()
    if off > 1e-3 or not torch.allclose(scales, by):
        raise ValueError(f"compiled, {float(off):.2%} of the codes are others")
    return lambda: quantised(ops.x)


def both(ops: Operands, x_block: formats.Block, w_block: formats.Block) -> Launch:
    """Return the quantising of x and the product."""
    quantise, product = quantising(ops, x_block), ops.multiply(x_block, w_block)
    return lambda: product(*quantise())


# Few tokens, so that the weights' bytes are what counts.


class SmallBatch:
    """Products of m tokens with weights (n, k), in several formats.

    There are two matrices of weights, used in turn, so that none stays in L2.
    """

    COUNT = 2

    def __init__(self, m: int, n: int = 28672, k: int = 8192) -> None:
        self.sizes = m, n, k
        self.x = formats.activations(m, k, columns=40, device="cuda")
        each = [formats.weights(n, k, device="cuda") for _ in range(self.COUNT)]
        each[1] = each[1].roll(1, 0)
        self.each = each
        self.wanted = self.x.double() @ each[0].double().t()

    def in_turn(self, ways: Sequence[Launch]) -> Launch:
        """Return a launch that makes a product with each of the matrices."""

        def run() -> Any:
            first, *_ = [way() for way in ways]
            return first

        return run

    def by_torch(self) -> Launch:
        """Return the product of bfloat16."""
        m, n, _ = self.sizes
        y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        ways = [partial(torch.mm, self.x, w.t(), out=y) for w in self.each]

        def run() -> Any:
            for way in reversed(ways):
                way()
            return y

        return run

    def by_triton(self, kind: str, encode: Callable[[Any], Any]) -> Launch:
        """Return the kernel that leaves conversions to Triton, with its best tile."""
        tiles = ((64, 4, 3), (64, 4, 5), (64, 4, 8), (128, 8, 3), (128, 8, 5))
        coded = [encode(w) for w in self.each]

        def with_tile(bn: int, warps: int, stages: int) -> Launch:
            more = {"num_warps": warps, "num_stages": stages}
            return self.launch(kernels.small_batch, coded, KIND=kind, BN=bn, **more)

        return fastest_of([with_tile(*tile) for tile in tiles])

    def by_words(self, kind: str) -> Launch:
        """Return the kernel that converts words of codes, with its best tile."""
        tiles = (
            *((64, 4, 3, 2), (64, 4, 5, 2), (64, 4, 2, 4), (64, 4, 3, 4)),
            *((64, 4, 4, 1), (128, 4, 3, 2), (128, 8, 3, 2), (128, 8, 3, 4)),
        )
        coded = [formats.words(w, kind) for w in self.each]

        def with_tile(bn: int, warps: int, stages: int, deep: int) -> Launch:
            more = {"num_warps": warps, "num_stages": stages, "DEEP": deep}
            kernel = kernels.small_batch_of_words
            return self.launch(kernel, coded, KIND=kind, BN=bn, **more)

        return fastest_of([with_tile(*tile) for tile in tiles])

    def by_fragments(self) -> Launch:
        """Return the Numba kernel with mma.sync, with its best tile."""
        import fragments
        import numpy as np
        from numba import cuda

        from weft import bench

        m, n, k = self.sizes
        y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        x, out = (cuda.as_cuda_array(z.view(torch.int32)) for z in (self.x, y))
        coded = [map(cuda.as_cuda_array, fragments.packed(w)) for w in self.each]
        coded = [tuple(arrays) for arrays in coded]
        mask = np.uint32(fragments.MASK)

        def with_tile(tiles: int, warps: int) -> Launch:
            made = fragments.made(tiles, warps, -(-m // 8))
            blocks = n // fragments.ROWS // tiles

            def run() -> Any:
                for w, scales in reversed(coded):
                    on = w, x, scales, out, m, k, mask
                    made.kernel[blocks, made.threads, bench.stream()](*on)
                return y

            return run

        return fastest_of([with_tile(*tile) for tile in fragments.TILES])

    def launch(self, kernel: Any, coded: Sequence[Any], **options: Any) -> Launch:
        """Return a launch of a kernel for each of the weights' codes and scales."""
        m, n, k = self.sizes
        y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
        bm, grid = max(16, 1 << (m - 1).bit_length()), (n // options["BN"],)

        def run() -> Any:
            for w, scales in reversed(coded):
                kernel[grid](w, self.x, scales, y, m, n, k, BM=bm, **options)
            return y

        return run

    def plain(self, w: Any) -> Any:
        """Return weights as they are, and a scale that is not used."""
        return w, torch.ones(len(w), device="cuda")

    def per_row(self, kind: Any, w: Any) -> Any:
        """Return codes and one scale per row."""
        codes, scales = formats.quantise(w, kind, formats.ROW)
        return codes, scales.view(-1)

    def int4(self, w: Any) -> Any:
        """Return packed codes, and scales (k / 128, n)."""
        codes, scales = formats.packed(w)
        return codes, scales.t().contiguous()

    def int8_of_torch(self) -> Launch:
        """Return PyTorch's own product with int8."""
        coded = [self.per_row(torch.int8, w) for w in self.each]
        ways = [
            partial(torch.ops.aten._weight_int8pack_mm, self.x, w, scales.bfloat16())
            for w, scales in coded
        ]
        return self.in_turn(ways)

    def int4_of_torch(self) -> Launch:
        """Return PyTorch's own product with int4: it takes (code - 8) * scale + 0."""
        _, n, k = self.sizes
        ways = []
        for w in self.each:
            codes, scales = formats.quantise(w, torch.int8, formats.GROUP, 7)
            even, odd = (codes + 8).view(torch.uint8).view(n, k // 2, 2).unbind(2)
            packed = torch.ops.aten._convert_weight_to_int4pack(even << 4 | odd, 8)
            both = torch.stack((scales, torch.zeros_like(scales)), 2)  # (n, groups, 2)
            by = both.transpose(0, 1).contiguous().bfloat16()
            ways.append(
                partial(torch.ops.aten._weight_int4pack_mm, self.x, packed, 128, by)
            )
        return self.in_turn(ways)

    def both_e4m3(self) -> Launch:
        """Return PyTorch's product with both operands in e4m3, and scales per row."""
        row = torch.nn.functional.ScalingType.RowWise
        x, by_x = formats.quantise(self.x, torch.float8_e4m3fn, formats.ROW)
        coded = [
            formats.quantise(w, torch.float8_e4m3fn, formats.ROW) for w in self.each
        ]
        multiply = torch.nn.functional.scaled_mm
        return self.in_turn(
            [partial(multiply, x, w.t(), by_x, row, by.t(), row) for w, by in coded]
        )

    def sparse(self) -> Launch:
        """Return cuSPARSELt's product with pruned weights, for 16 tokens at least."""
        m, _, k = self.sizes
        x = self.x if m >= 16 else torch.cat([self.x, self.x.new_zeros(16 - m, k)])
        run = self.in_turn([searched(x, formats.pruned(w)) for w in self.each])
        return lambda: run()[:m]


def weights() -> Iterator[str]:
    """Yield tables of products with few tokens."""
    for m in 1, 4, 16, 64:
        small = SmallBatch(m)
        _, n, k = small.sizes
        whole, grouped = float(n * k), 4.0 * n * k / 128
        two, eight, four = 2 * whole, whole + 4 * n, whole / 2 + grouped
        int8 = partial(small.per_row, torch.int8)
        triton, words = small.by_triton, small.by_words
        rows = [
            Row("bf16, torch.mm", small.by_torch, nbytes=two),
            Row(
                "bf16, Triton", partial(triton, "plain", small.plain), nbytes=2 * whole
            ),
            Row("int8 per row", partial(triton, "row", int8), nbytes=eight),
            Row("int8 per row, words", partial(words, "int8"), nbytes=eight),
            Row("int8 per row, PyTorch", small.int8_of_torch, nbytes=eight),
            Row("e4m3 per row, words", partial(words, "e4m3"), nbytes=eight),
            Row("e4m3, x too, scaled_mm", small.both_e4m3, nbytes=eight),
            Row("int4 per 128", partial(triton, "group", small.int4), nbytes=four),
            Row("int4 per 128, words", partial(words, "int4"), nbytes=four),
            Row("int4 per 128, mma.sync", small.by_fragments, nbytes=four),
            Row("int4 per 128, PyTorch", small.int4_of_torch, nbytes=four),
            Row("2:4, cuSPARSELt", small.sparse, nbytes=1.125 * whole),
        ]
        if m > 16:  # activations and sums would fill the registers
            rows = [row for row in rows if "mma.sync" not in row.name]
        yield timed(
            f"{m} x {k} @ {k} x {n}",
            rows,
            small.wanted,
            baseline="bf16, torch.mm",
            times=small.COUNT,
        )


# Half of the weights zero.


def sparse() -> Iterator[str]:
    """Yield tables of products with 2:4 sparse weights."""
    for n in 8192, 4096:
        ops = Operands(n, n, n)
        ops.x = torch.randn_like(ops.x)
        ops.wanted = ops.x[:TOKENS].double() @ ops.w.double().t()
        rows = [
            Row("bf16, cuBLAS", ops.bf16),
            Row("bf16 2:4, cuSPARSELt", partial(halved, ops)),
            Row(
                "bf16 2:4, cuSPARSELt, searched",
                lambda ops=ops: searched(ops.x, formats.pruned(ops.w)),
            ),
            Row("bf16 2:4, CUTLASS", partial(halved, ops, cutlass=True)),
            Row(
                "fp8, cuBLASLt",
                partial(
                    ops.by_cublas, formats.TENSOR, formats.TENSOR, (SCALAR,) * 2, True
                ),
            ),
            Row(
                "fp8 2:4, cuSPARSELt, unscaled",
                partial(fp8_halved, ops),
                partial(fp8_scaled, ops),
            ),
        ]
        title, base = f"{n} x {n} x {n}", "bf16, cuBLAS"
        yield timed(title, rows, ops.wanted, baseline=base, flops=ops.flops)


def halved(ops: Operands, cutlass: bool = False) -> Launch:
    """Return PyTorch's product with pruned weights."""
    kind = torch.sparse.SparseSemiStructuredTensor
    kind._FORCE_CUTLASS = cutlass
    try:
        w = torch.sparse.to_sparse_semi_structured(formats.pruned(ops.w))
    finally:
        kind._FORCE_CUTLASS = False
    return lambda: torch.mm(ops.x, w.t())


def searched(x: Any, w: Any, **more: Any) -> Launch:
    """Return cuSPARSELt's product x @ w.T, by the algorithm that it finds best."""
    packed, kind = torch._cslt_compress(w), more.get("out_dtype")
    search = torch._C._cusparselt.mm_search  # PyTorch has no public name for it
    best, parts, how, _ = search(packed, x.t(), None, None, kind, True)
    found = {"alg_id": best, "split_k": parts, "split_k_mode": how}
    return lambda: torch._cslt_sparse_mm(
        packed, x.t(), transpose_result=True, **found, **more
    ).view(len(x), len(w))


def fp8_halved(ops: Operands) -> Launch:
    """Return the product with pruned weights in e4m3, without its scale."""
    (x, _), (w, _) = (
        formats.quantise(part, torch.float8_e4m3fn, formats.TENSOR)
        for part in (ops.x, formats.pruned(ops.w))
    )
    return searched(x, w, out_dtype=torch.bfloat16)


def fp8_scaled(ops: Operands, y: Any) -> Any:
    """Return such a product's first rows times both scales."""
    scales = ops.x.abs().max().double() * formats.pruned(ops.w).abs().max().double()
    return y[:TOKENS].double() * scales / 448**2


def cusparselt() -> str:
    """Return the version of cuSPARSELt, for the head of a recording."""
    backend = torch.backends.cusparselt
    return f"cuSPARSELt {backend.version()}" if backend.is_available() else ""


TABLES = {f.__name__: f for f in (products, sums, layer, weights, sparse)}


def versions() -> str:
    """Return the versions of what makes the products, a line of a recording."""
    import triton

    made = [f"triton {triton.__version__}", f"CUDA {torch.version.cuda}"]
    made += [f"cuBLAS {cublas_version()}", cusparselt()]
    return f"# {', '.join(filter(None, made))}\n"


def cublas_version() -> str:
    """Return the version of cuBLAS, such as 13.1.0."""
    from weft.libraries import cublas

    number = cublas.get_version(cublas.create())
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


if __name__ == "__main__":
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("tables", nargs="*", default=list(TABLES), metavar="TABLE")
    options.add_argument("--out", type=Path, default=HERE, metavar="FOLDER")
    given = options.parse_args()
    of = lab("22_hopper_gemm", "fastest", "library")
    of.Linear = lab("25_cublas", "Linear").Linear
    from weft import timing

    given.out.mkdir(parents=True, exist_ok=True)
    head = facts(ncu=False) + versions() + TIMED + ERROR
    for name in given.tables:
        text = COMMAND.format(name) + head
        for found in TABLES[name]():
            text += f"\n{found}"
            print(found, flush=True)
            (given.out / f"{name}.txt").write_text(text, encoding="utf-8")
