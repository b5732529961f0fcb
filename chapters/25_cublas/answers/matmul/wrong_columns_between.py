# verdict: status
# The leading dimension is the distance between columns.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, ONE, b.data_ptr(), b.stride(1), a.data_ptr(), a.stride(1),
        ZERO, c.data_ptr(), c.stride(1),
    )
