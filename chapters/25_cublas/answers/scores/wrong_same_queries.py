# verdict: wrong-value
# Give the stride of 0 to the queries.
def scores(handle, q, k, s):
    """Compute s[h] = q[h] @ k.T / sqrt(d) for all heads, in one call."""
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = c_float(d**-0.5)
    at = ctypes.addressof(alpha)

    cublas.gemm_strided_batched_ex(  # <- here
        handle, T, N, n, m, d, at, k.data_ptr(), half, d, 0, q.data_ptr(), half, d,
        0, ZERO, s.data_ptr(), half, n, m * n, heads, ComputeType.COMPUTE_32F, -1,
    )
