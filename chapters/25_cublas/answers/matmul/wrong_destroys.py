# verdict: handle
# Clean up at the end, and destroy the handle.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(
        handle, N, N, n, m, k, ONE, b.data_ptr(), b.stride(0), a.data_ptr(), a.stride(0),
        ZERO, c.data_ptr(), c.stride(0),
    )
    cublas.destroy(handle)  # <- here
