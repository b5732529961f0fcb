# verdict: pass
# Use the algorithm that needs no workspace, and pass none.
def conv2d(handle, x, w, y, pad, stride, algo):
    """Write the convolution of x with the filters w into y."""
    x_desc, y_desc = tensor_of(x), tensor_of(y)
    w_desc = cudnn.create_filter_descriptor()
    cudnn.set_filter4d_descriptor(
        w_desc, DataType.FLOAT, TensorFormat.NCHW, *w.shape
    )
    how = cudnn.create_convolution_descriptor()
    mode = ConvolutionMode.CROSS_CORRELATION
    cudnn.set_convolution2d_descriptor(
        how, *pad, *stride, 1, 1, mode, DataType.FLOAT
    )

    cudnn.convolution_forward(
        *(handle, ONE, x_desc, x.data_ptr(), w_desc, w.data_ptr(), how),
        *(ForwardAlgo.IMPLICIT_GEMM, 0, 0, ZERO, y_desc, y.data_ptr()),
    )

    cudnn.destroy_convolution_descriptor(how)
    cudnn.destroy_filter_descriptor(w_desc)
    cudnn.destroy_tensor_descriptor(x_desc)
    cudnn.destroy_tensor_descriptor(y_desc)
