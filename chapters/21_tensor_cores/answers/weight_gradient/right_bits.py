# verdict: pass
# Masks, and one call for each fragment.
@cuda.jit
def weight_gradient(x, y, c):
    """Write x.T @ y into c, 16 x 16, by one warp."""
    tx = cuda.shared.array((16, 8), int32, alignment=16)
    ty = cuda.shared.array((16, 8), int32, alignment=16)
    left = cuda.local.array(4, float32)
    right = cuda.local.array(4, float32)
    lane = int32(cuda.threadIdx.x)
    for v in range(4):
        left[v] = float32(0)
        right[v] = float32(0)

    for start in range(int32(0), int32(x.shape[0]), int32(16)):
        r, w = lane // int32(2), lane % int32(2) * int32(4)
        p, q, s, u = load4(x, (start + r, w))
        store4(tx, (r, w), p, q, s, u)
        p, q, s, u = load4(y, (start + r, w))
        store4(ty, (r, w), p, q, s, u)
        cuda.syncthreads()

        r = (lane & int32(7)) | ((lane >> int32(1)) & int32(8))
        w = (lane >> int32(1)) & int32(4)
        fa = ldmatrix_x4_trans(tx, (r, w))
        fb = ldmatrix_x4_trans(
            ty, (lane & int32(15), (lane >> int32(4)) << int32(2))
        )
        mma_f16(left, fa, fb[:2])
        mma_f16(right, fa, fb[2:])
        cuda.syncthreads()

    put_fragment(c, int32(0), int32(0), lane, left)
    put_fragment(c, int32(0), int32(8), lane, right)
    # END SOLUTION
