# verdict: device-bounds
# Exchange the operands, but not m and n.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    cublas.sgemm(  # <- here
        handle, N, N, m, n, k, ONE, b.data_ptr(), b.stride(0), a.data_ptr(), a.stride(0),
        ZERO, c.data_ptr(), c.stride(0),
    )
