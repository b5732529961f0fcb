# verdict: uninitialised
# The last block loads what is left and reverses all of it.
@cuda.jit
def reverse_more_than_loaded(x, out):
    tile = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:  # <- here
        tile[t] = x[i]  # <- here
    cuda.syncthreads()
    if i < x.size:
        out[i] = tile[31 - t]  # <- here


CHECK = dict(
    spec=lambda x: np.concatenate([x[:32][::-1], x[32:][::-1]]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[40],
    launch=lambda n: (2, 32, 0, 128),
)
