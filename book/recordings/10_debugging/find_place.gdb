set pagination off
set trace-commands on
shell sh -c 'sleep 8; kill -INT $(pidof find_place)' &
run
info cuda kernels
info cuda threads
cuda block 1 thread 35
print i
print low
print high
next
next
next
print low
print high
print edges[mid]
print x[i]
kill
