# verdict: status
# Pass a and b in their order, with their sizes.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, m, n, k, ONE, a.data_ptr(), a.stride(0), b.data_ptr(), b.stride(0),
        ZERO, c.data_ptr(), c.stride(0),
    )
