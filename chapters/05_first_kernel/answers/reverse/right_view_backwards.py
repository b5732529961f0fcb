# verdict: pass
# A view with a negative step; no index in the kernel is negative.
@cuda.jit
def reverse(x, out):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    backwards = x[::-1]
    if i < x.size:
        out[i] = backwards[i]
