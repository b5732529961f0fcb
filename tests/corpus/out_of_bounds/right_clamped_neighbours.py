# verdict: pass
# At the ends the neighbour is the element itself.
@cuda.jit
def blur_clamped(x, out):
    i = cuda.grid(1)
    last = x.size - 1
    if i <= last:
        out[i] = x[max(i - 1, 0)] + x[i] + x[min(i + 1, last)]


CHECK = dict(
    spec=lambda x: np.append(x[:1], x[:-1]) + x + np.append(x[1:], x[-1:]),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[1, 2, 300],
    launch=lambda n: (-(-n // 128), 128),
)
