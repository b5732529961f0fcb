"""The measurements of chapter 19. Each function times, and returns a table."""

import itertools
import re
import time

import numpy as np
from numba import cuda, int64

import weft
from weft import bench
from weft.bench.builds import build_of
from weft.templates import specialise

from .checks import before, gemm, operands
from .even import gemm_even, plan_of
from .kernels import WRITE_OUT, gemm_tiles, pipeline, sized, tuned, widen

if weft.GPU:
    import torch

    torch.set_float32_matmul_precision("highest")  # float32, no TF32
    torch.manual_seed(19)

one, zero = np.float32(1), np.float32(0)
made = {}  # kernels by their parameters: compiling takes seconds
edge = 4096
eights = {"BM": 128, "BN": 128, "BK": 8, "TM": 8, "TN": 8}
capped = {"registers": 128, "SNAKE": 0}
strips = sized(128, 128, 8, 8, 16, 128) | capped | {"PAIRS": 0}
pieces = sized(128, 128, 8, 8, 64, 32) | capped
large = sized(128, 256, 8, 16, 64, 64)
narrow = sized(64, 128, 8, 8, 64, 32)
choices = {
    "128 x 256, 8 x 16": large,
    "256 x 128, 16 x 8": sized(256, 128, 16, 8, 64, 64),
    "128 x 128, 8 x 16": sized(128, 128, 8, 16, 64, 64),
    "64 x 128, 8 x 8": dict(narrow, STAGES=4),
    "64 x 128, 8 x 8, BK 16": dict(narrow, BK=16, STAGES=2),
    "64 x 64, 8 x 8": dict(sized(64, 64, 8, 8, 64, 32), STAGES=4),
    "256 x 256, 16 x 16": sized(256, 256, 16, 16, 64, 128),
    "128 x 256, BK 16": dict(large, BK=16),
}
squares = [(n, n, n) for n in (1024, 2048, 4096, 8192)]
ragged = [(4095, 4097, 4093), (2047, 3001, 1999)]
ragged += [(1000, 3000, 2049), (3333, 777, 5555)]
best = {}  # shape: the fastest choice, and whether it is cut evenly


def matrices(m, n, k):
    """Return a, b, c on the GPU, and b as gemm_pipeline needs it."""
    a = torch.rand(m, k, device="cuda") - 0.5
    b = torch.rand(k, n, device="cuda") - 0.5
    wide = torch.zeros(k, -(-n // 4) * 4, device="cuda") if n % 4 else b
    return a, b, torch.empty(m, n, device="cuda"), wide


def launch(kernel, BM, BN, threads, a, b, c, wide=None):
    """Return a function that launches a kernel; wide: room for a wider b."""
    grid = -(-c.shape[1] // BN), -(-c.shape[0] // BM)
    d_a, d_b, d_c = map(cuda.as_cuda_array, (a, b, c))
    if wide is None or wide is b:
        return lambda: kernel[grid, threads](one, d_a, d_b, zero, d_c)

    d_wide = cuda.as_cuda_array(wide)
    cells = -(-wide.shape[1] // 32), -(-wide.shape[0] // 8)

    def run():
        widen[cells, (32, 8)](d_b, d_wide)
        kernel[grid, threads](one, d_a, d_wide, zero, d_c)

    return run


def with_choice(choice, a, b, c, wide=None):
    """Return a function that launches gemm_pipeline with these parameters."""
    key = tuple(sorted(choice.items()))
    if key not in made:
        made[key] = pipeline(**choice)
    BM, BN = choice["BM"], choice["BN"]
    threads = BM * BN // (choice["TM"] * choice["TN"])
    return launch(made[key], BM, BN, threads, a, b, c, wide)


def evenly(registers=None, **choice):
    """Return gemm_even compiled with these parameters."""
    return specialise(
        gemm_even,
        unroll=WRITE_OUT,
        max_registers=registers,
        **tuned(**choice),
    )


def threads_of(choice):
    """Return the number of threads in a block."""
    return choice["BM"] * choice["BN"] // (choice["TM"] * choice["TN"])


def with_plan(choice, even, a, b, c, wide=None, scales=(one, zero)):
    """Return a function that launches gemm_even with these parameters.

    even: whether tiles are cut so that all SMs end together. scales: alpha and beta.
    """
    key = "even", *sorted(choice.items())
    if key not in made:
        made[key] = evenly(**choice)
    kernel, threads = made[key], threads_of(choice)
    alpha, beta = scales
    wide = b if wide is None else wide
    d_a, d_wide = (cuda.as_cuda_array(x.view(-1)) for x in (a, wide))
    (m, n), k = c.shape, a.shape[1]
    sides = choice["BM"], choice["BN"], choice.get("BK", 8)

    def planned(places, even, c):
        plan, parts = plan_of(m, n, k, *sides, places, even)
        room = torch.empty(parts * choice["BM"], choice["BN"], device="cuda")
        counts = cuda.to_device(np.zeros(parts, np.uint32))
        grid = len(plan)
        more = cuda.to_device(plan), cuda.as_cuda_array(room), counts
        on = alpha, d_a, d_wide, beta, cuda.as_cuda_array(c), k, wide.shape[1], *more
        return lambda: kernel[grid, threads](*on)

    if not kernel.overloads:
        planned(1, False, torch.empty_like(c))()  # compiles
    gpu = weft.device.find()
    build = build_of(kernel, threads, gpu.capability)
    run = planned(build.blocks * gpu.sms, even, c)
    if wide is b:
        return run
    cells = -(-wide.shape[1] // 32), -(-wide.shape[0] // 8)
    narrow_and_wide = cuda.as_cuda_array(b), cuda.as_cuda_array(wide)

    def widened():
        widen[cells, (32, 8)](*narrow_and_wide)
        run()

    return widened


def ladder(gemm_1d, gemm_2d, gemm_wide, guess=None):
    """Time chapter 18's kernel, the learner's and gemm_pipeline beside cuBLAS."""

    def rungs():
        a, b, c, _ = matrices(edge, edge, edge)
        column = specialise(gemm_1d, BM=64, BN=64, BK=8, TM=8)
        long = specialise(gemm_2d, **eights, THREADS=256, int32=int64)
        short = specialise(gemm_2d, **eights, THREADS=256)
        colliding = specialise(gemm_wide, **eights, WIDTH=128, unroll=WRITE_OUT)
        padded = specialise(gemm_wide, **eights, WIDTH=132, unroll=WRITE_OUT)
        on = a, b, c
        return {
            "cuBLAS": lambda: torch.mm(a, b, out=c),
            "tiles of 32": launch(gemm_tiles, 32, 32, (32, 32), *on),
            "a column of 8": launch(column, 64, 64, 512, *on),
            "8 x 8, int64": launch(long, 128, 128, 256, *on),
            "8 x 8": launch(short, 128, 128, 256, *on),
            "by fours, no padding": launch(colliding, 128, 128, 256, *on),
            "by fours": launch(padded, 128, 128, 256, *on),
            "pipelined": with_choice(strips, *on),
            "warp tiles": with_choice(dict(pieces, PAIRS=0), *on),
            "pairs": with_choice(pieces, *on),
            "8 x 16": with_choice(dict(large, SNAKE=0), *on),
            "serpentine": with_choice(large, *on),
        }

    return bench.compare(
        "4096 x 4096 x 4096 float32",
        rungs,
        baseline="cuBLAS",
        flops=2 * edge**3,
        guess=guess,
    )


def largest_error(kernel, BM, BN, threads, m, n, k, beta=1):
    """Run a kernel once on a ragged product and return its largest error."""
    alpha, a, b, beta = operands(np.random.default_rng(19), m, n, k, beta)
    c = before(alpha, a, b, beta)
    right = gemm(alpha, a, b, beta)
    b = np.pad(b, ((0, 0), (0, -n % 4)))
    grid = -(-n // BN), -(-m // BM)
    d_a, d_b, d_c = map(cuda.to_device, (a, b, c))
    kernel[grid, threads](alpha, d_a, d_b, beta, d_c)
    return np.abs(d_c.copy_to_host() - right).max()


def largest_error_of_even(kernel, side, threads, places, m, n, k, beta=1):
    """Run gemm_even twice on a ragged product and return its largest error."""
    alpha, a, b, beta = operands(np.random.default_rng(19), m, n, k, beta)
    c = before(alpha, a, b, beta)
    right = gemm(alpha, a, b, beta)
    b = np.pad(b, ((0, 0), (0, -n % 4)))
    plan, parts = plan_of(m, n, k, side, side, 8, places)
    d_a, d_b, d_plan = map(cuda.to_device, (a.reshape(-1), b.reshape(-1), plan))
    room = cuda.to_device(np.zeros((parts * side, side), np.float32))
    more = k, b.shape[1], d_plan, room, cuda.to_device(np.zeros(parts, np.uint32))
    for _ in range(2):  # the second one uses the counts that the first one leaves
        d_c = cuda.to_device(c)
        kernel[len(plan), threads](alpha, d_a, d_b, beta, d_c, *more)
    return np.abs(d_c.copy_to_host() - right).max()


def tried():
    """Run both kernels in the simulator on sizes that are ragged everywhere."""
    size = sized(32, 32, 4, 4, 16, 32)
    small, even = pipeline(**size), evenly(**size)
    for shape in [(35, 36, 19), (5, 33, 3), (1, 1, 1)]:
        error = largest_error(small, 32, 32, 64, *shape)
        cut = largest_error_of_even(even, 32, 64, 3, *shape)
        print(shape, f"{error:.0e}, in equal parts {cut:.0e}")
        assert max(error, cut) < 1e-5


def inner_loop(sass):
    """Count the instructions of the loop with the most FFMAs, and `.reuse`."""
    lines, labels, found, reuse = sass.splitlines(), {}, {}, 0
    for number, line in enumerate(lines):
        if label := re.match(r"\s*(\.L_x_\d+):", line):
            labels[label[1]] = number
        back = re.search(r"\bBRA\b.*(\.L_x_\d+)", line)
        if back and back[1] in labels:
            body = lines[labels[back[1]] : number + 1]
            names = re.findall(r"\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w+)", " ; ".join(body))
            count = {name: names.count(name) for name in dict.fromkeys(names)}
            if count.get("FFMA", 0) > found.get("FFMA", 0):
                found = count
                reuse = sum("FFMA" in x and ".reuse" in x for x in body)
    return found, reuse


def show_loop(name, kernel):
    """Print what the inner loop of a kernel consists of, and return it."""
    try:
        sass = next(iter(kernel.inspect_sass().values()))
    except RuntimeError as error:  # no nvdisasm
        print(error)
        return {}
    loop, reuse = inner_loop(sass)
    total = sum(loop.values())
    most = sorted(loop.items(), key=lambda item: -item[1])[:5]
    (registers,) = kernel.get_regs_per_thread().values()
    (local,) = kernel.get_local_mem_per_thread().values()
    print(
        f"{name:12} {registers} registers, {local} bytes local; "
        f"FFMA {loop.get('FFMA', 0) / total:.0%} of {total}, "
        f"{reuse} of them with .reuse; "
        f"{loop.get('LDL', 0) + loop.get('STL', 0)} to local memory; "
        + ", ".join(f"{n} {count}" for n, count in most)
    )
    return {
        "instructions": total,
        "FFMA": loop["FFMA"],
        "LDS": loop.get("LDS", 0),
        "FFMA with .reuse": reuse,
        "registers": registers,
        "local bytes": local,
    }


def inner_loops():
    """Print what the inner loops of three kernels consist of, and return it."""
    loops = {}
    if weft.on_gpu("there is no machine code without a compiler and a GPU"):
        by_name = {"pipelined": strips}
        by_name |= {"8 x 16": dict(large, SNAKE=0), "serpentine": large}
        loops = {
            name: show_loop(name, made[tuple(sorted(choice.items()))])
            for name, choice in by_name.items()
        }
    return loops


def speed(choice, even, a, b, c, wide):
    """Return the TFLOP/s of gemm_even with these parameters."""
    ms = bench.time(with_plan(choice, even, a, b, c, wide)).ms
    return 2 * c.numel() * a.shape[1] / ms / 1e9


def search(shapes, choices):
    """Return the TFLOP/s on each shape, by choice and whether it is cut evenly."""
    found = {}
    for shape in shapes:
        on = matrices(*shape)
        found[shape] = {
            (name, even): speed(choice, even, *on)
            for name, choice in choices.items()
            for even in (False, True)
        }
    return found


def tune(needs, busy):
    """Print which choices are possible, and find the fastest for each shape.

    Fills `best`, and returns the seconds that the search took; None without a GPU.
    """

    def possible(choice):
        """Return whether a choice fits; None if `needs` is not written yet."""
        sizes = [choice[name] for name in ("BM", "BN", "TM", "TN")]
        found = needs(*sizes, choice.get("BK", 8), choice.get("STAGES", 3))
        if found is None:
            return None
        threads, shared, registers, _ = found
        return threads <= 1024 and shared <= 49152 and registers <= 195

    for name, choice in choices.items():
        share = busy(1024, 1024, choice["BM"], choice["BN"], 132)
        text = "" if share is None else f"busy at 1024 x 1024: {share:.0%}"
        print(f"{name:24} possible: {possible(choice)!s:6} {text}")
    searched = None
    if weft.on_gpu("it is a GPU's times that a tuner compares"):
        began = time.perf_counter()
        fitting = {n: x for n, x in choices.items() if possible(x) is not False}
        if possible(large) is None:  # exercise 4 is not done: these fit
            fitting = dict(list(choices.items())[:6])
        rates = search(squares + ragged, fitting)
        for shape in squares + ragged:
            best[shape] = max(rates[shape], key=rates[shape].get)
            name, even = best[shape]
            text = f"{name}, even" if even else name
            for cut in (False, True):
                line = "  ".join(f"{rates[shape][n, cut]:5.1f}" for n in fitting)
                head = "" if cut else "x".join(map(str, shape))
                print(f"{head:15} {line}  {'' if cut else text}".rstrip())
        searched = time.perf_counter() - began
        print(f"{len(fitting)} choices, {len(best)} shapes: {searched:.0f} s")
    return searched


def beside(shape):
    """Compare the tuned kernel with cuBLAS on one shape."""
    m, n, k = shape

    def build():
        a, b, c, wide = matrices(m, n, k)
        name, even = best[shape]
        tuned_one = with_plan(choices[name], even, a, b, c, wide)
        return {"cuBLAS": lambda: torch.mm(a, b, out=c), "tuned": tuned_one}

    return bench.compare(
        f"{m} x {n} x {k}, tuned",
        build,
        baseline="cuBLAS",
        flops=2 * m * n * k,
    )


def last_wave(n):
    """Compare cheaper indices and equal parts of work with gemm_pipeline."""

    def build():
        a, b, c, _ = matrices(n, n, n)
        return {
            "cuBLAS": lambda: torch.mm(a, b, out=c),
            "serpentine": with_choice(large, a, b, c),
            "running indices": with_plan(large, False, a, b, c),
            "even": with_plan(large, True, a, b, c),
        }

    return bench.compare(
        f"the last wave, {n} x {n} x {n} float32",
        build,
        baseline="cuBLAS",
        flops=2 * n**3,
    )


def relative_error(choice, even, m, n, k, beta=0):
    """Return the error of gemm_even on random matrices."""
    a, b = torch.rand(m, k, device="cuda"), torch.rand(k, n, device="cuda")
    c = torch.full((m, n), float(beta) if beta else np.nan, device="cuda")
    right = 1.5 * (a.double() @ b.double())
    if beta:
        right += beta * c.double()
    wide = torch.zeros(k, -(-n // 4) * 4, device="cuda")
    wide[:, :n] = b

    scales = np.float32(1.5), np.float32(beta)
    with_plan(choice, even, a, b, c, wide, scales)()
    return ((c - right).norm() / right.norm()).item()


def verified():
    """Return the largest errors against float64: small shapes, the eight shapes."""
    worst = greatest = None
    if weft.on_gpu("the shapes are too large for the simulator"):
        sides = 1, 31, 127, 129, 1000
        worst = max(
            relative_error(choice, even, m, n, k, beta)
            for choice in (large, choices["64 x 128, 8 x 8"])
            for even in (False, True)
            for m, n, k in itertools.product(sides, repeat=3)
            for beta in (0, 2)
        )
        print(f"small and ragged: {worst:.1e} at most")
        greatest = max(
            relative_error(choices[name], even, *shape)
            for shape, (name, even) in best.items()
        )
        print(f"the eight shapes: {greatest:.1e} at most")
        assert max(worst, greatest) < 1e-5
    return worst, greatest
