# verdict: pass
# Give the handle its old stream back.
def linear(handle, stream, x, w, y):
    """Compute y = x @ w.T in float32, from bfloat16 arrays."""
    (m, k), n = x.shape, w.shape[0]
    half, single = CudaType.R_16BF, CudaType.R_32F
    before = cublas.get_stream(handle)
    cublas.set_stream(handle, stream)
    scale = np.array([1, 0], np.float32)
    alpha, beta = scale.ctypes.data, scale.ctypes.data + 4
    cublas.gemm_ex(
        handle, Operation.T, Operation.N, n, m, k, alpha, w.data_ptr(), half, w.stride(0),
        x.data_ptr(), half, x.stride(0), beta, y.data_ptr(), single, y.stride(0),
        ComputeType.COMPUTE_32F, cublas.GemmAlgo.DEFAULT,
    )
    cublas.set_stream(handle, before)
