# verdict: wrong-value
# The queries come first, as in the formula.
def scores(handle, q, k, s):
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = c_float(1 / d**0.5)
    cublas.gemm_strided_batched_ex(  # <- here
        handle,
        N,
        T,
        m,
        n,
        d,
        ctypes.addressof(alpha),
        q.data_ptr(),
        half,
        q.stride(1),
        q.stride(0),
        k.data_ptr(),
        half,
        k.stride(0),
        0,
        ZERO,
        s.data_ptr(),
        half,
        s.stride(1),
        s.stride(0),
        heads,
        ComputeType.COMPUTE_32F,
        -1,
    )
