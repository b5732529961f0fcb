# verdict: calls
# One product per row of a, each n x 1.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    for i in range(m):
        cublas.sgemm(  # <- here
            handle, N, N, n, 1, k, ONE, b.data_ptr(), b.stride(0), a[i].data_ptr(),
            a.stride(0), ZERO, c[i].data_ptr(), c.stride(0),
        )
