#!/bin/sh
# Runs a conformance program by the given command: rank 0 must print "right", and the status must be 0; with --on-failure error
# that of a process which has been killed. No rank may print that something is wrong, nor one of a job that the program starts.
unset OMP_NUM_THREADS # As where nobody has said how large teams are.
output=$("$@" 2>&1)
status=$?
printf '%s\n' "$output"
case " $* " in *" --on-failure error "*) [ $status = 137 ] && status=0 ;; esac
[ $status = 0 ] || { echo "exit status $status"; exit 1; }
if printf '%s\n' "$output" | grep -qE '^rank [0-9]+ of [0-9]+: '; then echo "a rank has found something wrong"; exit 1; fi
printf '%s\n' "$output" | grep -qx right
