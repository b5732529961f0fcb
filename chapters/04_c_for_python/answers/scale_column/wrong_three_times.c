// verdict: wrong-value
// Three times is x + x + x.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    for (size_t row = 0; row < m->rows; row++) {
        float x = m->data[row * m->cols + col];
        m->data[row * m->cols + col] = x + x + x;  // <- here
    }
}
