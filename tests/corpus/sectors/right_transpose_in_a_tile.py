# verdict: pass
# Rows in and rows out; the transposition happens in shared memory.
@cuda.jit
def transpose_through_tile(x, out):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = 32 * cuda.blockIdx.x, 32 * cuda.blockIdx.y

    for k in range(ty, 32, 8):
        if top + k < x.shape[0] and left + tx < x.shape[1]:
            tile[k, tx] = x[top + k, left + tx]
    cuda.syncthreads()

    for k in range(ty, 32, 8):
        if left + k < out.shape[0] and top + tx < out.shape[1]:
            out[left + k, top + tx] = tile[tx, k]


CHECK = dict(
    spec=lambda x: x.T.copy(),
    inputs=lambda rng, n: rng.random((n, n), np.float32),
    sizes=[40, 64],
    launch=lambda n: ((-(-n // 32), -(-n // 32)), (32, 8)),
    limits={"sectors": 4, "bank_conflicts": 0},
)
