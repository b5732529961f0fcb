// Broken: the first element has no left neighbour.
#include <cstdio>

__global__ void differences(const float* x, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n)
        out[i] = x[i] - x[i - 1];
}

int main()
{
    const int n = 100;
    float *x, *out;
    cudaMalloc(&x, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(x, 0, n * sizeof(float));

    differences<<<4, 32>>>(x, out, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
