# verdict: wrong-value
# beta is 1, like alpha.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, ONE, b.data_ptr(), b.stride(0), a.data_ptr(), a.stride(0),
        ONE, c.data_ptr(), c.stride(0),
    )
