set pagination off
set trace-commands on
break gather
run
info cuda kernels
info cuda threads
break 21 if i == 700
delete 1
continue
print blockIdx
print threadIdx
print j
delete
continue
bt
print n
info cuda threads
