# verdict: pass
# make has a rule for object files, which uses CFLAGS.
CFLAGS = -Wall -O2

report: main.o stats.o
    $(CC) main.o stats.o -o report

main.o stats.o: stats.h

.PHONY: clean
clean:
    rm -f report main.o stats.o
