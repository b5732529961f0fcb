# verdict: warp
# The vote tells each lane whether anyone still has work.
@cuda.jit
def vote_while_there_is_work(x, out):
    t = cuda.threadIdx.x
    left = t % 3
    rounds = 0
    while left > 0:
        left -= 1
        if cuda.any_sync(0xFFFFFFFF, left > 0):  # <- here
            rounds += 1
    cuda.syncwarp()  # <- here
    out[t] = x[t] + rounds


CHECK = dict(
    spec=lambda x: x + (np.arange(x.size) % 3 > 0),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[32],
    launch=lambda n: (1, n),
)
