# verdict: make-error
# The compiler knows what to do.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o: main.c stats.h
    $(CC) -c main.c  # <- here

stats.o: stats.c stats.h
    $(CC) -c stats.c

.PHONY: clean
clean:
    rm -f report main.o stats.o
