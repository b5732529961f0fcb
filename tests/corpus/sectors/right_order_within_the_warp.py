# verdict: pass
# Backwards within each warp: the same sectors, in another order.
@cuda.jit
def reverse_by_warps(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i ^ 31]


CHECK = dict(
    spec=lambda x: x.reshape(-1, 32)[:, ::-1].reshape(-1).copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (n // 64, 64),
    limits={"sectors": 4},
)
