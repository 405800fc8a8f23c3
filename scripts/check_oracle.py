#!/usr/bin/env python3
"""Prove that the oracle shares no code with what it judges, from what the compiler and the linker saw.

1. Files: every project file that the compiler read for an object of the oracle's archive lies in lib/oracle or cuda/oracle.
2. Needs: no such object needs a symbol that another object of this project defines, or any symbol of namespace drift.
3. Gives: every object made from a file of these folders is in the archive, and none defines anything of namespace drift.

usage: check_oracle.py BUILD [ROOT] [--archive NAME]
BUILD is a built tree that Ninja made (its dependency log is the evidence). Exit status 77: another generator, no evidence.
"""
import argparse
import pathlib
import shutil
import subprocess
import sys

HOMES = ("lib/oracle", "cuda/oracle")
OURS = ("lib", "cuda", "cmd", "tests", "benchmarks", "generated")
SKIPPED = 77


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(path, kinds):
    """Mangled names in an object whose nm letter is in `kinds` (T D B R: defined, U: needed, W V: either)."""
    rows = (line.split() for line in output("nm", "-P", str(path)).splitlines())
    return {row[0] for row in rows if len(row) > 1 and row[1] in kinds}


def is_drift(symbol):
    """Itanium mangling writes every name with its length before it."""
    return "5drift" in symbol


def archive_objects(ninja, build, archive):
    """The objects that go into the archive, as Ninja names them."""
    lines = output(ninja, "-C", str(build), "-t", "query", archive).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.strip().startswith("input:"))
    names = []
    for line in lines[begin + 1:]:
        if not line.startswith("    "):
            break
        name = line.strip()
        if not name.startswith("|"):
            names.append(name)
    return names


def dependency_log(ninja, build):
    """object -> files that its compiler read; objects that are gone are left out."""
    log = {}
    for block in output(ninja, "-C", str(build), "-t", "deps").split("\n\n"):
        lines = block.strip().splitlines()
        if not lines:
            continue
        name = lines[0].split(": #deps")[0]
        if (build / name).exists():
            log[name] = [(build / line.strip()).resolve() for line in lines[1:]]
    return log


def check(root, build, archive):
    """What is wrong, one line each, and how many objects the archive has."""
    ninja = shutil.which("ninja") or shutil.which("ninja-build")
    log, members, bad = dependency_log(ninja, build), archive_objects(ninja, build, archive), []

    def is_home(path):
        return any(path.is_relative_to(root / home) for home in HOMES)

    def is_ours(path):
        return any(path.is_relative_to(base / top) for base in (root, build) for top in OURS)

    for name in members:
        if name not in log:
            bad.append(f"{name}: no dependencies are known of it (build the tree first)")
            continue
        bad += [f"{name}: reads {path.relative_to(root) if path.is_relative_to(root) else path}"
                for path in log[name] if is_ours(path) and not is_home(path)]
    others = set()
    for name, files in log.items():
        if name in members:
            continue
        if any(is_home(path) and path.suffix in {".cpp", ".cu"} for path in files):
            bad.append(f"{name}: is made from the oracle's sources but is not in {archive}")
        if name.endswith((".o", ".obj")):
            others |= symbols(build / name, "TDBR")
    for name in members:
        if not (build / name).exists():
            continue
        needed, defined = symbols(build / name, "U"), symbols(build / name, "TDBRWVtdbr")
        bad += [f"{name}: needs {output('c++filt', symbol).strip()}"
                for symbol in sorted(needed) if symbol in others or is_drift(symbol)]
        bad += [f"{name}: defines {output('c++filt', symbol).strip()}" for symbol in sorted(defined) if is_drift(symbol)]
    return bad, len(members)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("root", type=pathlib.Path, nargs="?", default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--archive", default="libdrift_oracle.a")
    options = parser.parse_args()
    if not (options.build / "build.ninja").exists():
        print(f"SKIPPED: {options.build} was not made by Ninja: there is no dependency log to read")
        return SKIPPED
    if not (shutil.which("ninja") or shutil.which("ninja-build")):
        print("SKIPPED: ninja is not on PATH")
        return SKIPPED
    bad, count = check(options.root.resolve(), options.build.resolve(), options.archive)
    print(*bad, f"{count} objects in {options.archive}, {len(bad)} violations", sep="\n")
    return int(bool(bad) or count == 0)


if __name__ == "__main__":
    sys.exit(main())
