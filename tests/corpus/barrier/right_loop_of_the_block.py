# verdict: pass
# The iterations are counted for the block; threads without an element still wait.
@cuda.jit
def barrier_in_even_loop(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    total = float32(0)

    for start in range(0, x.size, 32):
        if start + t < x.size:
            tile[t] = x[start + t]
        else:
            tile[t] = 0
        cuda.syncthreads()
        total += tile[31 - t]
        cuda.syncthreads()
    out[t] = total


CHECK = dict(
    spec=lambda x: np.append(x, x[:24] * 0).reshape(-1, 32).sum(axis=0)[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[40],
    launch=lambda n: (1, 32),
)
