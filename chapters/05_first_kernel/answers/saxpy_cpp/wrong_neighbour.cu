// verdict: race
// Adds to what the thread before has made.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = alpha * x[i] + y[i > 0 ? i - 1 : 0];  // <- here
}
