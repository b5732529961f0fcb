# verdict: pointer
# The address of alpha is enough, so nothing keeps the float.
def scores(handle, q, k, s):
    (heads, m, d), n = q.shape, k.shape[0]
    half = CudaType.R_16BF
    alpha = ctypes.addressof(c_float(1 / d**0.5))
    cublas.gemm_strided_batched_ex(  # <- here
        handle,
        T,
        N,
        n,
        m,
        d,
        alpha,
        k.data_ptr(),
        half,
        k.stride(0),
        0,
        q.data_ptr(),
        half,
        q.stride(1),
        q.stride(0),
        ZERO,
        s.data_ptr(),
        half,
        s.stride(1),
        s.stride(0),
        heads,
        ComputeType.COMPUTE_32F,
        -1,
    )
