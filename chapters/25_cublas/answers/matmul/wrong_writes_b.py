# verdict: input-written
# The result goes to the wrong matrix.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    lda, ldb = a.stride(0), b.stride(0)
    cublas.sgemm(  # <- here
        handle, N, N, n, min(m, k), k, ONE, b.data_ptr(), ldb, a.data_ptr(), lda, ZERO,
        b.data_ptr(), ldb,
    )
