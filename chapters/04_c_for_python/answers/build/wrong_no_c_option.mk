# verdict: make-error
# The compiler makes main.o of main.c.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.h
    $(CC) $(CFLAGS) main.c -o main.o  # <- here

stats.o: stats.c stats.h
    $(CC) $(CFLAGS) -c stats.c

.PHONY: clean
clean:
    rm -f report main.o stats.o
