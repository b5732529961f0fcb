// verdict: compile
// A for over a range.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    int stride = gridDim.x * blockDim.x;

    for i in range(first, n, stride):  // <- here
        y[i] += alpha * x[i];
}
