#!/usr/bin/env bash
# weftrun over a real ssh: starts an sshd on loopback with keys and a configuration of its own in a
# temporary directory, runs jobs on two "hosts" behind it, and stops it again.
#
#   tests/multi/ssh.sh [--install] BIN_DIRECTORY     BIN_DIRECTORY holds weftrun and test programs
#
# --install fetches the Debian package first, without installing it: a machine gets no sshd that it
# did not have. Exit status 77: skipped, and why.
set -euo pipefail

install=false
if [[ ${1-} == --install ]]; then install=true; shift; fi
(($# == 1)) || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
bin=$(realpath "$1")

work=$(mktemp -d /tmp/weft-ssh.XXXXXX)
daemon=
stop() {
  if [[ -n $daemon ]]; then kill "$daemon" 2>/dev/null || true; fi
  wait 2>/dev/null || true
  rm -rf "$work"
}
trap stop EXIT
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAILED: $*"; tail -n 20 "$work"/*.log; exit 1; }

sshd=$(PATH=$PATH:/usr/sbin command -v sshd || true)
if [[ -z $sshd ]] && $install; then
  (cd "$work" && apt-get -q update && apt-get -q download openssh-server libwrap0 &&
    for package in *.deb; do dpkg-deb -x "$package" server; done) >/dev/null 2>&1
  sshd=$work/server/usr/sbin/sshd
  libraries=$(dirname "$(find "$work/server" -name 'libwrap.so.0')")
fi
[[ -n $sshd ]] || skip "sshd is not installed (--install fetches one)"
command -v ssh >/dev/null || skip "ssh is not installed"

for key in host user stranger; do ssh-keygen -q -t ed25519 -N "" -f "$work/$key"; done
cp "$work/user.pub" "$work/authorized"
port=$((20000 + $$ % 20000))
cat >"$work/sshd.conf" <<CONF
ListenAddress 127.0.0.1
Port $port
HostKey $work/host
AuthorizedKeysFile $work/authorized
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
CONF
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$work/host.pub")" >"$work/known"
cat >"$work/ssh.conf" <<CONF
Host alpha beta stranger unknown
  HostName 127.0.0.1
  Port $port
  IdentitiesOnly yes
Host alpha beta stranger
  UserKnownHostsFile $work/known
Host unknown
  UserKnownHostsFile $work/none
Host alpha beta unknown
  IdentityFile $work/user
Host stranger
  IdentityFile $work/stranger
CONF
# weftrun's own words for ssh are part of the test: it is found under its name.
mkdir "$work/bin"
printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$work/ssh.conf" >"$work/bin/ssh"
chmod +x "$work/bin/ssh"
export PATH=$work/bin:$PATH
serve=("$sshd" -D -f "$work/sshd.conf" -E "$work/sshd.log")
if ((EUID == 0)); then
  mkdir -p /run/sshd  # Where it locks itself in,
  if ! getent passwd sshd >/dev/null; then  # as a user whom it alone gets to see.
    { cat /etc/passwd; echo "sshd:x:65533:65534::/run/sshd:/usr/sbin/nologin"; } >"$work/passwd"
    serve=(unshare -m sh -c "mount --bind $work/passwd /etc/passwd && exec \"\$@\"" sh "${serve[@]}")
  fi
fi
LD_LIBRARY_PATH=${libraries-} "${serve[@]}" &
daemon=$!
for ((i = 0; i < 50; ++i)); do ssh -o BatchMode=yes alpha true 2>"$work/ssh.log" && break; sleep 0.1; done
ssh -o BatchMode=yes alpha true 2>"$work/ssh.log" || fail "no connection to the sshd of this test"

run() { timeout 60 "$bin/weftrun" --hosts alpha,beta "$@"; }
left() { pgrep -f "$bin/weftrun --agent|$bin/test-" || true; }
nothing_left() {
  for ((i = 0; i < 50; ++i)); do [[ -z $(left) ]] && return; sleep 0.1; done
  fail "$1 left $(left)"
}

for transport in auto ofi:tcp; do
  output=$(run -n 4 --transport $transport "$bin/test-survivors" 0 none 2>&1) || fail "ranks over $transport: $output"
  [[ $(grep -c " went on" <<<"$output") == 4 ]] || fail "ranks over $transport: $output"
done
nothing_left "a job"

# Words of the program pass through a shell over there.
output=$(run -n 2 sh -c 'printf "%s|" "$@"; echo' name "two words" "a'quote" '$HOME *' "") || fail "words: $output"
[[ $(grep -cFx "two words|a'quote|\$HOME *||" <<<"$output") == 2 ]] || fail "words: $output"

status=0
run -n 2 sh -c 'exit 7' >"$work/status.log" 2>&1 || status=$?
[[ $status == 7 ]] || fail "exit status $status instead of 7"

[[ $(echo hello | run -n 2 sh -c 'cat') == hello ]] || fail "input does not arrive at process 0"

status=0
run -n 4 "$bin/test-survivors" 2 messages >"$work/death.log" 2>&1 || status=$?
[[ $status == 137 ]] || fail "a death over there ended with status $status"
grep -q "on host beta was killed by signal 9 (Killed); the job ends" "$work/death.log" || fail "no word of a death"
nothing_left "a death"

# weftrun itself is killed, or interrupted.
for signal in KILL INT; do
  "$bin/weftrun" --hosts alpha,beta -n 4 "$bin/test-survivors" 0 traffic >"$work/traffic.log" 2>&1 &
  job=$!
  for ((i = 0; i < 100; ++i)); do grep -q "under way" "$work/traffic.log" && break; sleep 0.1; done
  kill -$signal $job
  wait $job 2>/dev/null || true
  nothing_left "SIG$signal to weftrun"
done

# Nobody answers a question: neither a password nor "are you sure".
for host in stranger unknown; do
  begun=$SECONDS status=0
  output=$(timeout 60 "$bin/weftrun" --hosts "alpha,$host" -n 2 "$bin/test-survivors" 0 none </dev/null 2>&1) || status=$?
  ((status != 0 && status != 124 && SECONDS - begun < 20)) || fail "$host was let in or asked: $output"
  grep -q "host $host" <<<"$output" || fail "no word of $host: $output"
  nothing_left "$host"
done

echo "passed: weftrun over ssh"
