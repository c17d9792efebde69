#!/bin/sh
# Runs a conformance program by the given command: rank 0 must print "right", and the status must be 0; with --on-failure error
# that of a process which has been killed.
unset OMP_NUM_THREADS # As where nobody has said how large teams are.
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
case " $* " in *" --on-failure error "*) [ $status = 137 ] && status=0 ;; esac
[ $status = 0 ] || { echo "exit status $status"; exit 1; }
printf '%s\n' "$output" | grep -qx right
