# verdict: pass
# What is changed is a copy in shared memory.
@cuda.jit
def double_a_copy(x, out):
    tile = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.size:
        tile[t] = x[i]
        tile[t] *= float32(2)
        out[i] = tile[t]


CHECK = dict(
    spec=lambda x: 2 * x,
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 100],
    launch=lambda n: (-(-n // 64), 64),
)
