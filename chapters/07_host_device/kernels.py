"""The kernels of chapter 07. `cool` is the one that the lab launches."""

from numba import cuda, float32

THREADS = 128


@cuda.jit
def cool(x, out, steps):
    """Cool x towards 20 degrees, by a thousandth of the difference per step."""
    i = cuda.grid(1)

    if i < x.size:
        t = x[i]
        for _ in range(steps):
            t += float32(0.001) * (float32(20) - t)
        out[i] = t


def blocks(n):
    """Return how many blocks of THREADS threads cover n."""
    return -(-n // THREADS)


@cuda.jit
def total(x, out):
    """Add up x: one sum per thread."""
    s = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        s += x[i]
    out[cuda.grid(1)] = s


@cuda.jit
def gather(x, at, out):
    """Write x[at[k]] into out[k]."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = x[at[k]]
