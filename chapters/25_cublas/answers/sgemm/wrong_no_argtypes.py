# verdict: prototype
# ctypes knows what to do with integers.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    status = library.cublasSgemm_v2(  # <- here
        handle, transa, transb, m, n, k, byref(c_float(alpha)), a, lda, b, ldb,
        byref(c_float(beta)), c, ldc,
    )
    checked(status)
