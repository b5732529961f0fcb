# verdict: launch
# 128 threads are few, however they are arranged.
@cuda.jit
def copy_along_z(x, out):
    i = cuda.threadIdx.z
    out[i] = x[i]


CHECK = dict(
    spec=lambda x: x.copy(),
    inputs=lambda rng, n: rng.random(n, np.float32),
    sizes=[128],
    launch=lambda n: (1, (1, 1, n)),
)
