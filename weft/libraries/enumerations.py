"""The numbers of the libraries' enumerations, under the names of their headers."""

from enum import IntEnum


class CudaType(IntEnum):
    """`cudaDataType_t`, which every library uses: the type of an array's elements."""

    R_16F = 2
    R_16BF = 14
    R_32F = 0
    R_64F = 1
    R_8I = 3
    R_32I = 10
    R_8F_E4M3 = 28
    R_8F_E5M2 = 29


class Status(IntEnum):
    """`cublasStatus_t`: what every function of cuBLAS and cuBLASLt returns."""

    SUCCESS = 0
    NOT_INITIALIZED = 1
    ALLOC_FAILED = 3
    INVALID_VALUE = 7
    ARCH_MISMATCH = 8
    MAPPING_ERROR = 11
    EXECUTION_FAILED = 13
    INTERNAL_ERROR = 14
    NOT_SUPPORTED = 15
    LICENSE_ERROR = 16


class Operation(IntEnum):
    """`cublasOperation_t`: as it is, transposed, or conjugated and transposed."""

    N = 0
    T = 1
    C = 2


class PointerMode(IntEnum):
    """Where `alpha` and `beta` are: in the host's memory or in the device's."""

    HOST = 0
    DEVICE = 1


class ComputeType(IntEnum):
    """`cublasComputeType_t`: in which precision products are added up."""

    COMPUTE_16F = 64
    COMPUTE_16F_PEDANTIC = 65
    COMPUTE_32F = 68
    COMPUTE_32F_PEDANTIC = 69
    COMPUTE_32F_FAST_16F = 74
    COMPUTE_32F_FAST_16BF = 75
    COMPUTE_32F_FAST_TF32 = 77
    COMPUTE_64F = 70
    COMPUTE_64F_PEDANTIC = 71
    COMPUTE_32I = 72
    COMPUTE_32I_PEDANTIC = 73


class Math(IntEnum):
    """`cublasMath_t`: what a handle's routines may use."""

    DEFAULT_MATH = 0
    TF32_TENSOR_OP_MATH = 3


class GemmAlgo(IntEnum):
    """`cublasGemmAlgo_t`. From sm_80 on, the library chooses whatever is passed."""

    DEFAULT = -1


class Epilogue(IntEnum):
    """`cublasLtEpilogue_t`: what happens to the product before it is stored."""

    DEFAULT = 1
    RELU = 2
    BIAS = 4
    RELU_BIAS = 6
    GELU = 32
    GELU_BIAS = 36
    GELU_AUX = 160
    GELU_AUX_BIAS = 164


class Order(IntEnum):
    """`cublasLtOrder_t`, the two that are not for special hardware."""

    COL = 0
    ROW = 1


class MatmulDescAttribute(IntEnum):
    """`cublasLtMatmulDescAttributes_t`, those that the course uses."""

    COMPUTE_TYPE = 0
    SCALE_TYPE = 1
    POINTER_MODE = 2
    TRANSA = 3
    TRANSB = 4
    EPILOGUE = 7
    BIAS_POINTER = 8
    EPILOGUE_AUX_POINTER = 11
    EPILOGUE_AUX_LD = 12
    A_SCALE_POINTER = 17
    B_SCALE_POINTER = 18
    D_SCALE_POINTER = 20
    FAST_ACCUM = 25
    BIAS_DATA_TYPE = 26


class MatrixLayoutAttribute(IntEnum):
    """`cublasLtMatrixLayoutAttribute_t`, those that the course uses."""

    TYPE = 0
    ORDER = 1
    ROWS = 2
    COLS = 3
    LD = 4
    BATCH_COUNT = 5
    STRIDED_BATCH_OFFSET = 6


class MatmulPreferenceAttribute(IntEnum):
    """`cublasLtMatmulPreferenceAttributes_t`, those that the course uses."""

    SEARCH_MODE = 0
    MAX_WORKSPACE_BYTES = 1


class FftType(IntEnum):
    """`cufftType`, in single precision: real or complex, on either side."""

    R2C = 0x2A
    C2R = 0x2C
    C2C = 0x29


class FftDirection(IntEnum):
    """The sign in the exponent."""

    FORWARD = -1
    INVERSE = 1


class FftResult(IntEnum):
    """`cufftResult`: what every function of cuFFT returns."""

    SUCCESS = 0
    INVALID_PLAN = 1
    ALLOC_FAILED = 2
    INVALID_TYPE = 3
    INVALID_VALUE = 4
    INTERNAL_ERROR = 5
    EXEC_FAILED = 6
    SETUP_FAILED = 7
    INVALID_SIZE = 8
    UNALIGNED_DATA = 9
    INVALID_DEVICE = 11
    NO_WORKSPACE = 13
    NOT_IMPLEMENTED = 14
    NOT_SUPPORTED = 16


class RngType(IntEnum):
    """`curandRngType_t`: the pseudorandom generators."""

    PSEUDO_DEFAULT = 100
    PSEUDO_XORWOW = 101
    PSEUDO_MRG32K3A = 121
    PSEUDO_MTGP32 = 141
    PSEUDO_MT19937 = 142
    PSEUDO_PHILOX4_32_10 = 161


class Ordering(IntEnum):
    """`curandOrdering_t`: which number is where in memory."""

    PSEUDO_BEST = 100
    PSEUDO_DEFAULT = 101
    PSEUDO_SEEDED = 102
    PSEUDO_LEGACY = 103
    PSEUDO_DYNAMIC = 104


class RandStatus(IntEnum):
    """`curandStatus_t`: what every function of cuRAND returns."""

    SUCCESS = 0
    VERSION_MISMATCH = 100
    NOT_INITIALIZED = 101
    ALLOCATION_FAILED = 102
    TYPE_ERROR = 103
    OUT_OF_RANGE = 104
    LENGTH_NOT_MULTIPLE = 105
    DOUBLE_PRECISION_REQUIRED = 106
    LAUNCH_FAILURE = 201
    PREEXISTING_FAILURE = 202
    INITIALIZATION_FAILED = 203
    ARCH_MISMATCH = 204
    INTERNAL_ERROR = 999
