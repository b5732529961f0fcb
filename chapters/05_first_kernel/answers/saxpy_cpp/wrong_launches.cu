// verdict: compile
// The launch belongs to it.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int stride = gridDim.x * blockDim.x;

    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] += alpha * x[i];
}

saxpy_cpp<<<2, 64>>>(alpha, x, y, n);  // <- here
