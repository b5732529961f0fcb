# verdict: pass
# Threads without an element are gone; those that are left wait for each other.
@cuda.jit
def reverse_with_part_of_a_warp(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t >= x.size:
        return
    tile[t] = x[t]
    cuda.syncthreads()
    out[t] = tile[x.size - 1 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 50],
    launch=lambda n: (1, 64),
)
