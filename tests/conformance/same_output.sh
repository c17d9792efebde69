#!/bin/sh
# Each argument is a command; all must end with status 0 and print the same, and something.
first=
for command in "$@"; do
  output=$(sh -c "$command" 2>&1) || { printf '%s\n%s\n' "$command: failed:" "$output"; exit 1; }
  [ -n "$output" ] || { echo "$command: printed nothing"; exit 1; }
  if [ -z "$first" ]; then
    first=$output
    printf '%s\n' "$output"
  elif [ "$output" != "$first" ]; then
    printf '%s\n%s\n' "$command printed otherwise:" "$output"
    exit 1
  fi
done
