# verdict: handle-leak
# Each call makes its own handle.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    own = cublas.create()  # <- here
    cublas.sgemm(
        own, N, N, n, m, k, ONE, b.data_ptr(), b.stride(0), a.data_ptr(), a.stride(0),
        ZERO, c.data_ptr(), c.stride(0),
    )
