// verdict: wrong-value
// Memory that lives as long as the program.
#include <stdlib.h>

static float data[4096];
static float *table[64];

float **make_rows(size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        table[i] = data + i * cols;
    }
    return table;
}

void free_rows(float **x, size_t rows)
{
}
