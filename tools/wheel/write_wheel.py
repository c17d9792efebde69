#!/usr/bin/env python3
"""Writes a wheel for pip from a tree that `cmake --install` has made.

    write_wheel.py PREFIX VERSION OUTPUT_DIRECTORY

What lies in PREFIX comes to lie in the environment's own folder (bin/weftrun, lib/weft, include), as `cmake --install` into that
folder would do. Wheels hold no links: a link to a script becomes a script that says how it was called, one to a library words for
the linker. Libraries that not every Linux has (hwloc, fmt) come along. Static libraries and packages for CMake do not, nor programs
that need more: what draws pictures of breakdowns, and plug-ins for other MPIs.

The name of the wheel says which C library it needs at least: the latest version that a file asks for.
"""
import base64
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# What manylinux counts on.
OF_SYSTEM = re.compile(r"(lib(c|m|dl|rt|pthread|gcc_s|stdc\+\+|util|resolv)\.so\.|ld-linux)")
# What comes along.
ALONG = re.compile(r"lib(hwloc|fmt|udev|boost_context)\.so\.")
LEFT_OUT = re.compile(r"(lib/cmake|lib/pkgconfig|share/bash-completion|share/zsh|lib/[^/]*\.a)$")
CALLS = """#!/bin/sh
# {name}: {target}, by this name.
case $0 in */*) here=${{0%/*}} ;; *) here=$(dirname "$(command -v "$0")") ;; esac
WEFT_CALLED_AS={name} exec "$here/{way}" "$@"
"""
METADATA = """Metadata-Version: 2.1
Name: weft
Version: {version}
Summary: MPI, OpenSHMEM and tasks in one runtime, many ranks in a process
Requires-Python: >=3.8

weftrun runs programs that were linked to libmpi_abi.so.1 (MPI 5.0's binary interface), libmpi.so.12 (MPICH's before version 5) or
libmpi.so.40 (Open MPI's), mpi4py among them:

    weftrun -n 8 python program.py

mpicc_abi in lib/weft/bin compiles programs, weftcc those of which many ranks share a process.
"""


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def said_by(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def soname_of(path):
    found = re.search(r"\(SONAME\).*\[(.*)\]", said_by("readelf", "-d", path))
    return found[1] if found else path.name


def system_libraries():
    """The file of each library that the loader knows, by name."""
    found = re.findall(r"^\s+(\S+) \(.*x86-64.*\) => (\S+)|^\s+(\S+) \(.*AArch64.*\) => (\S+)", said_by("/sbin/ldconfig", "-p"), re.MULTILINE)
    known = {}
    for words in found:
        name, file = (word for word in words if word)
        known.setdefault(name, Path(file))
    return known


def needed_by(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", said_by("readelf", "-d", path))


def left_out(prefix):
    """For shutil.copytree: which names of a folder are left out."""
    return lambda folder, names: [n for n in names if LEFT_OUT.fullmatch(str(Path(folder, n).relative_to(prefix)))]


def replace_links(tree):
    """Regular files in place of links. A library keeps the name by which programs look for it."""
    for link in sorted(p for p in tree.rglob("*") if p.is_symlink()):
        target = link.resolve()
        if tree not in target.parents:
            sys.exit(f"write_wheel.py: {link} leads out of the tree, to {target}")
        link.unlink()
        if not is_elf(target):
            if target.read_bytes().startswith(b"#!"):
                name = link.name.removesuffix(".weft")
                depth = "../" * len(link.parent.relative_to(tree).parts)
                link.write_text(CALLS.format(name=name, target=target.name, way=depth + str(target.relative_to(tree))))
                link.chmod(0o755)
            else:
                shutil.copy(target, link)
        elif soname_of(target) == link.name:
            shutil.copy(target, link)
        else:
            link.write_text(f"/* For the linker. */\nINPUT({soname_of(target)})\n")
    # The files behind the names that programs look for.
    for library in (tree / "lib/weft").glob("lib*.so.*"):
        if is_elf(library) and soname_of(library) != library.name and (library.parent / soname_of(library)).exists():
            library.unlink()


def bring_libraries(tree):
    """Copies what the files need, and what that needs, but what is in the tree and what every system has. A file that needs others
    goes. Returns the names of the libraries that came, and of the files that went."""
    known = system_libraries()
    # Python's library is the system's, whose modules it looks for.
    files = [p for p in tree.rglob("*") if p.is_file() and is_elf(p) and p.name != "weft-python"]
    there = {p.name for p in files}
    brought, gone = {}, []
    for file in files:
        of_file, looked_at = {}, [file]
        while looked_at:
            for name in needed_by(looked_at.pop()):
                if name in there or name in of_file or OF_SYSTEM.match(name):
                    continue
                of_file[name] = known.get(name)
                if of_file[name] is not None:
                    looked_at.append(of_file[name])
        if all(ALONG.match(name) and place is not None for name, place in of_file.items()):
            brought.update(of_file)
        else:
            gone.append(file.name)
            file.unlink()
    if any(name.startswith(("libweft", "weftrun", "weft-host")) for name in gone):
        sys.exit(f"write_wheel.py: {', '.join(gone)} need libraries that do not come along")
    for name, place in brought.items():
        shutil.copy(place, tree / "lib/weft" / name)
    return sorted(brought), gone


def platform_of(tree):
    """manylinux_2_N_MACHINE by the latest version of the C library that a file asks for."""
    latest = 17
    for path in [p for p in tree.rglob("*") if p.is_file() and is_elf(p)]:
        versions = re.findall(r"GLIBC_2\.(\d+)", said_by("readelf", "-V", path))
        latest = max([latest, *map(int, versions)])
    return f"manylinux_2_{latest}_{subprocess.run(['uname', '-m'], capture_output=True, text=True, check=True).stdout.strip()}"


def hash_of(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def write_wheel(tree, version, output):
    tag = f"py3-none-{platform_of(tree)}"
    wheel = output / f"weft-{version}-{tag}.whl"
    info = f"weft-{version}.dist-info"
    record = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        def add(name, data, mode):
            entry = zipfile.ZipInfo(name)  # With the date that zip begins at: the same tree makes the same wheel.
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, data)
            record.append(f'"{name}",{hash_of(data)},{len(data)}' if "," in name else f"{name},{hash_of(data)},{len(data)}")

        for path in sorted(p for p in tree.rglob("*") if p.is_file()):
            place = str(path.relative_to(tree))
            add(f"weft-{version}.data/data/{place}", path.read_bytes(), path.stat().st_mode & 0o777)
        add(f"{info}/METADATA", METADATA.format(version=version).encode(), 0o644)
        add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
        archive.writestr(f"{info}/RECORD", "\n".join([*record, f"{info}/RECORD,,"]) + "\n")
    return wheel


def main():
    prefix, version, output = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        tree = Path(made).resolve() / "tree"
        shutil.copytree(prefix, tree, symlinks=True, ignore=left_out(prefix))
        replace_links(tree)
        brought, gone = bring_libraries(tree)
        wheel = write_wheel(tree, version, output)
    print(f"{wheel}: with {', '.join(brought) or 'no libraries of others'}; without {', '.join(gone) or 'nothing'}")


main()
