// verdict: out-of-bounds
// Guard once, then go on by the stride.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;

    if (i < n) {
        for (int k = 0; k <= n / stride; k++) {
            y[i] += alpha * x[i];  // <- here
            i += stride;
        }
    }
}
