#!/usr/bin/env python3
"""Fail if a source file includes a project folder, or a third-party header, that scripts/layers.txt does not allow it.

usage: check_layers.py [ROOT]
ROOT holds lib/, cuda/, cmd/ and scripts/layers.txt; default: the repository this script lies in.
"""
import pathlib
import re
import sys

TOPS = ("lib", "cuda", "cmd")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh", ".in"}
INCLUDE = re.compile(r'\s*#\s*include\s*(["<])([^">]+)[">]')


def read_table(path):
    """(folder -> folders it may include, header beginning -> folders that may include it, what is wrong with the table)"""
    folders, fences, bad = {}, {}, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        left, colon, right = line.partition(":")
        left, may = left.strip(), right.split()
        where = f"{path.name}:{number}"
        if not colon:
            bad.append(f"{where}: no ':' in the line")
        elif left.startswith("<"):
            fences[left.strip("<>")] = set(may)
        else:
            bad += [f"{where}: {left} may not include {below}: that folder does not stand above it"
                    for below in may if below not in folders]
            if left in folders:
                bad.append(f"{where}: {left} is listed twice")
            folders[left] = {left, *may}
    return folders, fences, bad


def check(root):
    """What is wrong in the tree, one line each, and how many files were looked at."""
    folders, fences, bad = read_table(root / "scripts/layers.txt")
    bad += [f"layers.txt: {folder} is not in the tree" for folder in folders if not (root / folder).is_dir()]
    files = sorted(p for top in TOPS for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    for path in files:
        here = path.parent.relative_to(root).as_posix()
        name = path.relative_to(root).as_posix()
        if here not in folders:
            bad.append(f"{name}: {here} is not listed in scripts/layers.txt")
            continue
        for number, text in enumerate(path.read_text().splitlines(), 1):
            match = INCLUDE.match(text)
            if not match:
                continue
            where, header = f"{name}:{number}", match[2]
            homes = [top for top in TOPS if (root / top / header).is_file()]
            if len(homes) > 1:
                bad.append(f'{where}: "{header}" is a file of {" and of ".join(homes)}: which one depends on -I order')
            elif homes:
                folder = (pathlib.PurePosixPath(homes[0]) / header).parent.as_posix()
                if match[1] == "<":
                    bad.append(f'{where}: write "{header}": it is ours')
                if folder not in folders[here]:
                    bad.append(f"{where}: {here} may not include {folder}")
            elif match[1] == '"':
                bad.append(f'{where}: "{header}" is in none of {", ".join(TOPS)} (includes are written from there)')
            else:
                bad += [f"{where}: <{header}> belongs in {', '.join(sorted(may))}"
                        for fence, may in fences.items() if header.startswith(fence) and here not in may]
    return bad, len(files)


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong, seen = check(tree)
    print(*wrong, f"{seen} files, {len(wrong)} violations of scripts/layers.txt", sep="\n")
    sys.exit(bool(wrong) or seen == 0)
