#!/usr/bin/env python3
"""Runs an mpirun line and checks how it ends: exit status, time, and what no exit status tells.

expect_exit.py [--exit N] [--within SECONDS] [--each-rank | --orphans] LAUNCHER -- ARGUMENTS... PROGRAM...

--each-rank  every rank's own status must be N too: mpirun returns only the first that it sees
--orphans    kill the launcher (SIGKILL) once all ranks have printed "pid N"; none may be alive five seconds later
Exit 77 (skipped) with the reason where there is no launcher. On failure everything that the ranks wrote is shown.
"""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# The shell outlives its rank a little, so that the launcher does not end the other ranks before they have written.
RECORD = '"$@"; code=$?; echo $code > "$0/$$"; sleep 1; exit $code'


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def orphans(command):
    """Why the check failed, or None, and what was written."""
    ranks = int(command[command.index("-np") + 1])
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as job:
        pids, output = [], ""
        for line in job.stdout:
            output += line
            if line.startswith("pid "):
                pids.append(int(line.split()[1]))
            if len(pids) == ranks:
                break
        job.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 5
        while any(map(alive, pids)) and time.monotonic() < deadline:
            time.sleep(0.05)
        left = [pid for pid in pids if alive(pid)]
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        if len(pids) != ranks:
            return f"{len(pids)} of {ranks} ranks began", output
        return (f"ranks outlived their launcher: {left}" if left else None), output


def run(command, options):
    """The same for a job that ends by itself."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        if options.each_rank:
            program = next(i for i, word in enumerate(command) if i > 0 and os.access(word, os.X_OK) and "/" in word)
            command = command[:program] + ["sh", "-c", RECORD, folder] + command[program:]
        job = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        codes = sorted(int(file.read_text()) for file in pathlib.Path(folder).iterdir())
    seconds = time.monotonic() - begun
    if job.returncode != options.exit:
        return f"exit status {job.returncode}, wanted {options.exit}", job.stdout
    if options.each_rank:
        ranks = int(command[command.index("-np") + 1])
        if codes != [options.exit] * ranks:
            return f"the ranks' own statuses are {codes}, wanted {ranks} times {options.exit}", job.stdout
    if options.within and seconds > options.within:
        return f"it took {seconds:.1f} s, wanted at most {options.within} s", job.stdout
    return None, job.stdout


def main():
    words = sys.argv[1:]
    split = words.index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--exit", type=int, default=0)
    parser.add_argument("--within", type=float)
    parser.add_argument("--each-rank", action="store_true")
    parser.add_argument("--orphans", action="store_true")
    parser.add_argument("launcher")
    options = parser.parse_args(words[:split])
    launcher = shutil.which(options.launcher)
    if not launcher:
        print(f"SKIPPED: no mpirun here (configure found '{options.launcher}')")
        return 77
    command = [launcher] + words[split + 1:]
    wrong, output = orphans(command) if options.orphans else run(command, options)
    if wrong:
        print(f"FAILED: {wrong}\n  {' '.join(command)}\n--- all ranks wrote ---\n{output}")
        return 1
    print(f"ok: {' '.join(command)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
