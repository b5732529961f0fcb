// verdict: compile
// i plus the stride is the next one.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;

    for (; i < n; i + stride)  // <- here
        y[i] += alpha * x[i];
}
