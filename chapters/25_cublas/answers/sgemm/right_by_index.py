# verdict: pass
# Get the function from the library by its name, as ctypes allows.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    function = library["cublasSgemm_v2"]
    function.argtypes = [
        c_void_p, c_int, c_int, c_int, c_int, c_int, c_void_p, c_void_p, c_int,
        c_void_p, c_int, c_void_p, c_void_p, c_int,
    ]  # fmt: skip
    scalars = np.array([alpha, beta], np.float32)
    at = scalars.ctypes.data
    status = function(
        handle, transa, transb, m, n, k, at, a, lda, b, ldb, at + 4, c, ldc
    )
    if status:
        raise OSError(status)
