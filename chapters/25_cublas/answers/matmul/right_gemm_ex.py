# verdict: pass
# Use the general function, with the types written out.
def matmul(handle, a, b, c):
    """Compute c = a @ b. All are float32 and row-major."""
    (m, k), n = a.shape, b.shape[1]
    single = CudaType.R_32F
    cublas.gemm_ex(
        handle, N, N, n, m, k, ONE, b.data_ptr(), single, b.stride(0), a.data_ptr(),
        single, a.stride(0), ZERO, c.data_ptr(), single, c.stride(0),
        ComputeType.COMPUTE_32F, -1,
    )
