"""A thin binding of cuDNN: what the course uses of its C interface.

Names are C's without the prefix: `cudnnSetTensor4dDescriptor` is
`set_tensor4d_descriptor`. Arrays and scalars are passed by address; a status other than
0 raises cuDNNError.
"""

from weft.libraries.binding import content

__getattr__, __dir__ = content("cudnn", __name__)
