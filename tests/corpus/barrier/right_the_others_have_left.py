# verdict: pass
# Threads that are not in the if have nothing left to do, and return.
@cuda.jit
def reverse_in_the_if(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    if t < x.size:
        tile[t] = x[t]
        cuda.syncthreads()
        out[t] = tile[x.size - 1 - t]


CHECK = dict(
    spec=lambda x: x[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 50],
    launch=lambda n: (1, 64),
)
