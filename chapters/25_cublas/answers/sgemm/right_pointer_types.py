# verdict: pass
# Declare the scalars as pointers to float.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    function = library.cublasSgemm_v2
    function.restype = c_int
    function.argtypes = (
        [c_void_p] + 5 * [c_int] + [ctypes.POINTER(c_float)]
        + 2 * [c_void_p, c_int] + [ctypes.POINTER(c_float), c_void_p, c_int]
    )
    alpha, beta = c_float(alpha), c_float(beta)
    checked(
        function(
            handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc
        )
    )
