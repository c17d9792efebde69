#!/usr/bin/python3
"""Timelines in Perfetto's format: timeline.py WEFTRUN FAULTS. They are read field by field here, and by protoc where it is
installed, against perfetto.proto."""
import shutil
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

WEFTRUN, FAULTS = (str(Path(word).resolve()) for word in sys.argv[1:3])
SCHEMA = Path(__file__).resolve().parent / "perfetto.proto"
problems = []


def check(holds, what):
    if not holds:
        problems.append(what)
        print("WRONG:", what)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """The fields of a message: number -> values."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif wire == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {wire}")
        found.setdefault(number, []).append(value)
    check(at == len(data), "a message ends within a field")
    return found


def first(of, number, default=None):
    return of.get(number, [default])[0]


def read(path):
    """Packets as (sequence, descriptor or None, event or None, time, name)."""
    packets, names = [], {}
    for content in fields(path.read_bytes()).get(1, []):
        packet = fields(content)
        sequence = first(packet, 10)
        if 12 in packet:
            for entry in fields(packet[12][0]).get(2, []):
                entry = fields(entry)
                names[sequence, entry[1][0]] = entry[2][0].decode()
        event = fields(packet[11][0]) if 11 in packet else None
        name = names.get((sequence, first(event, 10))) if event else None
        packets.append((sequence, fields(packet[60][0]) if 60 in packet else None, event, first(packet, 8), name))
    return packets


def timeline(directory, *words):
    path = Path(directory) / "run.pftrace"
    done = subprocess.run([WEFTRUN, "--trace", str(path), *words], cwd=directory, capture_output=True, text=True, timeout=120)
    check(done.returncode == 0, f"{words}: {done.returncode} {done.stderr}")
    return path, read(path)


def check_timeline(label, packets):
    tracks = {}
    for _, descriptor, _, _, _ in packets:
        if descriptor:
            tracks.setdefault(first(descriptor, 1), descriptor)
    for descriptor in tracks.values():
        check(5 not in descriptor or descriptor[5][0] in tracks, f"{label}: a track without its group: {descriptor}")
    events = [(time, event, name) for _, _, event, time, name in packets if event]
    check(all(first(event, 11) in tracks for _, event, _ in events), f"{label}: an event on no track")
    # Slices nest, in the order of the file, which is that of time on each track.
    open_slices, last = Counter(), {}
    for time, event, name in events:
        track, kind = event[11][0], event[9][0]
        if kind in (1, 2):
            check(time >= last.get(track, 0), f"{label}: time runs backwards on {track}")
            last[track] = time
            open_slices[track] += 1 if kind == 1 else -1
            check(open_slices[track] >= 0, f"{label}: an end without a begin")
            check(kind == 2 or name, f"{label}: a slice without a name")
    check(not any(open_slices.values()), f"{label}: slices without an end")
    # Flows: each receive has its send, before it.
    began = {event[47][0]: (time, name) for time, event, name in events if 47 in event}
    ended = {event[48][0]: (time, name) for time, event, name in events if 48 in event}
    check(len(began) >= 10 and set(began) == set(ended), f"{label}: {len(began)} flows begin, {len(ended)} end")
    for flow, (time, name) in ended.items():
        check(name == "receive" and began.get(flow, (0, "send"))[1] == "send" and began.get(flow, (0,))[0] <= time,
              f"{label}: flow {flow}")
    return tracks, events


def main():
    with tempfile.TemporaryDirectory() as directory:
        for words in (("-n", "4", "--workers", "2"), ("-n", "4", "--processes", "2")):
            label = " ".join(words)
            path, packets = timeline(directory, *words, FAULTS, "late_sender")
            tracks, events = check_timeline(label, packets)
            names = {first(t, 2, b"").decode() for t in tracks.values()}
            check({f"rank {rank}" for rank in range(4)} <= names and "worker 0" in names, f"{label}: tracks {names}")
            check(any(name == "wait to receive" for _, _, name in events), f"{label}: no wait is shown")
            values = {}
            for _, event, _ in events:
                if event[9][0] == 4:
                    values.setdefault(event[11][0], []).append(first(event, 30, 0))
            check(values and all(v >= 0 for of in values.values() for v in of), f"{label}: counters {values}")
            if "--processes" in words:
                check({p[0] for p in packets} == {1, 2}, f"{label}: sequences {({p[0] for p in packets})}")
            if shutil.which("protoc"):
                done = subprocess.run(["protoc", f"--proto_path={SCHEMA.parent}", "--decode=weft.Trace", SCHEMA.name],
                                      input=path.read_bytes(), capture_output=True, timeout=60)
                text = done.stdout.decode()
                check(done.returncode == 0 and text.count("\npacket {") + text.startswith("packet {") == len(packets),
                      f"{label}: protoc {done.returncode} {done.stderr.decode()[:300]}")
                # Unknown fields are shown by their numbers.
                check(not [line for line in text.splitlines() if line.strip()[:1].isdigit()], f"{label}: unknown fields")
    sys.exit(1 if problems else 0)


main()
