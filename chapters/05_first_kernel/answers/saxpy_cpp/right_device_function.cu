// verdict: pass
// The index in a function of its own.
__device__ int index()
{
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__global__ void saxpy_cpp(float alpha, const float *x, float *y, int n)
{
    for (int i = index(); i < n; i += gridDim.x * blockDim.x)
        y[i] += alpha * x[i];
}
