"""The measurements of chapter 22. Each function times, and returns a table."""

import weft
from weft import bench
from weft.chapters import Chapter
from weft.starters import has_stub
from weft.timing import BurstStopwatch

from .checks import grouped, walk
from .kernels import gemm, one_pipeline, own_gemm
from .paired import paired_gemm

if weft.GPU:
    import torch
    import triton
    import triton.language as tl
    from triton.tools.tensor_descriptor import TensorDescriptor

    Linear = Chapter("25_cublas").ready.Linear

    torch.manual_seed(22)
    matmul = torch.backends.cuda.matmul
    matmul.allow_bf16_reduced_precision_reduction = False

    @triton.jit
    def triton_pointers(
        a, w, c, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
    ):
        """One tile per program; the sizes divide."""
        across, down = n // BN, tl.num_programs(0) // (n // BN)
        i, j = tl.swizzle2d(
            tl.program_id(0) // across,
            tl.program_id(0) % across,
            *(down, across, 8),
        )
        rows, cols = i * BM + tl.arange(0, BM), j * BN + tl.arange(0, BN)
        depth = tl.arange(0, BK)
        on_a = a + rows[:, None] * k + depth[None, :]
        on_w = w + cols[None, :] * k + depth[:, None]
        acc = tl.zeros((BM, BN), tl.float32)
        for _ in range(0, k, BK):
            acc = tl.dot(tl.load(on_a), tl.load(on_w), acc)
            on_a, on_w = on_a + BK, on_w + BK
        out = c + rows[:, None] * n + cols[None, :]
        tl.store(out, acc.to(tl.bfloat16))

    @triton.jit
    def triton_descriptors(
        a, w, c, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
    ):
        """Persistent programs; tiles in groups of 16."""
        down, across = tl.cdiv(m, BM), tl.cdiv(n, BN)
        for tile in tl.range(
            tl.program_id(0), down * across, tl.num_programs(0), flatten=True
        ):
            which = tile // (16 * across)
            height = min(down - which * 16, 16)
            i = which * 16 + tile % (16 * across) % height
            j = tile % (16 * across) // height
            acc = tl.zeros((BM, BN), tl.float32)
            for step in range(tl.cdiv(k, BK)):
                x = a.load([i * BM, step * BK])
                y = w.load([j * BN, step * BK])
                acc = tl.dot(x, y.T, acc)
            c.store([i * BM, j * BN], acc.to(tl.bfloat16))


def triton_gemms(a, w, c):
    """Return functions that compute c = a @ w.T by the two programs."""
    (m, k), n = a.shape, w.shape[0]
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    on = (
        TensorDescriptor.from_tensor(a, [128, 64]),
        TensorDescriptor.from_tensor(w, [256, 64]),
        TensorDescriptor.from_tensor(c, [128, 256]),
    )
    tiles = m // 128 * (n // 256)
    few = {"BM": 128, "BN": 256, "BK": 64, "num_warps": 8, "num_stages": 3}
    return {
        "Triton, pointers": lambda: triton_pointers[(tiles,)](a, w, c, n, k, **few),
        "Triton, descriptors": lambda: triton_descriptors[(min(sms, tiles),)](
            *on, m, n, k, **few
        ),
    }


def fastest(functions):
    """Return the fastest of some functions, by four bursts of each."""
    watch = BurstStopwatch()
    times = {f: [] for f in functions}
    for _ in range(4):
        for f in functions:
            times[f].append(watch.once(f, 0.0).ms)
    return min(times, key=lambda f: sorted(times[f])[1])


def library(a, w, c, fast=False):
    """Return every way in which cuBLAS computes c = a @ w.T."""
    light = Linear(a, w, None, c, fast=fast)
    ways = [lambda i=i: light(i) for i in range(len(light.found))]
    if a.dtype == torch.bfloat16:
        b = w.t().contiguous()
        ways.append(lambda: torch.mm(a, w.t(), out=c))
        ways.append(lambda: torch.mm(a, b, out=c))
    return ways


def matrices(m, n, k):
    """Return a, w and the place for c."""
    a = torch.randn(m, k, device="cuda").bfloat16()
    w = torch.randn(n, k, device="cuda").bfloat16()
    return a, w, torch.empty(m, n, device="cuda", dtype=torch.bfloat16)


def yours(kernel, a, w, c):
    """Return the row of the learner's kernel: none where it is not begun, or wrong."""
    if kernel is None or has_stub(kernel):
        return {}
    run, right = own_gemm(kernel, a, w, c), torch.mm(a, w.t()).float()
    c.fill_(float("nan"))
    run()
    far = (c.float() - right).abs() - 0.01 * right.abs()
    if not (far <= 2e-3 * a.shape[1] ** 0.5).all():
        print("`gemm_ring` gives another product on this GPU: its row is left out.")
        return {}
    return {"yours": run}


def rungs(n, kernel=None):
    """Return the rows of the ladder, for n x n matrices."""
    a, w, c = on = matrices(n, n, n)
    plain = {"STORE_BY_TMA": 0, "buffers": 2}
    return {
        "cuBLAS": fastest(library(*on)),
        "torch.mm": lambda: torch.mm(a, w.t(), out=c),
        "one pipeline": gemm(*on, kernel=one_pipeline),
        "row by row": gemm(*on, GROUP=1, **plain),
        "grouped": gemm(*on, **plain),
        **yours(kernel, *on),
        "TMA store": gemm(*on),
        "two buffers": gemm(*on, buffers=2),
        "clusters": gemm(*on, CLUSTER=2, buffers=2, GROUP=8),
        **triton_gemms(*on),
    }


def ladder_of(n, guess=None, kernel=None):
    """Time the ladder in bursts, each after a pause. kernel: `gemm_ring`."""
    return bench.compare(
        f"{n} x {n} x {n} bfloat16",
        lambda: rungs(n, kernel),
        baseline="cuBLAS",
        flops=2 * n**3,
        guess=guess,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


SHAPES = {
    "1024³": (1024, 1024, 1024),
    "2048³": (2048, 2048, 2048),
    "tall": (16384, 1024, 4096),
    "wide": (1024, 16384, 4096),
    "ragged": (4000, 5000, 3000),
    "ragged, small": (3333, 2504, 1992),
}
TILES = {
    "128 x 256": {},
    "128 x 256, cluster": {"CLUSTER": 2, "buffers": 2, "GROUP": 8},
    "128 x 256, deep": {"buffers": 2, "GROUP": 4},
    "192 x 192, cluster": {
        "bm": 192,
        "bn": 192,
        "CLUSTER": 2,
        "buffers": 1,
    },
    "128 x 128": {"bn": 128},
    "64 x 128": {"bm": 64, "bn": 128, "GROUP": 4},
}
TURNED = {"bm": 256, "bn": 136, "turned": True, "BESIDE": 1}
PAIRS = {
    "192 x 200, pairs": {},
    "256 x 136, turned, whole": TURNED | {"TAIL": 0},
    "256 x 136, turned": TURNED,
}
STEPS = {  # more rows for a ragged shape
    "ragged": ["192 x 200, pairs"],
    "ragged, small": ["192 x 192, cluster", *list(PAIRS)[1:]],
}


def by_tiles(name, a, w, c, **more):
    """Return a function that computes c = a @ w.T with tiles of the tables above."""
    if name in PAIRS:
        return paired_gemm(a, w, c, **PAIRS[name], **more)
    return gemm(a, w, c, **TILES[name], **more)


def variants(a, w, c):
    """Return a function for each kernel of the tables, with its name."""
    named = {
        "one pipeline": gemm(a, w, c, kernel=one_pipeline),
        "grouped": gemm(a, w, c, STORE_BY_TMA=0, buffers=2),
    }
    for tiles in (*TILES, *PAIRS):
        named[tiles] = by_tiles(tiles, a, w, c)
        named[f"{tiles}, early"] = by_tiles(tiles, a, w, c, EARLY=1)
    return named


def verified():
    """Compare the kernels with a product in float32, and 30 runs bit by bit."""
    same = None
    if weft.on_gpu("wgmma is not simulated"):
        torch.set_float32_matmul_precision("highest")
        for m, n, k in ((1000, 1032, 1000), (333, 264, 200), (128, 256, 64)):
            a, w, _ = matrices(m, n, k)
            right = a.float() @ w.float().t()
            below = torch.empty(m + 64, n, device="cuda", dtype=torch.bfloat16)
            c = below[:m]
            named = variants(a, w, c)
            for name, run in named.items():
                same, first = True, None
                for _ in range(30):
                    below.fill_(float("nan"))
                    run()
                    first = c.clone() if first is None else first
                    same = same and torch.equal(c, first)
                far = (c.float() - right).abs() - 0.01 * right.abs()
                assert (far <= 2e-3 * k**0.5).all(), (name, m, n, k)
                assert torch.isnan(below[m:]).all(), (name, m, n, k)
                assert same, (name, m, n, k)
            print(f"{m} x {n} x {k}: {len(named)} kernels right, 30 runs alike")
    return same


def shape_table(name):
    """Time the best tiles for a shape beside cuBLAS."""
    m, n, k = SHAPES[name]

    def candidates():
        on = matrices(m, n, k)
        ours = {tiles: by_tiles(tiles, *on) for tiles in (*TILES, *PAIRS)}
        best = fastest(list(ours.values()))
        tiles = next(t for t, f in ours.items() if f is best)
        print(name, "->", tiles)
        return {
            "cuBLAS": fastest(library(*on)),
            "ours": best,
            "ours, early": by_tiles(tiles, *on, EARLY=1),
            "128 x 256": ours["128 x 256"],
            "128 x 256, two buffers": gemm(*on, buffers=2),
            "128 x 256, cluster": ours["128 x 256, cluster"],
            **{step: ours[step] for step in STEPS.get(name, ())},
        }

    return bench.compare(
        f"{name}: {m} x {n} x {k} bfloat16",
        candidates,
        baseline="cuBLAS",
        flops=2 * m * n * k,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


def float8(n):
    """Return the candidates for n x n matrices, and the errors of each."""
    a, w = (torch.randn(n, n, device="cuda") for _ in "aw")
    a, w = a.to(torch.float8_e4m3fn), w.to(torch.float8_e4m3fn)
    c = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
    one = torch.ones((), device="cuda")

    def scaled(fast):
        return lambda: torch._scaled_mm(
            a,
            w.t(),
            scale_a=one,
            scale_b=one,
            out_dtype=torch.bfloat16,
            use_fast_accum=fast,
            out=c,
        )

    found = {
        "_scaled_mm, fast": scaled(True),
        "_scaled_mm, exact": scaled(False),
        "cuBLASLt, fast": fastest(library(a, w, c, fast=True)),
        "ours": gemm(a, w, c, fp8=True),
    }
    right = a.float() @ w.float().t()
    for name, run in found.items():
        c.fill_(float("nan"))
        run()
        error = ((c.float() - right).norm() / right.norm()).item()
        print(f"{name:18} relative error {error:.1e}")
    return found


def eights():
    """Time a product of float8 beside PyTorch and cuBLASLt."""
    return bench.compare(
        "8192 x 8192 x 8192 float8",
        lambda: float8(8192),
        baseline="cuBLASLt, fast",
        flops=2 * 8192**3,
        stopwatch=BurstStopwatch(most=25) if weft.GPU else None,
    )


def without_pause():
    """Time three rows of the ladder without a pause."""
    return bench.compare(
        "8192 x 8192 x 8192 bfloat16, without a pause",
        lambda: {
            name: function
            for name, function in rungs(8192).items()
            if name in ("cuBLAS", "TMA store", "Triton, descriptors")
        },
        baseline="cuBLAS",
        flops=2 * 8192**3,
        graph=True,
    )


def fetched(order, k, cache=50e6, sms=132):
    """Return the MB of a and w, k numbers long, that come from memory."""
    total, held, kept = 0, 0, {}
    for start in range(0, len(order), sms):
        wave = order[start : start + sms]
        needed = dict.fromkeys([("a", row) for row, _ in wave])
        needed |= dict.fromkeys([("w", col) for _, col in wave])
        for step in range(0, k, 512):
            for which in needed:
                size = (128 if which[0] == "a" else 256) * 512 * 2
                if kept.pop((which, step), 0) == 0:
                    total, held = total + size, held + size
                kept[which, step] = size  # now the youngest
                while held > cache:
                    held -= kept.pop(next(iter(kept)))
    return total / 1e6


KINDS = {
    "row by row": (grouped, 1),
    "groups of 8": (grouped, 8),
    "groups of 16": (grouped, 16),
    "groups of 16, serpentine": (walk, 16),
}


def traffic():
    """Count the MB that each order of tiles loads."""
    counted = {}
    for name, (kind, group) in KINDS.items():
        order = [kind(number, 64, 32, group) for number in range(2048)]
        counted[name] = fetched(order, 8192)
    return counted


def show_traffic(counted, tile_at, guess):
    """Print what the orders load, with the learner's once it knows all tiles."""
    order = [tile_at(number, 64, 32, 16) for number in range(2048)]
    if None not in order:
        counted = counted | {"your tile_at": fetched(order, 8192)}
    for name, count in counted.items():
        share = count / counted["row by row"]
        said = f", guessed {guess[name]}" if guess.get(name) else ""
        print(f"{name:26}{count:8,.0f} MB   {share:.2f}{said}")
