# verdict: pass
# syncthreads_or is a barrier, too: the next line may read what came before it.
@cuda.jit
def reverse_if_any(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x

    tile[t] = x[t]
    if cuda.syncthreads_or(int32(x[t] > float32(0.5))):
        out[t] = tile[63 - t]
    else:
        out[t] = x[t]


CHECK = dict(
    spec=lambda x: x[::-1].copy() if (x > 0.5).any() else x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
