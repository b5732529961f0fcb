# verdict: race
# Lane 0 writes for its warp; the others are in the same warp.
@cuda.jit
def first_lane_writes(x, work, out):
    i = cuda.grid(1)
    warp = i // 32
    if cuda.laneid == 0:
        work[warp] = x[i]  # <- here
    out[i] = x[i] - work[warp]  # <- here


CHECK = dict(
    spec=lambda x: (x[::32].copy(), x - np.repeat(x[::32], 32)),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n),
)
