"""What lab 25 gives: handles made by ctypes, and two helpers for cuBLASLt."""

import ctypes
from ctypes import byref, c_void_p

import numpy as np

from weft.libraries import cublasLt
from weft.libraries.cublaslt import MatmulDescAttribute, MatmulPreferenceAttribute


def checked(status):
    """Raise an exception for a status other than 0."""
    if status != 0:
        raise RuntimeError(f"cuBLAS returned status {status}")


def create(library):
    """Return a new handle, as a number."""
    library.cublasCreate_v2.argtypes = [ctypes.POINTER(c_void_p)]
    handle = c_void_p()
    checked(library.cublasCreate_v2(byref(handle)))
    return handle.value


def destroy(library, handle):
    """Free a handle, and all that the library keeps for it."""
    library.cublasDestroy_v2.argtypes = [c_void_p]
    checked(library.cublasDestroy_v2(handle))


def put(desc, attribute, value):
    """Set an attribute of a descriptor; the library checks its size.

    Raises TypeError for a value that is not an integer.
    """
    if not isinstance(value, (int, np.integer)):
        raise TypeError(
            f"{attribute.name} has to be an integer or an address, not of type "
            f"{type(value).__name__}; the address of a tensor x is x.data_ptr()"
        )
    pointer = attribute == MatmulDescAttribute.BIAS_POINTER
    held = np.array([value], np.int64 if pointer else np.int32)
    cublasLt.matmul_desc_set_attribute(desc, attribute, held.ctypes.data, held.nbytes)


def algorithms(light_handle, desc, a, b, d, nbytes, most=1):
    """Return the best algorithms with at most `nbytes` of workspace.

    They are records with fields: "algo", "workspace_size", "waves_count".
    """
    preference = cublasLt.matmul_preference_create()
    limit = np.array([nbytes], np.uint64)
    cublasLt.matmul_preference_set_attribute(
        preference,
        MatmulPreferenceAttribute.MAX_WORKSPACE_BYTES,
        *(limit.ctypes.data, limit.nbytes),
    )
    found = np.zeros(most, cublasLt.matmul_heuristic_result_dtype)
    count = np.zeros(1, np.int32)
    cublasLt.matmul_algo_get_heuristic(
        *(light_handle, desc, a, b, d, d, preference, most),
        *(found.ctypes.data, count.ctypes.data),
    )
    cublasLt.matmul_preference_destroy(preference)
    return found[: count[0]]
