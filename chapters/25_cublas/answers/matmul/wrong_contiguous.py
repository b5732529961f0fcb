# verdict: device-bounds
# The leading dimension is the width, whatever the padding.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, ONE, b.data_ptr(), n, a.data_ptr(), k, ZERO, c.data_ptr(), n
    )
