# verdict: barrier
# Warp 0 loads and waits, warp 1 waits and adds up.
@cuda.jit
def load_in_one_warp(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x

    if t < 32:
        tile[t] = x[t]
        cuda.syncthreads()  # <- here
    else:
        cuda.syncthreads()  # <- here
        if t == 32:
            total = float32(0)
            for k in range(32):
                total += tile[k]
            out[0] = total


CHECK = dict(
    spec=lambda x: x[:32].sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
