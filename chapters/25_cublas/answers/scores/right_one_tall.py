# verdict: pass
# All heads share the keys, so they are one product.
def scores(handle, q, k, s):
    """Compute s[h] = q[h] @ k.T / sqrt(d) for all heads, in one call."""
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = c_float(d**-0.5)
    at = ctypes.addressof(alpha)

    cublas.gemm_ex(
        handle, T, N, n, heads * m, d, at, k.data_ptr(), half, d, q.data_ptr(), half, d,
        ZERO, s.data_ptr(), half, n, ComputeType.COMPUTE_32F, -1,
    )
