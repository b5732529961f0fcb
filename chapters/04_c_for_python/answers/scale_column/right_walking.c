// verdict: pass
// A pointer that goes from row to row.
#include <stddef.h>

struct matrix {
    float *data;
    size_t rows, cols;
};

void scale_column(struct matrix *m, size_t col, float factor)
{
    float *at = (*m).data + col, *end = m->data + m->rows * m->cols;
    while (at < end) {
        *at = *at * factor;
        if (end - at <= (ptrdiff_t)m->cols)
            break;
        at += m->cols;
    }
}
