// Broken: an entry of a table is used as an index, whatever it is.
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                       \
    do {                                                                  \
        cudaError_t error = (call);                                       \
        if (error != cudaSuccess) {                                       \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
                    cudaGetErrorString(error));                           \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

__global__ void gather(const float* x, const int* index, float* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        int j = index[i];
        out[i] = x[j];
    }
}

int main()
{
    const int n = 1000;
    int index[n], *d_index;
    float *x, *out;
    for (int k = 0; k < n; k++) index[k] = k;
    index[700] = 99999999;  // "none", to whoever wrote the table

    CHECK(cudaMalloc(&x, n * sizeof(float)));
    CHECK(cudaMalloc(&out, n * sizeof(float)));
    CHECK(cudaMalloc(&d_index, sizeof(index)));
    CHECK(cudaMemset(x, 0, n * sizeof(float)));
    CHECK(cudaMemcpy(d_index, index, sizeof(index), cudaMemcpyHostToDevice));

    gather<<<8, 128>>>(x, d_index, out, n);
    CHECK(cudaGetLastError());       // was it launched?
    CHECK(cudaDeviceSynchronize());  // did it run to its end?
}
