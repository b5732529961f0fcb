# verdict: barrier
# Each thread runs the iterations it needs, with a barrier in each.
@cuda.jit
def barrier_in_ragged_loop(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    total = float32(0)

    for i in range(t, x.size, 32):
        tile[t] = x[i]
        cuda.syncthreads()  # <- here
        total += tile[t]

    tile[t] = total
    cuda.syncthreads()  # <- here
    out[t] = tile[31 - t]


CHECK = dict(
    spec=lambda x: np.append(x, x[:24] * 0).reshape(-1, 32).sum(axis=0)[::-1].copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[40],
    launch=lambda n: (1, 32),
)
