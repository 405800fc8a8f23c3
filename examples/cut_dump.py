#!/usr/bin/env python3
"""Cut some rows of one sequence out of a safetensors dump: all bits, all metadata, the whole vocabulary.

    cut_dump.py DUMP OUT [--sequence 0] [--first 2] [--rows 8]

Every tensor whose leading dimensions are those of the logits [B, S, V] is cut to [1, rows, ...]; others are refused, since
it is not known what they count. Python's standard library only; no value is converted, bytes are copied.
"""

import argparse
import json
import math
import struct


def read_header(file):
    (size,) = struct.unpack("<Q", file.read(8))
    header = json.loads(file.read(size))
    return header.pop("__metadata__", {}), header, 8 + size


def cut(file, data, info, sequence, first, rows):
    """Bytes of rows [first, first + rows) of one sequence of a [B, S, ...] tensor."""
    begin, end = info["data_offsets"]
    shape = info["shape"]
    row_bytes = (end - begin) // math.prod(shape[:2])
    file.seek(data + begin + (sequence * shape[1] + first) * row_bytes)
    return file.read(rows * row_bytes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump")
    parser.add_argument("out")
    parser.add_argument("--sequence", type=int, default=0)
    parser.add_argument("--first", type=int, default=2)
    parser.add_argument("--rows", type=int, default=8)
    args = parser.parse_args()

    with open(args.dump, "rb") as file:
        metadata, header, data = read_header(file)
        batch, length = header["logits"]["shape"][:2]
        if not (0 <= args.sequence < batch and 0 <= args.first and 0 < args.rows <= length - args.first):
            parser.error(f"wanted rows inside {batch} sequences of {length}")
        tensors, pieces, at = {}, [], 0
        for name, info in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
            if info["shape"][:2] != [batch, length]:
                parser.error(f"{name} {info['shape']} does not start with [{batch}, {length}]")
            piece = cut(file, data, info, args.sequence, args.first, args.rows)
            tensors[name] = {
                "dtype": info["dtype"],
                "shape": [1, args.rows] + info["shape"][2:],
                "data_offsets": [at, at + len(piece)],
            }
            pieces.append(piece)
            at += len(piece)

    text = json.dumps({"__metadata__": dict(sorted(metadata.items())), **tensors}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(args.out, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + b"".join(pieces))


if __name__ == "__main__":
    main()
