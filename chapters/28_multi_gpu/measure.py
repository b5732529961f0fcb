"""The measurements of chapter 28, on two GPUs.

Each function launches one process per rank, and returns what they measured.
"""

import contextlib
import functools
import math
import time

import numpy as np
import torch
from torch import nn

from weft import bench, ranks

from .kernels import peer_kernels

LENGTHS = {"4 KiB": 1 << 12, "1 MiB": 1 << 20}
LENGTHS |= {"64 MiB": 1 << 26, "1 GiB": 1 << 30}


def ring_ms(size, nbytes, latency=5e-3, bandwidth=300e6):
    """Return the ms of a ring. latency: ms; bandwidth: bytes per ms."""
    return 2 * (size - 1) * (latency + nbytes / size / bandwidth)


def tree_ms(size, nbytes, latency=5e-3, bandwidth=300e6):
    """Return the ms of a tree. latency: ms; bandwidth: bytes per ms."""
    levels = math.ceil(math.log2(size))
    return 2 * levels * (latency + nbytes / bandwidth)


def modelled(log):
    """Put the formulas beside the measurements, for up to 1,024 ranks."""
    short = np.median(log.times["all-reduce, 4 KiB"]["NCCL"])
    long = np.median(log.times["all-reduce, 1 GiB"]["NCCL"])
    latency, bandwidth = short / 2, (1 << 30) / long
    log.value("latency of a step", "NCCL", 1e3 * latency)
    log.value("bandwidth of a link", "NCCL", bandwidth / 1e6)
    for length, nbytes in LENGTHS.items():
        for size in (2, 8, 64, 1024):
            for name, formula in (("ring", ring_ms), ("tree", tree_ms)):
                ms = formula(size, nbytes, latency, bandwidth)
                log.value(f"modelled, {length}", f"{name}, {size} ranks", ms)


WIDTH, LAYERS, ROWS = 4096, 12, 2048


def network(device):
    """Return a stack of linear layers, the same on every rank."""
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS)]
    return nn.Sequential(*layers).to(device)


def step_of(model, device, rows=ROWS, passes=1, quiet=False, after=None):
    """Return a training step: backward passes, then one update.

    quiet: whether all passes but the last are in no_sync. after: called with
    the parameters before the update.
    """
    x = torch.randn(rows, WIDTH, device=device)
    optimiser = torch.optim.AdamW(model.parameters(), 1e-4, fused=True)

    def step():
        optimiser.zero_grad()
        for number in range(passes):
            skipping = quiet and number < passes - 1
            with model.no_sync() if skipping else contextlib.nullcontext():
                (model(x).square().mean() / passes).backward()
        if after is not None:
            after(model.parameters())
        optimiser.step()

    return step


def data_parallel(dist, log):
    """Time steps on one GPU each, with DDP and with FSDP2."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    device = torch.device("cuda", dist.get_rank())
    mesh = init_device_mesh("cuda", (dist.get_world_size(),))

    def alone():
        return network(device)

    def ddp(megabytes=25):
        return DistributedDataParallel(
            network(device),
            device_ids=[device],
            bucket_cap_mb=megabytes,
            gradient_as_bucket_view=True,
        )

    def fsdp():
        model = network(device)
        for layer in model:
            fully_shard(layer, mesh=mesh)
        return fully_shard(model, mesh=mesh)

    def afterwards(parameters):
        for each in parameters:
            dist.all_reduce(each.grad, dist.ReduceOp.AVG)

    def timed(case, name, make, **options):
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        step = step_of(make(), device, **options)
        step()
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        log.time(case, name, step, calls=4, repeats=7)
        peak = torch.cuda.max_memory_allocated() - before
        if case == "a training step":
            log.value("memory per GPU, at most", name, peak / 1e9)
            log.value("host time of a step", name, host_ms(dist, step))
        return step

    case = "a training step"
    timed(case, "1 GPU", alone)
    timed(case, "all-reduce afterwards", alone, after=afterwards)
    for name, megabytes in (
        ("one bucket", 4000),
        ("25 MB buckets", 25),
        ("1 MB buckets", 1),
    ):
        step = timed(case, name, functools.partial(ddp, megabytes))
        if megabytes != 1:
            trace(log, name, step)
    trace(log, "FSDP2", timed(case, "FSDP2", fsdp), each=False)
    case = "a step with 16,384 rows"
    for name, make in (("1 GPU", alone), ("25 MB buckets", ddp), ("FSDP2", fsdp)):
        timed(case, name, make, rows=8 * ROWS)
    case = "four passes and an update"
    options = {"rows": ROWS // 4, "passes": 4}
    timed(case, "1 GPU", alone, **options)
    timed(case, "DDP", ddp, **options)
    timed(case, "DDP, no_sync", ddp, quiet=True, **options)


def host_ms(dist, step, repeats=7):
    """Return the ms in which the host queues a step, without waiting for the GPU."""
    found = []
    for _ in range(repeats):
        torch.cuda.synchronize()
        dist.barrier()
        torch.cuda.synchronize()
        start = time.perf_counter()
        step()
        found.append(1e3 * (time.perf_counter() - start))
    torch.cuda.synchronize()
    return float(np.median(found))


def trace(log, name, step, each=True):
    """Note when the kernels of one step run: NCCL's, and all others.

    each: whether the begin and the end of each of NCCL's kernels is noted.
    """
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        step()
        torch.cuda.synchronize()
    kernels = sorted(
        (event.time_range.start, event.time_range.end, event.name)
        for event in seen.events()
        if event.device_type == torch.autograd.DeviceType.CUDA
    )
    begin = kernels[0][0]
    reduced = [k for k in kernels if "nccl" in k[2].lower()]
    others = [k for k in kernels if "nccl" not in k[2].lower()]
    shared = sum(
        max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in reduced for b in others
    )
    note = f"trace, {name}"
    log.value(note, "all kernels end", (kernels[-1][1] - begin) / 1e3)
    log.value(note, "NCCL works", sum(k[1] - k[0] for k in reduced) / 1e3)
    log.value(note, "of it beside others", shared / 1e3)
    for number, (start, end, _) in enumerate(reduced if each else (), 1):
        log.value(note, f"bucket {number} begins", (start - begin) / 1e3)
        log.value(note, f"bucket {number} ends", (end - begin) / 1e3)


def two(ring_all_reduce):
    """Sum over two GPUs in all ways, the learner's ring among them."""

    def sums(dist, log):
        """Time all-reduces on two GPUs, by NCCL and by hand."""
        import torch.distributed._symmetric_memory as symmetric

        rank, group = dist.get_rank(), dist.group.WORLD.group_name
        one_shot, two_shot = peer_kernels()
        device = torch.device("cuda", rank)
        most = max(LENGTHS.values()) // 4
        own = symmetric.empty(most, dtype=torch.float32, device=device)
        handle = symmetric.rendezvous(own, group)
        other = handle.get_buffer(1 - rank, (most,), torch.float32)
        shots = torch.ops.symm_mem

        def variants(n):
            """Return the functions to time, and the tensor that holds the sum."""
            x, out = torch.empty(n, device=device), torch.empty(n, device=device)
            a, b, half = own[:n], other[:n], n // 2
            blocks = min(4 * 132, max(1, n // 1024))

            def read_all():
                handle.barrier()
                one_shot[blocks, 256, bench.stream()](a, b, out)
                handle.barrier()

            def read_half():
                first = rank * half
                handle.barrier()
                two_shot[blocks, 256, bench.stream()](a, b, first, first + half)
                handle.barrier()

            def by_pytorch():
                shots.one_shot_all_reduce_out(a, "sum", group, out)

            return {
                "NCCL": (lambda: dist.all_reduce(x), x, x),
                "your ring": (lambda: ring_all_reduce(dist, x), x, x),
                "one-shot": (read_all, a, out),
                "two-shot": (read_half, a, a),
                "PyTorch's one-shot": (by_pytorch, a, out),
                "PyTorch's two-shot": (
                    lambda: shots.two_shot_all_reduce_(a, "sum", group),
                    a,
                    a,
                ),
            }

        for length, nbytes in LENGTHS.items():
            calls = 20 if nbytes < 1 << 26 else 4
            case = f"all-reduce, {length}"
            for name, (function, given, result) in variants(nbytes // 4).items():
                given.fill_(rank + 1)
                function()
                torch.cuda.synchronize()
                if not bool((result == 3).all()):
                    continue
                given.zero_()
                dist.barrier()
                if name == "NCCL":
                    log.time(case, "NCCL, called", function, calls=calls)
                graph = name != "your ring"
                log.time(case, name, function, calls=calls, graph=graph)
        far, near = other[: 1 << 26], torch.empty(1 << 26, device=device)
        case = "256 MiB from one GPU to the other"
        log.time(case, "copy_", lambda: far.copy_(near), calls=4)
        modelled(log)

    return ranks.measured(sums, ranks=2)


def two_train(parallel_mlp):
    """Train on two GPUs, and run the learner's MLP in two parts."""

    def layers_in_parts(dist, log):
        """Time the MLP of a large transformer on one GPU and in two parts."""
        device, half = torch.device("cuda", dist.get_rank()), torch.bfloat16

        def random(*shape):
            return torch.randn(shape, device=device, dtype=half) / shape[0] ** 0.5

        width, hidden = 8192, 28672
        w1, b1 = random(width, hidden), random(hidden)
        w2, b2 = random(hidden, width), random(width)
        mine = slice(*(hidden // 2 * (dist.get_rank() + k) for k in (0, 1)))
        parts = [p.contiguous() for p in (w1[:, mine], b1[mine], w2[mine])]

        def whole(x):
            return torch.relu(x @ w1 + b1) @ w2 + b2

        def in_parts(x):
            return parallel_mlp(dist, x, *parts, b2)

        for rows in (16, 2048):
            x, case = random(rows, width), f"MLP, {rows} rows"
            log.time(case, "1 GPU", functools.partial(whole, x), graph=True)
            if in_parts(x) is not None:
                run = functools.partial(in_parts, x)
                log.time(case, "2 GPUs", run, graph=True)

    def training(dist, log):
        torch.set_float32_matmul_precision("high")
        data_parallel(dist, log)
        torch.cuda.empty_cache()
        layers_in_parts(dist, log)

    return ranks.measured(training, ranks=2)


def formulas():
    """Print the times of ring and tree by the formulas, for up to 1,024 ranks."""
    print(f"{'':12}{'ranks':>8}{'ring':>12}{'tree':>12}")
    for length, nbytes in LENGTHS.items():
        for size in (2, 8, 64, 1024):
            ring, tree = ring_ms(size, nbytes), tree_ms(size, nbytes)
            better = "ring" if ring < tree else "tree" if tree < ring else "same"
            print(f"{length:12}{size:8,}{ring:9.3f} ms{tree:9.3f} ms  {better}")


def drawn(two_train, name, width=64):
    """Print when each bucket is reduced in the course of a step."""
    found = two_train.values(f"trace, {name}", "ms")
    if not found:
        return
    end = found["all kernels end"]
    line = [" "] * width
    for number in range(1, len(found)):
        if f"bucket {number} begins" not in found:
            break
        first = int(width * found[f"bucket {number} begins"] / end)
        last = int(width * found[f"bucket {number} ends"] / end)
        for place in range(first, min(last + 1, width)):
            line[place] = "█" if number % 2 else "▒"
    print(f"\n{name}: one column is {end / width:.2f} ms")
    print("NCCL |" + "".join(line) + "|\n")
