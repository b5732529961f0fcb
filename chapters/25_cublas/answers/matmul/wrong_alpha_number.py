# verdict: exception
# alpha is 1, and beta is 0.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, 1.0, b.data_ptr(), b.stride(0), a.data_ptr(), a.stride(0),
        0.0, c.data_ptr(), c.stride(0),
    )
