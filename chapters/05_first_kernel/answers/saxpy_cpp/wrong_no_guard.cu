// verdict: out-of-bounds
// As many rounds as are needed, rounded up.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;

    for (int k = 0; k < (n + stride - 1) / stride; k++) {
        y[i] += alpha * x[i];  // <- here
        i += stride;
    }
}
