"""What the checks of lab 07 give to host functions: memory and streams."""


def on_streams(count, pieces):
    """Provide what a pipeline needs: pinned memory, device memory, streams."""

    def given(bench, x):
        streams = [bench.stream() for _ in range(count)]
        x, out = bench.pinned(x), bench.pinned_like(x)
        d_x, d_out = bench.device_like(x), bench.device_like(x)
        return x, out, d_x, d_out, streams, pieces

    return given


def on_jobs(pieces):
    """Provide what by_job needs."""

    def given(bench, x):
        jobs = [bench.stream() for _ in range(3)]
        x, out = bench.pinned(x), bench.pinned_like(x)
        return x, out, bench.device_like(x), bench.device_like(x), *jobs, pieces

    return given


def two_of_each(bench, parts):
    """Provide what feed needs: parts (pieces, m), two buffers, two streams."""
    near = [bench.pinned_like(parts[0]) for _ in range(2)]
    d_x, d_out = ([bench.device_like(near[0]) for _ in range(2)] for _ in "xo")
    streams = [bench.stream() for _ in range(2)]
    return list(parts), bench.pinned_like(parts), near, d_x, d_out, streams
