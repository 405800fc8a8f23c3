#!/usr/bin/env python3
"""Fail if a source file uses the preprocessor for more than #include and #pragma, or breaks a rule of size or form.

No #define and no #if: CMake picks files, so that every line is compiled somewhere and none hides behind a condition.

usage: check_text.py [ROOT]
ROOT holds lib/, cuda/, cmd/; default: the repository this script lies in.
"""
import pathlib
import re
import sys

TOPS = ("lib", "cuda", "cmd")
SUFFIXES = {".hpp", ".cpp", ".cu", ".cuh"}
MOST_LINES = 400
DIRECTIVE = re.compile(r"\s*#\s*(\w+)")
MARK = re.compile(r"\b(TODO|FIXME|XXX)\b")
PRINTS = re.compile(r"std::(cout|cerr|clog)\b(?!\.flush)|\bf?printf\s*\(|std::f?puts\b")
MAY_PRINT = "cmd/"


def check(root):
    """What is wrong in the tree, one line each, and how many files were looked at."""
    bad = []
    files = sorted(p for top in TOPS for p in (root / top).rglob("*") if p.suffix in SUFFIXES)
    for path in files:
        name = path.relative_to(root).as_posix()
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines, 1):
            match = DIRECTIVE.match(line)
            if match and match[1] not in {"include", "pragma"}:
                bad.append(f"{name}:{number}: #{match[1]} (let CMake pick the file, or use constexpr)")
            if MARK.search(line):
                bad.append(f"{name}:{number}: {MARK.search(line)[0]} (open an issue instead)")
            code = line.split("//")[0]
            if PRINTS.search(code) and not name.startswith(MAY_PRINT):
                bad.append(f"{name}:{number}: prints (only cmd/ may)")
        if len(lines) > MOST_LINES:
            bad.append(f"{name}: {len(lines)} lines, at most {MOST_LINES} (split it)")
        if path.suffix in {".hpp", ".cuh"} and sum(line == "#pragma once" for line in lines) != 1:
            bad.append(f"{name}: no #pragma once")
    return bad, len(files)


if __name__ == "__main__":
    tree = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong, seen = check(tree)
    print(*wrong, f"{seen} files, {len(wrong)} violations", sep="\n")
    sys.exit(bool(wrong) or seen == 0)
