# verdict: pass
# The condition is the same for all threads of a block, so all or none wait.
@cuda.jit
def reverse_even_blocks(x, out):
    tile = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)

    if cuda.blockIdx.x % 2 == 0:
        tile[t] = x[i]
        cuda.syncthreads()
        out[i] = tile[31 - t]
    else:
        out[i] = x[i]


CHECK = dict(
    spec=lambda x: np.concatenate(
        [x[k : k + 32][:: -1 if k % 64 == 0 else 1] for k in range(0, x.size, 32)]
    ),
    inputs=lambda rng, n: rng.random(32 * n, np.float32),
    sizes=[1, 3],
    launch=lambda n: (n, 32),
)
