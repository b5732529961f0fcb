# verdict: wrong-value
# Let the library transpose both, so that it reads rows.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, T, T, m, n, k, ONE, a.data_ptr(), a.stride(0), b.data_ptr(), b.stride(0),
        ZERO, c.data_ptr(), m,
    )
