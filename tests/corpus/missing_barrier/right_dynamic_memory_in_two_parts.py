# verdict: pass
# The same dynamic memory, cut into two parts that do not overlap.
@cuda.jit
def reverse_and_shift_apart(x, out):
    memory = cuda.shared.array(0, float32)
    first, second = memory[:64], memory[64:]
    t = cuda.threadIdx.x

    first[t] = x[t]
    second[t] = float32(2) * x[t]
    cuda.syncthreads()
    out[t] = first[63 - t] + second[(t + 1) % 64]


CHECK = dict(
    spec=lambda x: x[::-1] + 2 * np.roll(x, -1),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[64],
    launch=lambda n: (1, n, 0, 8 * n),
)
