# verdict: prototype
# An address is a number, and a number is an int.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    library.cublasSgemm_v2.argtypes = [
        c_void_p, c_int, c_int, c_int, c_int, c_int, c_void_p,
        c_int, c_int, c_int, c_int, c_void_p, c_int, c_int,
    ]
    checked(
        library.cublasSgemm_v2(  # <- here
            handle, transa, transb, m, n, k, byref(c_float(alpha)), a, lda, b, ldb,
            byref(c_float(beta)), c, ldc,
        )
    )
