# verdict: pass
# Take all distances from the arrays, and alpha from NumPy.
def scores(handle, q, k, s):
    """Compute s[h] = q[h] @ k.T / sqrt(d) for all heads, in one call."""
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = np.array([1 / d**0.5], np.float32)
    cublas.gemm_strided_batched_ex(
        handle, T, N, n, m, d, alpha.ctypes.data, k.data_ptr(), half, k.stride(0), 0,
        q.data_ptr(), half, q.stride(1), q.stride(0), ZERO, s.data_ptr(), half, s.stride(1),
        s.stride(0), heads, ComputeType.COMPUTE_32F, -1,
    )
