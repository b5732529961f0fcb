// verdict: signed-overflow
// Counts in bytes, and the whole memory is the end.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;

    for (int at = first; at < 2147483647; at += stride * 16777216)  // <- here
        if (at < n)
            y[at] += alpha * x[at];
}
