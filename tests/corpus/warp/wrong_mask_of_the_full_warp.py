# verdict: warp
# The full mask is always right; that is why everyone writes it.
@cuda.jit
def half_warp_with_full_mask(x, out):
    t = cuda.threadIdx.x
    value = x[t]
    if t < 16:
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, 1)  # <- here
    cuda.syncthreads()  # <- here
    out[t] = value


CHECK = dict(
    spec=lambda x: np.append(
        np.repeat(x[:16].reshape(-1, 2).sum(axis=1), 2), x[16:]
    ).astype(x.dtype),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
