# verdict: calls
# One head after another.
def scores(handle, q, k, s):
    """Compute s[h] = q[h] @ k.T / sqrt(d) for all heads, in one call."""
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = c_float(d**-0.5)
    at = ctypes.addressof(alpha)

    for h in range(heads):
        cublas.gemm_ex(  # <- here
            handle, T, N, n, m, d, at, k.data_ptr(), half, d, q[h].data_ptr(), half, d,
            ZERO, s[h].data_ptr(), half, n, ComputeType.COMPUTE_32F, -1,
        )
