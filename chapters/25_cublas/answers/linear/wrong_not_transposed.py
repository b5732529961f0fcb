# verdict: device-bounds
# The weights are read as their transpose anyway.
def linear(handle, stream, x, w, y):
    """Compute y = x @ w.T in float32, from bfloat16 arrays."""
    (m, k), n = x.shape, w.shape[0]
    half, single = CudaType.R_16BF, CudaType.R_32F
    cublas.set_stream(handle, stream)

    cublas.gemm_ex(  # <- here
        handle, N, N, n, m, k, ONE, w.data_ptr(), half, k, x.data_ptr(), half, k,
        ZERO, y.data_ptr(), single, n, ComputeType.COMPUTE_32F, -1,
    )
