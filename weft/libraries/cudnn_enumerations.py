"""The numbers of cuDNN's enumerations, under the names of its headers."""

from enum import IntEnum


class Status(IntEnum):
    """`cudnnStatus_t`, those that the course meets: a thousand per category."""

    SUCCESS = 0
    NOT_INITIALIZED = 1001
    SUBLIBRARY_LOADING_FAILED = 1008
    BAD_PARAM = 2000
    BAD_PARAM_NULL_POINTER = 2002
    BAD_PARAM_MISALIGNED_POINTER = 2003
    BAD_PARAM_NOT_FINALIZED = 2004
    BAD_PARAM_OUT_OF_BOUND = 2005
    BAD_PARAM_SIZE_INSUFFICIENT = 2006
    BAD_PARAM_STREAM_MISMATCH = 2007
    BAD_PARAM_SHAPE_MISMATCH = 2008
    BAD_PARAM_DUPLICATED_ENTRIES = 2009
    BAD_PARAM_ATTRIBUTE_TYPE = 2010
    BAD_PARAM_CUDA_GRAPH_MISMATCH = 2011
    BAD_PARAM_DESCRIPTOR_TYPE = 2012
    NOT_SUPPORTED = 3000
    NOT_SUPPORTED_GRAPH_PATTERN = 3001
    NOT_SUPPORTED_SHAPE = 3002
    NOT_SUPPORTED_DATA_TYPE = 3003
    NOT_SUPPORTED_LAYOUT = 3004
    NOT_SUPPORTED_ARCH_MISMATCH = 3007
    NOT_SUPPORTED_PADDING = 3011
    INTERNAL_ERROR = 4000
    INTERNAL_ERROR_COMPILATION_FAILED = 4001
    INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003
    INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004
    EXECUTION_FAILED = 5000
    EXECUTION_FAILED_CUDA_DRIVER = 5001


class DataType(IntEnum):
    """`cudnnDataType_t`. These are not the numbers of `cudaDataType_t`."""

    FLOAT = 0
    DOUBLE = 1
    HALF = 2
    INT8 = 3
    INT32 = 4
    BFLOAT16 = 9


class TensorFormat(IntEnum):
    """`cudnnTensorFormat_t`: in which order the elements are in memory."""

    NCHW = 0
    NHWC = 1


class ConvolutionMode(IntEnum):
    """`cudnnConvolutionMode_t`: with the filter turned around, or as it is."""

    CONVOLUTION = 0
    CROSS_CORRELATION = 1


class MathType(IntEnum):
    """`cudnnMathType_t`: which arithmetic a convolution may use."""

    DEFAULT_MATH = 0
    TENSOR_OP_MATH = 1
    TENSOR_OP_MATH_ALLOW_CONVERSION = 2
    FMA_MATH = 3


class ForwardAlgo(IntEnum):
    """`cudnnConvolutionFwdAlgo_t`."""

    IMPLICIT_GEMM = 0
    IMPLICIT_PRECOMP_GEMM = 1
    GEMM = 2
    DIRECT = 3
    FFT = 4
    FFT_TILING = 5
    WINOGRAD = 6
    WINOGRAD_NONFUSED = 7


class Descriptor(IntEnum):
    """`cudnnBackendDescriptorType_t`: the parts of a graph that the course uses."""

    POINTWISE = 0
    CONVOLUTION = 1
    ENGINE = 2
    ENGINECFG = 3
    ENGINEHEUR = 4
    EXECUTION_PLAN = 5
    OPERATION_CONVOLUTION_FORWARD = 10
    OPERATION_POINTWISE = 13
    OPERATIONGRAPH = 15
    VARIANT_PACK = 16
    TENSOR = 17


class Attribute(IntEnum):
    """`cudnnBackendAttributeName_t`, those that the course uses."""

    POINTWISE_MODE = 0
    POINTWISE_MATH_PREC = 1
    CONVOLUTION_COMP_TYPE = 100
    CONVOLUTION_CONV_MODE = 101
    CONVOLUTION_DILATIONS = 102
    CONVOLUTION_FILTER_STRIDES = 103
    CONVOLUTION_POST_PADDINGS = 104
    CONVOLUTION_PRE_PADDINGS = 105
    CONVOLUTION_SPATIAL_DIMS = 106
    ENGINEHEUR_MODE = 200
    ENGINEHEUR_OPERATION_GRAPH = 201
    ENGINEHEUR_RESULTS = 202
    ENGINECFG_ENGINE = 300
    EXECUTION_PLAN_HANDLE = 400
    EXECUTION_PLAN_ENGINE_CONFIG = 401
    EXECUTION_PLAN_WORKSPACE_SIZE = 402
    OPERATION_CONVOLUTION_FORWARD_ALPHA = 700
    OPERATION_CONVOLUTION_FORWARD_BETA = 701
    OPERATION_CONVOLUTION_FORWARD_CONV_DESC = 702
    OPERATION_CONVOLUTION_FORWARD_W = 703
    OPERATION_CONVOLUTION_FORWARD_X = 704
    OPERATION_CONVOLUTION_FORWARD_Y = 705
    OPERATION_POINTWISE_PW_DESCRIPTOR = 750
    OPERATION_POINTWISE_XDESC = 751
    OPERATION_POINTWISE_BDESC = 752
    OPERATION_POINTWISE_YDESC = 753
    OPERATIONGRAPH_HANDLE = 800
    OPERATIONGRAPH_OPS = 801
    TENSOR_BYTE_ALIGNMENT = 900
    TENSOR_DATA_TYPE = 901
    TENSOR_DIMENSIONS = 902
    TENSOR_STRIDES = 903
    TENSOR_UNIQUE_ID = 906
    TENSOR_IS_VIRTUAL = 907
    VARIANT_PACK_UNIQUE_IDS = 1000
    VARIANT_PACK_DATA_POINTERS = 1001
    VARIANT_PACK_WORKSPACE = 1003
    ENGINE_GLOBAL_INDEX = 1301
    ENGINE_BEHAVIOR_NOTE = 1305


class AttributeType(IntEnum):
    """`cudnnBackendAttributeType_t`: what the elements of an attribute are."""

    HANDLE = 0
    DATA_TYPE = 1
    BOOLEAN = 2
    INT64 = 3
    FLOAT = 4
    DOUBLE = 5
    VOID_PTR = 6
    CONVOLUTION_MODE = 7
    HEUR_MODE = 8
    POINTWISE_MODE = 14
    BACKEND_DESCRIPTOR = 15
    BEHAVIOR_NOTE = 19


class Pointwise(IntEnum):
    """`cudnnPointwiseMode_t`, a few of them."""

    ADD = 0
    MUL = 1
    IDENTITY = 21
    RELU_FWD = 100
    TANH_FWD = 101
    SIGMOID_FWD = 102
    GELU_FWD = 104
    SWISH_FWD = 106
    GELU_APPROX_TANH_FWD = 107


class HeurMode(IntEnum):
    """`cudnnBackendHeurMode_t`: how engines are ranked."""

    INSTANT = 0
    B = 1
    FALLBACK = 2
    A = 3


class BehaviorNote(IntEnum):
    """`cudnnBackendBehaviorNote_t`: what an engine also does."""

    RUNTIME_COMPILATION = 0
