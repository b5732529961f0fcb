# verdict: warp
# Lanes past the end do not take part, so they add nothing.
@cuda.jit
def sum_in_ragged_warp(x, out):
    t = cuda.threadIdx.x
    if t < 24:
        value = x[t]
        step = 16
        while step > 0:
            value += cuda.shfl_down_sync(0x00FFFFFF, value, step)  # <- here
            step //= 2
        if t == 0:
            out[0] = value


CHECK = dict(
    spec=lambda x: x.sum(keepdims=True),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[24],
    launch=lambda n: (1, 32),
)
