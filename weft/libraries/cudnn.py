"""A thin binding to cuDNN: the part of its C interface that the course uses.

Names are C's in snake case, without the prefix: `cudnnSetTensor4dDescriptor` is
`set_tensor4d_descriptor`. Arrays and scalars are passed by address; a status other than
0 raises cuDNNError.
"""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cudnn", __name__)
