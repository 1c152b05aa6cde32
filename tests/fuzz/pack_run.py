#!/usr/bin/env python3
"""pack_run.py OUT CASE...: recorded cases (docs/guide/record.md) as inputs of fuzz_run, in the folder OUT. SKIFF is the command."""
import os
import struct
import subprocess
import sys

SKIFF = os.environ.get("SKIFF", "build/skiff")


def values(folder):
    for root, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(root, name)
            with open(path, "rb") as f:
                yield os.path.relpath(path, folder), f.read()


def pack(case):
    program = subprocess.run([SKIFF, "inspect", "program", os.path.join(case, "main.pb")], capture_output=True, check=True).stdout
    program = b"\n".join(line for line in program.split(b"\n") if not line.startswith(b"op_versions"))  # long, and not looked at
    parts = [struct.pack("<H", len(program)), program]
    for folder in ("init", "feed/0"):
        for name, data in values(os.path.join(case, folder)):
            is_rows = b"SELECTED_ROWS" in next((line for line in program.splitlines() if line.split()[:2] == [b"var", name.encode()]), b"")
            parts += [struct.pack("<B", len(name) + 128 * is_rows), name.encode(), struct.pack("<H", len(data)), data]
    return b"".join(parts)


out = sys.argv[1]
os.makedirs(out, exist_ok=True)
for case in sys.argv[2:]:
    try:
        data = pack(case)
    except (struct.error, subprocess.CalledProcessError):
        continue  # too large for a seed
    if len(data) <= 8192:
        with open(os.path.join(out, "_".join(case.rstrip("/").split("/")[-3:])), "wb") as f:
            f.write(data)
