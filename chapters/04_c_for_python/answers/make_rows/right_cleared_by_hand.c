// verdict: pass
// malloc, and a loop that clears.
#include <stdlib.h>

float **make_rows(size_t rows, size_t cols)
{
    float **x = (float **)malloc(rows * sizeof(float *));

    for (size_t i = 0; i < rows; i++) {
        x[i] = (float *)malloc(cols * sizeof(float));
        for (size_t j = 0; j < cols; j++) {
            x[i][j] = 0;
        }
    }
    return x;
}

void free_rows(float **x, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        free(x[i]);
    }
    free(x);
}
