# verdict: wrong-value
# Set the pointer to the bias, but no epilogue.
def linear_gelu(light_handle, stream, x, w, bias, y, workspace):
    """Compute y = gelu(x @ w.T + bias), all in bfloat16, in one launch."""
    (m, k), n = x.shape, w.shape[0]
    half, what = CudaType.R_16BF, MatmulDescAttribute
    desc = cublasLt.matmul_desc_create(ComputeType.COMPUTE_32F, CudaType.R_32F)
    put(desc, what.TRANSA, T)
    put(desc, what.BIAS_POINTER, bias.data_ptr())
    a = cublasLt.matrix_layout_create(half, k, n, k)
    b = cublasLt.matrix_layout_create(half, k, m, k)
    d = cublasLt.matrix_layout_create(half, n, m, n)
    found = algorithms(light_handle, desc, a, b, d, workspace.nbytes)
    cublasLt.matmul(  # <- here
        light_handle,
        desc,
        ONE,
        w.data_ptr(),
        a,
        x.data_ptr(),
        b,
        ZERO,
        y.data_ptr(),
        d,
        y.data_ptr(),
        d,
        found.ctypes.data,
        workspace.data_ptr(),
        workspace.nbytes,
        stream,
    )
    for layout in (a, b, d):
        cublasLt.matrix_layout_destroy(layout)
    cublasLt.matmul_desc_destroy(desc)
