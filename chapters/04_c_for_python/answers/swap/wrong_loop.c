// verdict: endless-loop
// Until they are exchanged.
void swap(int *a, int *b)
{
    int x = *a, y = *b;
    while (*a != y || *b != x)  // <- here
        *a = y;
}
