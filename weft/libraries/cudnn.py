"""cuDNN, thinly: the part of its C interface that the course uses.

Names are those of C without the prefix: `cudnnSetTensor4dDescriptor` is
`set_tensor4d_descriptor`. Arrays and scalars are passed by address; a status other than
0 raises cuDNNError.
"""

from typing import Any

import numpy as np

from weft.libraries.binding import FUNCTIONS, function_named
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


def __getattr__(name: str) -> Any:
    """A function of C, by its name in `prototypes`."""
    return function_named("cudnn", name, __name__)


def __dir__() -> list[str]:
    return [*globals(), *FUNCTIONS["cudnn"]]
