// verdict: wrong-value
// Take the element out, then change it.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    for (size_t row = 0; row < m->rows; row++) {
        float element = m->data[row * m->cols + col];
        element *= factor;
    }
}
