// verdict: wrong-value
// All the numbers are int.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] += (int)alpha * x[i];  // <- here
}
