#!/bin/sh
# EXPRESSION COMMAND...: the command must end with a status other than 0, not because it was stopped, and
# print a line that matches the extended regular expression, and no other message of weft (the further lines
# of one are indented). With STATUS in the environment the exit status must be that one.
expression=$1
shift
output=$(timeout 60 "$@" 2>&1)
status=$?
printf '%s\n' "$output"
[ $status != 0 ] || { echo "exit status 0"; exit 1; }
[ $status = "${STATUS:-$status}" ] || { echo "exit status $status, not $STATUS"; exit 1; }
[ $status != 124 ] || { echo "it hangs"; exit 1; }
case $status in 139 | 135 | 136) echo "it died of a fault"; exit 1 ;; esac
printf '%s\n' "$output" | grep -Eq "$expression" || { echo "no line matches $expression"; exit 1; }
messages=$(printf '%s\n' "$output" | grep -c '^weft: [^ ]')
[ "$messages" = 1 ] || { echo "$messages messages, not one"; exit 1; }
