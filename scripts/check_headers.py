#!/usr/bin/env python3
"""Compile every header of lib/, cuda/ and cmd/ alone: it names all that it needs.

A header whose own .cpp includes it before anything else is proven by the build already and is not compiled again.

usage: check_headers.py --compiler CXX [--nvcc NVCC] [-I DIR ...] [--root ROOT] [--jobs N]
Without --nvcc, headers that need CUDA's own headers are counted as not checked.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

TOPS = ("lib", "cuda", "cmd")
CUDA_MISSING = ("cuda_runtime", "cuda_fp16", "cuda_bf16", "cooperative_groups", "nccl.h")


def name_of(path, options):
    """As other files include it."""
    return next(path.relative_to(options.root / t).as_posix() for t in TOPS if path.is_relative_to(options.root / t))


def command(path, source, options):
    dirs = [flag for d in options.include for flag in ("-I", d)]
    dirs += [flag for top in TOPS for flag in ("-I", str(options.root / top))]
    if path.suffix == ".cuh":
        return [options.nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-arch=sm_90", "-ptx", "-o", os.devnull, *dirs,
                "-x", "cu", str(source)]
    return [*options.compiler.split(), "-std=c++20", "-fsyntax-only", *dirs, "-x", "c++", str(source)]


def check_one(path, folder, options):
    """None: fine. "": not checked. Else: what the compiler said."""
    if path.suffix == ".cuh" and not options.nvcc:
        return ""
    source = pathlib.Path(folder) / (path.relative_to(options.root).as_posix().replace("/", "_") + ".cpp")
    source.write_text(f'#include "{name_of(path, options)}"\n')
    done = subprocess.run(command(path, source, options), capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode == 0:
        return None
    if not options.nvcc and any(f"fatal error: {header}" in said for header in CUDA_MISSING):
        return ""
    return said


def is_proven_by_build(path, options):
    """Its .cpp is in every build (files of cuda/ only with CUDA) and has this header as its first include."""
    own = path.with_suffix(".cpp")
    if not own.exists() or (path.is_relative_to(options.root / "cuda") and not options.nvcc):
        return False
    includes = [line for line in own.read_text().splitlines() if line.startswith("#include")]
    return bool(includes) and includes[0].split('"')[1:2] == [name_of(path, options)]


def check(options):
    """(header, what is wrong) of each bad one; how many were compiled; by the build; not at all."""
    every = sorted(p for top in TOPS for p in (options.root / top).rglob("*") if p.suffix in {".hpp", ".cuh"})
    headers = [path for path in every if not is_proven_by_build(path, options)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        said = list(pool.map(lambda path: check_one(path, folder, options), headers))
    bad = [(path.relative_to(options.root).as_posix(), text) for path, text in zip(headers, said) if text]
    skipped = sum(text == "" for text in said)
    return bad, len(headers) - skipped, len(every) - len(headers), skipped


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--nvcc", default="")
    parser.add_argument("-I", "--include", action="append", default=[])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parent.parent)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.root = options.root.resolve()
    options.include = [d for group in options.include for d in group.split(";") if d]
    bad, compiled, built, skipped = check(options)
    for name, text in bad:
        print(f"{name} does not compile alone:\n{text}")
    note = f", {skipped} not checked (they need CUDA, which this build has not)" if skipped else ""
    print(f"{compiled} headers compiled alone, {len(bad)} failed; {built} are first in their own .cpp{note}")
    return int(bool(bad) or compiled == 0)


if __name__ == "__main__":
    sys.exit(main())
