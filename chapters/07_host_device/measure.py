"""The measurements of chapter 07. Each function times, and returns a table."""

import ctypes
import threading
import time

import numpy as np
from numba import cuda

import weft
from weft import bench
from weft.timing import Sample

from .kernels import THREADS, blocks, cool, gather, total

if weft.GPU:
    import torch

n = 1 << 26 if weft.GPU else 1 << 8
warm = np.full(n, 80, np.float32)


def sending(n):
    def build():
        page = np.ones(n, np.float32)
        pinned = cuda.pinned_array(n, np.float32)
        pinned[:] = 1
        d_x = cuda.device_array(n, np.float32)
        t_x = torch.empty(n, device="cuda")
        t_pinned = torch.ones(n).pin_memory()
        return {
            "pageable": lambda: d_x.copy_to_device(page),
            "pinned": lambda: d_x.copy_to_device(pinned),
            "pinned, by PyTorch": lambda: t_x.copy_(t_pinned, non_blocking=True),
        }

    return build


def sent(guess=None):
    """Send 268 MB to the device, from pageable and from pinned memory."""
    return bench.compare(
        "2^26 float32 to the device",
        sending(1 << 26),
        baseline="pageable",
        bytes=4 << 26,
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def few(guess=None):
    """Send 4 KB to the device, from pageable and from pinned memory."""
    return bench.compare(
        "2^10 float32 to the device",
        sending(1 << 10),
        baseline="pageable",
        bytes=4 << 10,
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def making():
    n = 1 << 24
    return {
        "device": lambda: cuda.device_array(n, np.float32),
        "NumPy, filled": lambda: np.ones(n, np.float32),
        "pinned": lambda: cuda.pinned_array(n, np.float32),
    }


def made(guess=None):
    """Allocate memory of three kinds."""
    return bench.compare(
        "memory for 2^24 float32",
        making,
        baseline="device",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def fetching():
    n = 1 << 26
    d_x = cuda.to_device(np.ones(n, np.float32))
    used = np.ones(n, np.float32)
    pinned = cuda.pinned_array(n, np.float32)
    pinned[:] = 1
    return {
        "new": lambda: d_x.copy_to_host(),
        "used": lambda: d_x.copy_to_host(used),
        "pinned": lambda: d_x.copy_to_host(pinned),
    }


def fetched(guess=None):
    """Fetch 268 MB into three kinds of arrays."""
    return bench.compare(
        "2^26 float32 to the host",
        fetching,
        baseline="new",
        bytes=4 << 26,
        guess=guess,
        host=True,
    )


def prefetch(x, device=True):
    """Queue the move of managed x (n,) to the device, or to the host."""
    from cuda.bindings import driver

    kind = driver.CUmemLocationType
    there = driver.CUmemLocation()
    there.type = kind.CU_MEM_LOCATION_TYPE_HOST
    if device:
        there.type = kind.CU_MEM_LOCATION_TYPE_DEVICE
        there.id = cuda.get_current_device().id
    # CUDA 12 calls it _v2
    move = getattr(driver, "cuMemPrefetchAsync_v2", driver.cuMemPrefetchAsync)
    (error,) = move(x.ctypes.data, x.nbytes, there, 0, 0)
    assert error == driver.CUresult.CUDA_SUCCESS, error


def adding(times):
    def build():
        n = 1 << 22
        far = cuda.device_array(n, np.float32)
        near = cuda.pinned_array(n, np.float32)
        mapped = cuda.mapped_array(n, np.float32)
        managed = cuda.managed_array(n, np.float32)
        out = cuda.device_array(512 * 256, np.float32)

        def sums(x):
            for _ in range(times):
                total[512, 256](x, out)
            cuda.synchronize()  # before the host writes again

        def copy():
            near[::1024] = 1
            far.copy_to_device(near)
            sums(far)

        def over_the_bus():
            mapped[::1024] = 1
            sums(mapped)

        def moving():
            managed[::1024] = 1
            sums(managed)

        def prefetched():
            managed[::1024] = 1
            prefetch(managed)
            sums(managed)

        def both_ways():
            prefetch(managed, device=False)
            cuda.synchronize()
            prefetched()

        return {
            "copy": copy,
            "mapped": over_the_bus,
            "managed": moving,
            "prefetched": prefetched,
            "both ways": both_ways,
        }

    return build


def once(guess=None):
    """Add up numbers of the host, read once."""
    return bench.compare(
        "17 MB from the host, read once",
        adding(1),
        baseline="copy",
        guess=guess,
        host=True,
    )


def four(guess=None):
    """Add up numbers of the host, read four times."""
    return bench.compare(
        "17 MB from the host, read four times",
        adding(4),
        baseline="copy",
        guess=guess,
        host=True,
    )


def gathering():
    n = 1 << 24
    at = cuda.to_device(np.random.default_rng(7).integers(0, n, 1024))
    near = cuda.pinned_array(n, np.float32)
    mapped = cuda.mapped_array(n, np.float32)
    near[:], mapped[:] = 1, 1
    far = cuda.device_array(n, np.float32)
    out = cuda.device_array(1024, np.float32)

    def copy():
        far.copy_to_device(near)
        gather[4, 256](far, at, out)

    return {"copy": copy, "mapped": lambda: gather[4, 256](mapped, at, out)}


def some(guess=None):
    """Gather a few elements of many, with and without a copy."""
    return bench.compare(
        "1,024 elements of 2^24",
        gathering,
        baseline="copy",
        guess=guess,
        host=True,
    )


class Told:
    """A stopwatch that believes what the function returns, in milliseconds."""

    def once(self, function, host):
        cuda.synchronize()
        ms = function()
        cuda.synchronize()
        return Sample(ms, 0.0)


told = Told() if weft.GPU else None


def stopwatches(milliseconds, guess=None, guess_long=None):
    """Time a short and a long kernel in three ways; return a table for each."""

    def timed(steps):
        def build():
            n = 1 << 26
            x = cuda.to_device(np.ones(n, np.float32))
            out = cuda.device_array_like(x)

            def work():
                cool[blocks(n), THREADS](x, out, steps)

            def wake_up():  # a host that has waited a long time is slow at first
                cool[1, THREADS](x, out, 0)
                cuda.synchronize()

            def no_wait():
                wake_up()
                start = time.perf_counter()
                work()
                return (time.perf_counter() - start) * 1e3

            def synchronise():
                wake_up()
                start = time.perf_counter()
                work()
                cuda.synchronize()
                return (time.perf_counter() - start) * 1e3

            return {
                "events": lambda: milliseconds(work),
                "synchronise": synchronise,
                "no wait": no_wait,
            }

        return build

    short = bench.compare(
        "100 steps, timed in three ways",
        timed(100),
        baseline="events",
        guess=guess,
        stopwatch=told,
    )
    long = bench.compare(
        "1,000 steps, timed in three ways",
        timed(1000),
        baseline="events",
        guess=guess_long,
        stopwatch=told,
    )
    return short, long


def overlap(pipeline, guess=None):
    """Copy in, cool and copy out, with the learner's pipeline."""

    def piped():
        x, out = (cuda.pinned_array(n, np.float32) for _ in range(2))
        x[:], out[:] = 80, 0
        page, page_out = x.copy(), out.copy()
        d_x, d_out = (cuda.device_array(n, np.float32) for _ in range(2))
        streams = [cuda.stream() for _ in range(3)]

        def run(count, pieces):
            few = streams[:count]
            return lambda: pipeline(x, out, d_x, d_out, few, pieces)

        names = {f"{pieces} pieces": run(3, pieces) for pieces in (2, 8, 32, 128)}
        return (
            {"one stream": run(1, 8)}
            | names
            | {"pageable": lambda: pipeline(page, page_out, d_x, d_out, streams, 8)}
        )

    return bench.compare(
        "in, cool, out: 2^26 float32",
        piped,
        baseline="one stream",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )


def old_share(steps, wait):
    """Return the share of out that is old: without an event, or read early."""
    x, d_out = cuda.to_device(warm), cuda.to_device(np.zeros(n, np.float32))
    out = cuda.pinned_array(n, np.float32)
    out[:] = 0
    compute, leave = cuda.stream(), cuda.stream()
    cool[blocks(n), THREADS, compute](x, d_out, steps)
    d_out.copy_to_host(out, stream=leave if wait else compute)
    if wait:
        cuda.synchronize()
    early = np.mean(out[:: n // 256] == 0)
    cuda.synchronize()
    return float(early)


def feeding(feed, STEPS, guess=None):
    """Feed 16 parts through two buffers, as the learner does and waiting for all."""

    def feed_waiting(parts, out, near, d_x, d_out, streams):
        """Feed, and wait for everything each time."""
        for k, part in enumerate(parts):
            b = k % 2
            cuda.synchronize()
            near[b][:] = part
            d_x[b].copy_to_device(near[b], stream=streams[b])
            grid = blocks(part.size), THREADS, streams[b]
            cool[grid](d_x[b], d_out[b], STEPS)
            d_out[b].copy_to_host(out[k], stream=streams[b])
        cuda.synchronize()

    def fed():
        m = 1 << 22
        parts = list(np.full((16, m), 80, np.float32))
        out = cuda.pinned_array((16, m), np.float32)
        near = [cuda.pinned_array(m, np.float32) for _ in range(2)]
        d_x, d_out = (
            [cuda.device_array(m, np.float32) for _ in range(2)] for _ in "xo"
        )
        streams = [cuda.stream() for _ in range(2)]
        given = parts, out, near, d_x, d_out, streams
        return {
            "all": lambda: feed_waiting(*given),
            "its own": lambda: feed(*given),
        }

    return bench.compare(
        "16 parts through two buffers",
        fed,
        baseline="all",
        guess=guess,
        host=True,
    )


def prioritised():
    big = cuda.device_array(1 << 24, np.float32)
    small = cuda.device_array(1 << 15, np.float32)
    cool[blocks(big.size), THREADS](big, big, 1)  # compiled

    def behind(priority):
        low, other = torch.cuda.Stream(), torch.cuda.Stream(priority=priority)
        a, b = (cuda.external_stream(s.cuda_stream) for s in (low, other))

        def run():
            came, left = cuda.event(), cuda.event()
            cool[blocks(big.size), THREADS, a](big, big, 3000)
            time.sleep(5e-4)  # it is running by now
            came.record(b)
            cool[blocks(small.size), THREADS, b](small, small, 100)
            left.record(b)
            left.synchronize()
            return came.elapsed_time(left)

        return run

    return {"same priority": behind(0), "high priority": behind(-1)}


def first_come(guess=None):
    """Launch a small kernel behind a large one, with two priorities."""
    return bench.compare(
        "a small kernel behind a large one",
        prioritised,
        baseline="same priority",
        guess=guess,
        stopwatch=told,
    )


def telling():
    from cuda.bindings import driver

    x = cuda.device_array(1 << 20, np.float32)
    stream = cuda.stream()
    event = cuda.event(timing=False)
    heard = threading.Event()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    tell = kind(lambda _: heard.set())  # called by a thread of the driver
    address = driver.CUhostFn(ctypes.cast(tell, ctypes.c_void_p).value)

    def launched(then):
        def run():
            start = time.perf_counter()
            cool[blocks(x.size), THREADS, stream](x, x, 2000)
            then()
            return (time.perf_counter() - start) * 1e3

        return run

    def query():
        event.record(stream)
        while not event.query():
            pass

    def callback(keep=tell):  # it has to live until it has been called
        heard.clear()
        driver.cuLaunchHostFunc(stream.handle, address, 0)
        heard.wait()

    return {
        "synchronise": launched(stream.synchronize),
        "query": launched(query),
        "callback": launched(callback),
    }


def told_host(guess=None):
    """Wait for a kernel, ask for its end, or be called at its end."""
    return bench.compare(
        "until the host knows",
        telling,
        baseline="synchronise",
        guess=guess,
        stopwatch=told,
    )


def by_threads():
    arrays = [cuda.device_array(1 << 10, np.float32) for _ in range(4)]
    streams = [cuda.stream() for _ in range(4)]
    cool[8, THREADS](arrays[0], arrays[0], 1)  # compiled before threads start

    def loop(k, count):
        for _ in range(count):
            cool[8, THREADS, streams[k]](arrays[k], arrays[k], 1)

    def run(count):
        def work():
            threads = [
                threading.Thread(target=loop, args=(k, 2000 // count))
                for k in range(count)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        return work

    return {
        "1 thread": run(1),
        "2 threads": run(2),
        "4 threads": run(4),
    }


def threaded(guess=None):
    """Launch small kernels from one, two and four threads."""
    return bench.compare(
        "2,000 small launches",
        by_threads,
        baseline="1 thread",
        guess=guess,
        host=True,
        unsteady="the host's time is part of it",
    )
