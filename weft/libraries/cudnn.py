"""cuDNN, thinly: the part of its C interface that the course uses.

Names are those of C without the prefix: `cudnnSetTensor4dDescriptor` is
`set_tensor4d_descriptor`. Arrays and scalars are passed by address; a status other than
0 raises cuDNNError.
"""

import numpy as np

from weft.libraries.binding import bound
from weft.libraries.binding import cuDNNError as cuDNNError
from weft.libraries.cudnn_enumerations import Attribute as Attribute
from weft.libraries.cudnn_enumerations import AttributeType as AttributeType
from weft.libraries.cudnn_enumerations import BehaviorNote as BehaviorNote
from weft.libraries.cudnn_enumerations import ConvolutionMode as ConvolutionMode
from weft.libraries.cudnn_enumerations import DataType as DataType
from weft.libraries.cudnn_enumerations import Descriptor as Descriptor
from weft.libraries.cudnn_enumerations import ForwardAlgo as ForwardAlgo
from weft.libraries.cudnn_enumerations import HeurMode as HeurMode
from weft.libraries.cudnn_enumerations import MathType as MathType
from weft.libraries.cudnn_enumerations import Pointwise as Pointwise
from weft.libraries.cudnn_enumerations import Status as Status
from weft.libraries.cudnn_enumerations import TensorFormat as TensorFormat

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
