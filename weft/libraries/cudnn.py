"""cuDNN, thinly: the part of its C interface that the course uses.

Names are those of C without the prefix: `cudnnSetTensor4dDescriptor` is
`set_tensor4d_descriptor`. Arrays and scalars are passed by address; a status other than
0 raises cuDNNError.
"""

import numpy as np

from weft.libraries.binding import bound, cuDNNError
from weft.libraries.cudnn_enumerations import (
    Attribute,
    AttributeType,
    BehaviorNote,
    ConvolutionMode,
    DataType,
    Descriptor,
    ForwardAlgo,
    HeurMode,
    MathType,
    Pointwise,
    Status,
    TensorFormat,
)

create = bound("cudnn", "create")
destroy = bound("cudnn", "destroy")
set_stream = bound("cudnn", "set_stream")
get_stream = bound("cudnn", "get_stream")

create_tensor_descriptor = bound("cudnn", "create_tensor_descriptor")
set_tensor4d_descriptor = bound("cudnn", "set_tensor4d_descriptor")
set_tensor4d_descriptor_ex = bound("cudnn", "set_tensor4d_descriptor_ex")
destroy_tensor_descriptor = bound("cudnn", "destroy_tensor_descriptor")
create_filter_descriptor = bound("cudnn", "create_filter_descriptor")
set_filter4d_descriptor = bound("cudnn", "set_filter4d_descriptor")
destroy_filter_descriptor = bound("cudnn", "destroy_filter_descriptor")
create_convolution_descriptor = bound("cudnn", "create_convolution_descriptor")
set_convolution2d_descriptor = bound("cudnn", "set_convolution2d_descriptor")
set_convolution_group_count = bound("cudnn", "set_convolution_group_count")
set_convolution_math_type = bound("cudnn", "set_convolution_math_type")
destroy_convolution_descriptor = bound("cudnn", "destroy_convolution_descriptor")

get_convolution2d_forward_output_dim = bound(
    "cudnn", "get_convolution2d_forward_output_dim"
)
get_convolution_forward_algorithm_v7 = bound(
    "cudnn", "get_convolution_forward_algorithm_v7"
)
get_convolution_forward_workspace_size = bound(
    "cudnn", "get_convolution_forward_workspace_size"
)
convolution_forward = bound("cudnn", "convolution_forward")

backend_create_descriptor = bound("cudnn", "backend_create_descriptor")
backend_destroy_descriptor = bound("cudnn", "backend_destroy_descriptor")
backend_set_attribute = bound("cudnn", "backend_set_attribute")
backend_get_attribute = bound("cudnn", "backend_get_attribute")
backend_finalize = bound("cudnn", "backend_finalize")
backend_execute = bound("cudnn", "backend_execute")

# What `get_convolution_forward_algorithm_v7` writes about one algorithm.
convolution_fwd_algo_perf_dtype = np.dtype(
    [
        ("algo", "<i4"),
        ("status", "<i4"),
        ("time", "<f4"),
        ("padding", "<i4"),
        ("memory", "<u8"),
        ("determinism", "<i4"),
        ("math_type", "<i4"),
        ("reserved", "<i4", (3,)),
        ("padding2", "<i4"),
    ]
)

__all__ = [
    "Attribute",
    "AttributeType",
    "BehaviorNote",
    "ConvolutionMode",
    "DataType",
    "Descriptor",
    "ForwardAlgo",
    "HeurMode",
    "MathType",
    "Pointwise",
    "Status",
    "TensorFormat",
    "backend_create_descriptor",
    "backend_destroy_descriptor",
    "backend_execute",
    "backend_finalize",
    "backend_get_attribute",
    "backend_set_attribute",
    "convolution_forward",
    "convolution_fwd_algo_perf_dtype",
    "create",
    "create_convolution_descriptor",
    "create_filter_descriptor",
    "create_tensor_descriptor",
    "cuDNNError",
    "destroy",
    "destroy_convolution_descriptor",
    "destroy_filter_descriptor",
    "destroy_tensor_descriptor",
    "get_convolution2d_forward_output_dim",
    "get_convolution_forward_algorithm_v7",
    "get_convolution_forward_workspace_size",
    "get_stream",
    "set_convolution2d_descriptor",
    "set_convolution_group_count",
    "set_convolution_math_type",
    "set_filter4d_descriptor",
    "set_stream",
    "set_tensor4d_descriptor",
    "set_tensor4d_descriptor_ex",
]
