// verdict: compile
// A variable begins with its first value.
__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    i = blockIdx.x * blockDim.x + threadIdx.x;  // <- here

    if (i < n)
        y[i] += alpha * x[i];
}
