# verdict: exception
# Pass the arrays instead of their addresses.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, n, m, k, ONE, b, b.stride(0), a, a.stride(0), ZERO, c, c.stride(0)
    )
