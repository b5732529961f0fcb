# verdict: pass
# The descriptors are in a list, and destroyed at the end.
def conv2d(handle, x, w, y, pad, stride, algo):
    """Write the convolution of x with the filters w into y."""
    kind, order = DataType.FLOAT, TensorFormat.NCHW
    images, result = (cudnn.create_tensor_descriptor() for _ in "xy")
    cudnn.set_tensor4d_descriptor(images, order, kind, *x.shape)
    cudnn.set_tensor4d_descriptor(result, order, kind, *y.shape)
    filters = cudnn.create_filter_descriptor()
    cudnn.set_filter4d_descriptor(filters, kind, order, *w.shape)
    moves = cudnn.create_convolution_descriptor()
    (up, left), (down, right) = pad, stride
    cudnn.set_convolution2d_descriptor(
        moves, up, left, down, right, 1, 1, 1, kind
    )
    used = images, filters, moves, result
    size = cudnn.get_convolution_forward_workspace_size(handle, *used, algo)
    room = zeros(size + 256, dtype=torch.uint8)
    cudnn.convolution_forward(
        handle=handle, alpha=ONE, x_desc=images, x=x.data_ptr(),
        w_desc=filters, w=w.data_ptr(), conv_desc=moves, algo=algo,
        work_space=room.data_ptr(), work_space_size_in_bytes=size + 256,
        beta=ZERO, y_desc=result, y=y.data_ptr(),
    )  # fmt: skip
    for desc in (images, result):
        cudnn.destroy_tensor_descriptor(desc)
    cudnn.destroy_filter_descriptor(filters)
    cudnn.destroy_convolution_descriptor(moves)
