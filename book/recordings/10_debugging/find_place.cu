// Broken: a search that does not end.
#include <cstdio>

__global__ void find_place(const float* edges, int m, const float* x, int* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < n) {
        int low = 0, high = m;
        while (low < high) {
            int mid = (low + high) / 2;
            if (edges[mid] < x[i])
                low = mid;
            else
                high = mid;
        }
        out[i] = low;
    }
}

int main()
{
    const int m = 16, n = 100;
    float edges[m], x[n], *d_edges, *d_x;
    int* d_out;
    for (int k = 0; k < m; k++) edges[k] = k;
    for (int k = 0; k < n; k++) x[k] = k < 90 ? 0 : k - 90 + 0.5f;
    cudaMalloc(&d_edges, sizeof(edges));
    cudaMalloc(&d_x, sizeof(x));
    cudaMalloc(&d_out, n * sizeof(int));
    cudaMemcpy(d_edges, edges, sizeof(edges), cudaMemcpyHostToDevice);
    cudaMemcpy(d_x, x, sizeof(x), cudaMemcpyHostToDevice);

    find_place<<<2, 64>>>(d_edges, m, d_x, d_out, n);
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
