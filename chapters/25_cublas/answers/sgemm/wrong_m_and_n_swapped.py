# verdict: wrong-value
# m is the number of the caller's rows.
def sgemm(
    library, handle, transa, transb, m, n, k,
    alpha, a, lda, b, ldb, beta, c, ldc,
):  # fmt: skip
    """Call cublasSgemm_v2. Raises an exception for a status other than 0."""
    f = library.cublasSgemm_v2
    f.argtypes = [
        c_void_p,
        c_int,
        c_int,
        c_int,
        c_int,
        c_int,
        c_void_p,
        c_void_p,
        c_int,
        c_void_p,
        c_int,
        c_void_p,
        c_void_p,
        c_int,
    ]
    status = f(  # <- here
        handle,
        transa,
        transb,
        n,
        m,
        k,
        byref(c_float(alpha)),
        a,
        lda,
        b,
        ldb,
        byref(c_float(beta)),
        c,
        ldc,
    )
    if status != 0:
        raise RuntimeError(f"cublasSgemm: status {status}")
