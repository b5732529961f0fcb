// verdict: wrong-value
// col times the length of a row, then along.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    for (size_t i = 0; i < m->cols; i++) {
        m->data[col % m->rows * m->cols + i] *= factor;
    }
}
