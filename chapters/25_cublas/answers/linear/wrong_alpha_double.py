# verdict: scalar
# NumPy's numbers are doubles.
def linear(handle, stream, x, w, y):
    """Compute y = x @ w.T in float32, from bfloat16 arrays."""
    (m, k), n = x.shape, w.shape[0]
    half, single = CudaType.R_16BF, CudaType.R_32F
    cublas.set_stream(handle, stream)

    scale = np.array([1.0, 0.0])
    cublas.gemm_ex(  # <- here
        handle, T, N, n, m, k, scale.ctypes.data, w.data_ptr(), half, k, x.data_ptr(),
        half, k, scale.ctypes.data + 8, y.data_ptr(), single, n, ComputeType.COMPUTE_32F, -1,
    )
