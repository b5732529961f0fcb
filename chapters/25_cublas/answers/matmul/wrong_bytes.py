# verdict: device-bounds
# A leading dimension is in bytes, as a pitch is.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, ONE, b.data_ptr(), 4 * b.stride(0),
        a.data_ptr(), 4 * a.stride(0), ZERO, c.data_ptr(), 4 * c.stride(0),
    )
