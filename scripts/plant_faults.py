#!/usr/bin/env python3
"""Plant known faults in recorded log-probs and judge what `drift-audit explain` says about them.

Everything is computed here from the stored bits in numpy and shares no code with the program: a mistake that both make is
the only one that this cannot see. A seed fixes the dump, the faults and the topology.

usage: plant_faults.py --binary PATH [--count 200] [--seed 1] [--ranks] [--jobs 1] [--keep DIR]
Prints what was planted against what was answered; exit 1 after a wrong confident answer, a broken run, parts that do not add
up, or (--ranks: also under mpirun with the seed's --tp and --cp) ranks that answer something else than one process does.
Verdicts: named; several (named among others that fit as well); partly (one of a pair); right (nothing to name, none named);
missed (something to name, none named); false alarm (fp32 order alone was not recognised, but nothing was blamed); WRONG.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

VOCAB, PADDED = 1000, 1024


# --- numbers ---------------------------------------------------------------------------------------------------------
def to_bf16(x):
    """fp32 rounded to bf16, ties to even, as fp32."""
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + ((bits >> np.uint64(16)) & np.uint64(1))) >> np.uint64(16)) << np.uint64(16)).astype(np.uint32).view(np.float32)


def to_type(x, dtype):
    if dtype == "BF16":
        return to_bf16(x)
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float32) if dtype == "F16" else np.asarray(x, np.float32)


def stored_bits(x, dtype):
    if dtype == "BF16":
        return (np.asarray(x, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    return x.astype(np.float16) if dtype == "F16" else x.astype(np.float32)


def widened(raw, dtype):
    if dtype == "BF16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, np.float16 if dtype == "F16" else np.float32).astype(np.float32)


def lse_of(terms, order):
    """[rows, columns] fp32 -> [rows] log-sum-exp: in fp64, or as fp32 code does it in some order of its own."""
    top = terms.max(axis=1)
    top = np.where(np.isfinite(top), top, np.float32(0))
    if order == "f64":
        return top.astype(np.float64) + np.log(np.exp(terms.astype(np.float64) - top[:, None]).sum(axis=1))
    exps = np.exp(terms - top[:, None])
    if order == "chunks":
        total = np.zeros(len(terms), np.float32)
        for part in np.array_split(exps, 7, axis=1):
            total = total + part.sum(axis=1, dtype=np.float32)
    else:
        total = exps[:, ::-1].sum(axis=1, dtype=np.float32)
    return top, np.log(total)


def log_prob(logit, terms, order):
    """logit - LSE(terms) and the LSE, fp32 except in order "f64"."""
    if order == "f64":
        lse = lse_of(terms, order)
        return logit.astype(np.float64) - lse, lse
    top, log_sum = lse_of(terms, order)
    lse = top + log_sum
    return ((logit - top) - log_sum if order == "torch" else logit - lse), lse


def even_bounds(size, parts):
    base, extra = divmod(size, parts)
    return [i * base + min(i, extra) for i in range(parts + 1)]


def chunk_rows(begin, size, cp, rank, zigzag):
    bounds = even_bounds(size, 2 * cp if zigzag else cp)
    chunks = (rank, 2 * cp - 1 - rank) if zigzag else (rank,)
    return [begin + row for chunk in chunks for row in range(bounds[chunk], bounds[chunk + 1])]


def kept_columns(values, top_k=0, top_p=1.0):
    """Which of [rows, columns] a sampler keeps: top-k with all ties, then top-p by the mass ranked above."""
    keep = np.ones(values.shape, bool)
    if top_k:
        keep &= values >= np.sort(values, axis=1)[:, -top_k][:, None]
    if top_p < 1:
        left = np.where(keep, values.astype(np.float64), -np.inf)
        order = np.lexsort((-np.arange(values.shape[1])[None, :].repeat(len(values), 0), -left), axis=1)
        mass = np.exp(np.take_along_axis(left, order, 1) - lse_of(np.where(keep, values, np.float32(-np.inf)), "f64")[:, None])
        above = np.cumsum(mass, axis=1) - mass
        stays = above < top_p - 2.0**-20
        stays[:, 0] = True
        out = np.zeros(values.shape, bool)
        np.put_along_axis(out, order, stays, 1)
        keep &= out
    return keep


# --- dumps -----------------------------------------------------------------------------------------------------------
class Dump:
    """What is stored, and how it is meant to be read."""

    def __init__(self, x, vocab, batch, targets, dtype="F32", temperature=1.0, active=None, top_k=0, top_p=1.0, first_token=None):
        self.x, self.vocab, self.batch, self.dtype = np.asarray(x, np.float32), vocab, batch, dtype
        self.rows, self.padded = self.x.shape
        self.sequence = self.rows // batch
        self.targets = np.asarray(targets, np.int64)
        self.temperature = np.full(self.rows, temperature, np.float32) if np.isscalar(temperature) else np.asarray(temperature, np.float32)
        self.active = np.ones(self.rows, bool) if active is None else active
        self.top_k, self.top_p = top_k, top_p
        self.first_token = np.zeros(batch, np.int64) if first_token is None else first_token

    def sequences(self):
        return [(b * self.sequence, self.sequence) for b in range(self.batch)]


def mix(z):
    z = (z + 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return z ^ (z >> 31)


def exact_flat(rows, seed):
    """The generator's real columns before rounding, from its documented integers."""
    z = (np.uint64(seed) << np.uint64(40)) + (np.arange(rows, dtype=np.uint64)[:, None] << np.uint64(20)) + np.arange(VOCAB, dtype=np.uint64)
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    fields = sum(((z >> np.uint64(16 * i)) & np.uint64(0xFFFF)).astype(np.int64) for i in range(4))
    return ((fields - 131070) * 2.0**-14).astype(np.float32)


def exact_logits(rows, seed, sharp):
    x = exact_flat(rows, seed)
    peaks = [mix(((seed + 1) << 40) + row) % VOCAB for row in range(rows)]
    if sharp:
        x[np.arange(rows), peaks] += np.float32(16)
    targets = [peaks[row] if row % 2 == 0 else mix(((seed + 2) << 40) + row) % VOCAB for row in range(rows)]
    return x, np.array(targets, np.int64)


def read_file(path):
    raw = pathlib.Path(path).read_bytes()
    (size,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + size])
    return header, raw[8 + size :]


def write_file(path, tensors, metadata):
    header, body = {"__metadata__": metadata}, b""
    for name, (dtype, array) in tensors.items():
        data = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    pathlib.Path(path).write_bytes(struct.pack("<Q", len(text)) + text + body)


# --- faults ----------------------------------------------------------------------------------------------------------
# Ids are the program's. A fault is (id, detail); detail is a number or rows that the id does not hold.
VALUE = ["temperature_ignored", "temperature_native", "temperature_twice", "temperature_fitted", "logits_bf16",
         "truncation_fitted", "truncation_off"]
DOMAIN = ["padding_in_lse", "gathered_tp2", "gathered_tp4", "gathered_tp8", "own_shard_only_tp2", "own_shard_only_tp4",
          "shard_lost_tp2_rank1", "shard_lost_tp4_rank2", "shard_at_offset_0_tp2_rank0", "shard_at_offset_0_tp2_rank1",
          "shard_at_offset_0_tp4_rank3"]
COLUMN = ["next_target", "previous_target", "next_target_across", "previous_target_across", "argmax", "shards_reversed_tp2",
          "shards_reversed_tp4", "shards_rotated_left_tp4", "shards_rotated_right_tp4", "local_index_tp2", "local_index_tp4",
          "label_roll_zigzag_cp2", "label_roll_zigzag_cp4", "label_roll_contiguous_cp2", "target_missing", "target_twice",
          "fence_twice_tp2", "fence_missing_tp4", "clamped_tp2"]
ROW = ["rows_next", "rows_previous", "rows_next_across", "rows_previous_across"] + [
    f"{kind}_cp{cp}" for kind in ("contiguous_as_zigzag", "zigzag_concatenated") for cp in (2, 4, 8)]
OUTPUT = ["output_bf16", "output_f16", "probability", "logp_over_temperature", "zero_filled", "negated", "base_2", "lse",
          "clamped", "entropy", "negative_entropy"]
AXIS = {name: axis for axis, names in enumerate((VALUE, DOMAIN, COLUMN, ROW, OUTPUT)) for name in names}
KNOWN = len(AXIS)
NOT_COVERED = ["noise", "big_noise", "constant", "other_rows_logits", "proportional", "shuffled", "unrelated", "random_temperatures",
               "half_the_rows", "other_logits", "wrong_token", "squared", "targets_by_two", "sequences_swapped", "three_shards_reversed",
               "half_the_padding", "counted_three_times", "bf16_truncated", "bf16_lse", "filled_with_minus_one", "grows_with_position",
               "all_equal"]
SMALL = {"bf16_truncated": "output_bf16"}  # a cause that is near enough to be no innocent one


def shape_of(fault):
    """gathered_tp4 -> ("gathered", 4, None); shard_lost_tp4_rank2 -> ("shard_lost", 4, 2)."""
    match = re.fullmatch(r"(.*?)_(?:tp|cp)(\d+)(?:_rank(\d+))?", fault)
    return (match[1], int(match[2]), match[3] and int(match[3])) if match else (fault, None, None)


def picked_column(dump, fault, z):
    """The column that is read instead of each row's target."""
    kind, parts, _ = shape_of(fault)
    t, rows = dump.targets, np.arange(dump.rows)
    if kind == "argmax":
        return z[:, : dump.vocab].argmax(axis=1)
    if kind in ("next_target_across", "previous_target_across"):
        return np.roll(t, -1 if kind.startswith("next") else 1)
    if kind in ("next_target", "previous_target"):
        return np.roll(t.reshape(dump.batch, -1), -1 if kind.startswith("next") else 1, axis=1).ravel()
    if kind.startswith("label_roll"):
        out = t.copy()
        for b, (begin, size) in enumerate(dump.sequences()):
            tokens = np.concatenate(([dump.first_token[b]], t[begin : begin + size]))  # token s + 1 is row s's label
            for rank in range(parts):
                own = chunk_rows(0, size, parts, rank, "zigzag" in kind)
                for place, row in enumerate(own):
                    out[begin + row] = tokens[own[(place + 1) % len(own)]]
        return out
    bounds = even_bounds(dump.padded, parts)
    if kind == "local_index":
        return t - np.array(bounds)[np.searchsorted(bounds, t, side="right") - 1]
    order = {"shards_reversed": list(range(parts))[::-1], "shards_rotated_left": list(np.roll(range(parts), -1)),
             "shards_rotated_right": list(np.roll(range(parts), 1))}[kind]
    return np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in order])[t][rows]


def misread_logit(dump, fault, z, right):
    """What is taken for each row's target logit."""
    kind, tp, _ = shape_of(fault)
    rows = np.arange(dump.rows)
    if kind in ("target_missing", "target_twice"):
        return right * np.float32(0 if kind == "target_missing" else 2)
    if kind.startswith("fence"):  # the first column of a shard, but for the very first
        at_fence = np.isin(dump.targets, even_bounds(dump.padded, tp)[1:])
        return np.where(at_fence, right * np.float32(2 if kind == "fence_twice" else 0), right)
    if kind == "clamped":  # the rank that does not own the target adds the column that it clamps the index to
        half = even_bounds(dump.padded, 2)[1]
        return right + z[rows, np.where(dump.targets < half, half, half - 1)]
    return z[rows, picked_column(dump, fault, z)]


def source_rows(dump, fault):
    """Whose value stands in each row."""
    kind, cp, _ = shape_of(fault)
    source = np.arange(dump.rows)
    if kind.startswith("rows_"):
        step = -1 if "next" in kind else 1
        return np.roll(source, step) if "across" in kind else np.roll(source.reshape(dump.batch, -1), step, axis=1).ravel()
    for begin, size in dump.sequences():
        zigzag, plain = ([row for rank in range(cp) for row in chunk_rows(begin, size, cp, rank, z)] for z in (True, False))
        made, rebuilt = (plain, zigzag) if kind == "contiguous_as_zigzag" else (zigzag, plain)
        source[rebuilt] = made
    return source


def logits_after(dump, faults):
    """[rows, padded] fp32 values after temperature, under the value faults."""
    x, t = dump.x, dump.temperature[:, None]
    if "logits_bf16" in faults:
        x = to_bf16(x)
    if "temperature_ignored" in faults or "logp_over_temperature" in faults:
        return x
    if "temperature_fitted" in faults:
        return x / np.float32(faults["temperature_fitted"])
    if "temperature_native" in faults:
        return to_type(x / to_type(t, dump.dtype), dump.dtype)
    return x / t / t if "temperature_twice" in faults else x / t


def recorded(dump, faults, order="f64"):
    """[rows] log-probs as a program with these faults records them, fp32 (order "f64": fp64)."""
    minus = np.float32(-np.inf)
    z = logits_after(dump, faults)
    rows, t = np.arange(dump.rows), dump.targets
    cut = dict(top_k=dump.top_k, top_p=dump.top_p)
    if "truncation_off" in faults:
        cut = {}
    cut = faults.get("truncation_fitted", cut)
    real = z[:, : dump.vocab]
    terms = np.where(kept_columns(real, **cut), real, minus) if cut.get("top_k") or cut.get("top_p", 1) < 1 else real
    logit = z[rows, t]
    for fault in faults:
        if AXIS[fault] == 2:
            logit = misread_logit(dump, fault, z, logit)
    for fault in faults:
        kind, tp, rank = shape_of(fault)
        if kind == "padding_in_lse":
            terms = np.concatenate([terms, z[:, dump.vocab :]], axis=1)
        elif kind == "gathered":
            terms = np.concatenate([terms] * tp, axis=1)
        elif AXIS[fault] == 1:
            bounds = even_bounds(dump.padded, tp)
            column = np.arange(terms.shape[1])
            if kind == "own_shard_only":
                owner = np.searchsorted(bounds, t, side="right") - 1
                mine = np.searchsorted(bounds, column, side="right") - 1
                terms = np.where(mine[None, :] == owner[:, None], terms, minus)
            else:
                part = slice(bounds[rank], min(bounds[rank + 1], dump.vocab))
                if kind == "shard_lost":
                    terms = np.where((column >= part.start) & (column < part.stop), minus, terms)
                else:
                    buffer = np.zeros_like(terms)
                    buffer[:, : part.stop - part.start] = terms[:, part]
                    terms, logit = buffer, buffer[rows, t]
    out, lse = log_prob(logit, terms, order)
    if "lse" in faults:
        out = lse
    if "entropy" in faults or "negative_entropy" in faults:
        wide = terms.astype(np.float64)
        logs = wide - lse_of(terms, "f64")[:, None]
        entropy = -np.where(np.isfinite(wide), np.exp(logs) * np.where(np.isfinite(wide), logs, 0), 0).sum(axis=1)
        out = (entropy if "entropy" in faults else -entropy).astype(out.dtype)
    for fault in faults:
        if AXIS[fault] == 3:
            out = out[source_rows(dump, fault)]
            if faults[fault] == "zero":
                out = np.where(np.abs(source_rows(dump, fault) - rows) > 1, 0, out)
    if "logp_over_temperature" in faults:
        out = out / (dump.temperature if order != "f64" else dump.temperature.astype(np.float64))
    out = np.exp(out) if "probability" in faults else out
    out = -out if "negated" in faults else out
    out = out / type(out[0])(np.log(2.0)) if "base_2" in faults else out
    for fault, dtype in (("output_bf16", "BF16"), ("output_f16", "F16")):
        if fault in faults:
            out = to_type(out, dtype).astype(out.dtype)
    if "clamped" in faults:
        out = np.maximum(out, out.dtype.type(faults["clamped"]))
    if "zero_filled" in faults:
        out = np.where(faults["zero_filled"], 0, out)
    return out


def fp32_slack(dump, faults):
    """What fp32 arithmetic may move each row's log-prob by: some ulps of the largest number in it."""
    z = logits_after(dump, {f: d for f, d in faults.items() if AXIS[f] == 0})
    most = np.maximum(np.abs(z[:, : dump.vocab]).max(axis=1), 16)
    return 4 * np.spacing(most.astype(np.float32)).astype(np.float64) + 2.0**-22


def uncovered(dump, kind, rng, exact):
    """Values that are wrong in a way that no hypothesis is about."""
    right = recorded(dump, {})
    rows = np.arange(dump.rows)
    if kind == "noise":
        return right + rng.normal(0, 1e-2, dump.rows)
    if kind == "big_noise":
        return right + rng.normal(0, 1.0, dump.rows)
    if kind == "constant":
        return right + rng.choice([-1, 1]) * rng.choice([0.011, 0.25, 0.9, 1.7])
    if kind == "other_rows_logits":  # the target's own row never answers
        other = (rows + rng.integers(2, dump.rows - 2, dump.rows)) % dump.rows
        z = dump.x / dump.temperature[:, None]
        return z[other, dump.targets] - lse_of(z[other, : dump.vocab], "f64")
    if kind == "proportional":
        return right * rng.choice([0.93, 1.07, 1.5])
    if kind == "shuffled":
        return right[rng.permutation(dump.rows)]
    if kind == "unrelated":
        return -rng.exponential(5, dump.rows)
    if kind == "random_temperatures":
        z = dump.x / rng.uniform(0.5, 1.5, dump.rows).astype(np.float32)[:, None]
        return z[rows, dump.targets] - lse_of(z[:, : dump.vocab], "f64")
    if kind == "half_the_rows":
        return np.where(rng.random(dump.rows) < 0.5, right + rng.normal(0, 0.3, dump.rows), right)
    if kind == "other_logits":  # as after another step of training
        z = (dump.x + rng.normal(0, 0.05, dump.x.shape).astype(np.float32)) / dump.temperature[:, None]
        return z[rows, dump.targets] - lse_of(z[:, : dump.vocab], "f64")
    if kind == "wrong_token":
        z = dump.x / dump.temperature[:, None]
        return z[rows, rng.integers(0, dump.vocab, dump.rows)] - lse_of(z[:, : dump.vocab], "f64")
    if kind == "squared":
        return -right * right
    if kind == "targets_by_two":
        return recorded(dump, {"next_target": 0, "rows_next": "roll"})
    if kind == "sequences_swapped":
        return np.roll(right, dump.sequence)
    if kind == "filled_with_minus_one":
        return np.where(rng.random(dump.rows) < 0.2, -1, right)
    if kind == "all_equal":
        return np.full(dump.rows, rng.choice([-1.0, 0.5, -100.0]))
    if kind == "grows_with_position":
        return right + 1e-3 * (rows % dump.sequence)
    if kind == "bf16_truncated":
        return (right.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    if kind in ("three_shards_reversed", "half_the_padding", "counted_three_times", "bf16_lse"):
        z = dump.x / dump.temperature[:, None]
        real = z[:, : dump.vocab]
        lse = lse_of(real, "f64")
        if kind == "half_the_padding":
            lse = lse_of(z[:, : (dump.vocab + dump.padded) // 2], "f64")
        elif kind == "counted_three_times":
            lse = lse + np.log(3)
        elif kind == "bf16_lse":
            lse = to_bf16(lse.astype(np.float32)).astype(np.float64)
        bounds = even_bounds(dump.padded, 3)
        order = np.concatenate([np.arange(bounds[i], bounds[i + 1]) for i in (2, 1, 0)])
        return z[rows, order[dump.targets] if kind == "three_shards_reversed" else dump.targets] - lse
    z = exact / dump.temperature[:, None]  # "unrounded": the logits before they were stored
    return z[rows, dump.targets] - lse_of(z[:, : dump.vocab], "f64")


def check_maths():
    """Values worked out elsewhere."""
    def near(got, want, what):
        if not np.allclose(got, want, rtol=0, atol=2e-6):
            sys.exit(f"plant_faults.py computes {what} wrong: seen {got}, wanted {want}")

    six = Dump([[1, 0.5, -0.5, 2, 0, -1, 3, -7]], 6, 1, [3])
    near(recorded(six, {}), -0.6196173997473693, "a log-prob")
    near(recorded(six, {"padding_in_lse": 0}), -1.520961212887865, "padding")
    near(recorded(six, {"gathered_tp2": 0}), -1.3127645803073147, "gathered logits")
    for t, right, bug in ((0.7, -1.7439177997534128, -1.7446620389844725), (0.9, -1.5517777177727066, -1.5508462930775107),
                          (0.6, -1.911727068217145, -1.9098009890197347)):
        hot = Dump([[2, 1, 0.5, -1]], 4, 1, [1], "BF16", t)
        near(recorded(hot, {}), right, "a temperature")
        near(recorded(hot, {"temperature_native": 0}), bug, "a temperature in bf16")
    near(recorded(Dump(np.log([[0.5, 0.25, 0.125, 0.125]]), 4, 1, [1]), {"truncation_fitted": {"top_k": 2}}), -1.0986122886681098, "top-k")
    near(recorded(Dump(np.log([[0.5, 0.3, 0.15, 0.05]]), 4, 1, [1]), {"truncation_fitted": {"top_p": 0.8}}), -0.9808292530117264, "top-p")
    steps = np.zeros((6, 4))
    steps[np.arange(6), [0, 1, 2, 3, 0, 1]] = 4
    near(recorded(Dump(steps, 4, 1, [0, 1, 2, 3, 0, 1]), {}), -0.05349044970593386, "aligned targets")
    near(recorded(Dump(steps, 4, 1, [0, 1, 2, 3, 0, 1]), {"next_target": 0}), -4.053490449705934, "shifted targets")
    ramp = Dump(np.stack([np.zeros(8), np.arange(8)], 1), 2, 1, np.zeros(8, int))
    near(recorded(ramp, {}), -np.log1p(np.exp(np.arange(8))), "a ramp")
    near(source_rows(ramp, "contiguous_as_zigzag_cp2"), [0, 1, 4, 5, 6, 7, 2, 3], "a CP layout")
    near(source_rows(ramp, "zigzag_concatenated_cp2"), [0, 1, 6, 7, 2, 3, 4, 5], "a CP layout")
    eight = Dump(np.zeros((8, 16)), 16, 1, [1, 2, 3, 4, 5, 6, 7, 15])
    near(picked_column(eight, "label_roll_zigzag_cp2", eight.x), [1, 6, 3, 4, 5, 2, 7, 0], "a label roll")
    swap = Dump([[1, 2, -1, 0.5, 3, 0]], 6, 1, [4])
    near(recorded(swap, {}), -0.5028352437086809, "a log-prob")
    near(recorded(swap, {"shards_reversed_tp2": 0}), -1.502835243708681, "swapped shards")
    near(recorded(swap, {"local_index_tp2": 0}), -1.502835243708681, "a local index")
    near(recorded(swap, {"shard_at_offset_0_tp2_rank1": 0}), -3.247823107893775, "a self-copy")


# --- one seed --------------------------------------------------------------------------------------------------------
def plan_of(seed):
    """What is planted: every block of seeds holds each kind once, in an order of its own."""
    kinds = [("single", name) for name in list(AXIS)[:KNOWN]] + [("pair", i) for i in range(KNOWN - 8)] + [("triple", i) for i in range(6)]
    kinds += [("clash", i) for i in range(6)]
    kinds += [("nothing", order) for order in ("f64", "torch", "lse", "chunks", "unrounded")] + [("uncovered", kind) for kind in NOT_COVERED]
    block, place = divmod(seed, len(kinds))
    return kinds[np.random.default_rng(block).permutation(len(kinds))[place]]


CLASHES = [("padding_in_lse", "gathered_tp2"), ("padding_in_lse", "shard_lost_tp2_rank1"), ("output_bf16", "probability"),
           ("output_bf16", "negated"), ("output_f16", "base_2"), ("output_bf16", "lse"), ("rows_next", "zigzag_concatenated_cp2"),
           ("output_bf16", "logp_over_temperature"), ("output_bf16", "zero_filled"), ("output_bf16", "clamped"), ("negated", "base_2")]


def go_together(a, b):
    """Whether it is clear what two faults together record."""
    axes = {AXIS[a], AXIS[b]}
    both = a + b
    if len(axes) == 1 or ("truncation" in both and 4 not in axes):
        return False
    if "logp_over_temperature" in (a, b) and 0 in axes or "entropy" in both and (1 in axes or 2 in axes):
        return False
    return not ("shard_at_offset" in both and 2 in axes)


def faults_of(kind, what, rng):
    if kind == "single":
        return [what]
    if kind == "clash":  # two options of one axis: a program that looks at one of each cannot name both
        return list(CLASHES[rng.integers(len(CLASHES))])
    if kind not in ("pair", "triple"):
        return []
    while True:
        names = [str(name) for name in rng.choice(list(AXIS)[:KNOWN], 2 if kind == "pair" else 3, replace=False)]
        if all(go_together(a, b) for a, b in itertools.combinations(names, 2)):
            return sorted(names, key=AXIS.get)


class Scene:
    """The dump of one seed, on disk without recorded values, and what is planted in it."""

    def __init__(self, seed, binary, folder):
        rng = np.random.default_rng([seed, 3])
        self.kind, self.what = plan_of(seed)
        names = faults_of(self.kind, self.what, rng)
        self.tp, self.cp = int(rng.choice([1, 2, 4])), int(rng.choice([1, 1, 2]))
        self.path = folder / "dump.safetensors"
        hot = any("temperature" in name for name in names)
        dtype = str(rng.choice(["BF16", "BF16", "BF16", "F16", "F32"]))
        if "logits_bf16" in names or "temperature_native" in names:
            dtype = "F32" if "logits_bf16" in names else "F16" if dtype == "F16" else "BF16"
        self.sharp = bool(rng.random() < 0.35)
        batch, sequence = [(1, 32), (2, 16), (3, 24), (2, 32), (4, 16), (2, 48), (1, 48), (1, 64)][rng.integers(8)]
        if any("across" in name for name in names) and batch == 1:
            batch, sequence = 3, 16
        if any("cp8" in name for name in names):
            sequence = -(-sequence // 16) * 16
            batch = min(batch, 96 // sequence)
        rows = batch * sequence
        exact, targets = self.generate(binary, rows, seed, dtype, batch, sequence)
        t = rng.choice([0.6, 0.7, 0.9] if hot else [0.6, 0.7, 0.9, 1.0, 1.0])
        per_sequence = bool(rng.random() < 0.2) and batch > 1 and hot
        temperature = np.repeat(rng.choice([0.6, 0.7, 0.8, 0.9], batch), sequence).astype(np.float32) if per_sequence else float(t)
        pads = rng.choice(["zero", "random", "hostile"], p=[0.45, 0.45, 0.1])
        if "probability" in names and pads == "hostile":
            pads = "zero"  # a padded column's logit of 96 less an LSE is no log-prob: its exp is inf
        if pads != "hostile":
            self.x[:, VOCAB:] = 0 if pads == "zero" else to_type(rng.normal(0, 2.5, (rows, PADDED - VOCAB)), dtype)
        active = np.ones(rows, bool)
        if rng.random() < 0.5:  # a prompt, and sometimes a hole, in each sequence
            for begin in range(0, rows, sequence):
                active[begin : begin + rng.integers(1, sequence // 4)] = False
                if rng.random() < 0.5:
                    active[begin + sequence - rng.integers(1, 4) : begin + sequence] = False
        cut = {}
        if any(name.startswith("truncation") for name in names):
            cut = {"top_k": int(rng.choice([5, 20, 50]))} if rng.random() < 0.5 else {"top_p": float(rng.choice([0.5, 0.8, 0.9, 0.95]))}
        dump = Dump(self.x, VOCAB, batch, targets, dtype, temperature, active, first_token=rng.integers(0, VOCAB, batch))
        if cut or rng.random() < 0.4:  # targets as a sampler draws them
            z = dump.x[:, :VOCAB] / dump.temperature[:, None]
            gumbel = rng.gumbel(size=z.shape) + np.where(kept_columns(z, **cut), z, -np.inf)
            dump.targets = gumbel.argmax(axis=1)
        if any(name.startswith("fence") for name in names):
            posts = [c for c in even_bounds(PADDED, 4)[1:-1]]
            dump.targets = np.where(rng.random(rows) < 0.3, rng.choice(posts, rows), dump.targets)
        if "truncation_off" in names:
            dump.top_k, dump.top_p = cut.get("top_k", 0), cut.get("top_p", 1.0)
        self.dump = dump
        self.faults = {}
        for name in names:
            self.faults[name] = self.detail(name, rng, cut)
        order = self.what if self.kind == "nothing" else str(rng.choice(["f64", "f64", "torch", "lse", "chunks"]))
        if self.kind == "uncovered" or order == "unrounded":
            values = uncovered(dump, self.what, rng, exact)
        else:
            values = recorded(dump, self.faults, order)
        self.values = np.where(active, values, 0).astype(np.float32)
        self.write(dtype, per_sequence, rng)

    def generate(self, binary, rows, seed, dtype, batch, sequence):
        """Logits by the program, checked against its documented integers."""
        profile = "sharp" if self.sharp else "flat"
        command = [binary, "generate", self.path, "--force", "--rows", rows, "--vocab", VOCAB, "--padded-vocab", PADDED, "--dtype",
                   dtype.lower(), "--seed", seed, "--profile", profile]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"generate failed with {done.returncode}: {done.stderr}")
        header, body = read_file(self.path)
        begin, end = header["logits"]["data_offsets"]
        self.x = widened(body[begin:end], dtype).reshape(rows, PADDED).copy()
        exact, targets = exact_logits(rows, seed, self.sharp)
        if not np.array_equal(self.x[:, :VOCAB], to_type(exact, dtype)):
            sys.exit(f"seed {seed}: generate does not follow its documented integers")
        return exact, targets

    def detail(self, name, rng, cut):
        if name == "temperature_fitted":
            t = float(self.dump.temperature[0])
            choices = [c for c in (0.5, 0.65, 0.8, 0.85, 1.1, 1.3, 1.5) if min(abs(c - t), abs(c - t * t), abs(c - 1)) > 0.03]
            return float(rng.choice(choices))
        if name == "truncation_fitted":
            return cut
        if name == "zero_filled":
            rows = rng.random(self.dump.rows) < rng.choice([0.1, 0.3])
            rows[np.flatnonzero(self.dump.active)[:2]] = True
            return rows
        if name == "clamped":
            unclamped = recorded(self.dump, {other: detail for other, detail in self.faults.items() if other != "clamped"})
            return float(np.float32(np.quantile(unclamped[self.dump.active], rng.choice([0.1, 0.3]))))
        return str(rng.choice(["roll", "zero"])) if name.startswith("rows_") else 0

    def write(self, dtype, per_sequence, rng):
        dump = self.dump
        shape = (dump.batch, dump.sequence)
        tensors = {"logits": (dtype, stored_bits(dump.x, dtype).reshape(*shape, PADDED)), "targets": ("I64", dump.targets.reshape(shape)),
                   "rollout_logprobs": ("F32", self.values.reshape(shape))}
        metadata = {"real_vocab": str(VOCAB)}
        if not dump.active.all():
            tensors["mask"] = ("BOOL", dump.active.reshape(shape))
        if per_sequence:
            tensors["temperature"] = ("F32", dump.temperature[:: dump.sequence])
        elif dump.temperature[0] != 1 or rng.random() < 0.5:
            metadata["temperature"] = repr(round(float(dump.temperature[0]), 6))
        if dump.top_k:
            metadata["top_k"] = str(dump.top_k)
        if dump.top_p < 1:
            metadata["top_p"] = repr(dump.top_p)
        write_file(self.path, tensors, metadata)

    def same(self, faults, others):
        """Whether two sets of faults record the same, to fp32 arithmetic, in the rows that are compared."""
        a, b = (recorded(self.dump, f)[self.dump.active] for f in (faults, others))
        # A step of a 16-bit output type may fall either way.
        step = max([2.0**-8 for f in faults if f == "output_bf16"] + [2.0**-11 for f in faults if f == "output_f16"] + [0])
        slack = 2 * np.maximum(fp32_slack(self.dump, faults), fp32_slack(self.dump, others))[self.dump.active]
        if "probability" in faults and "probability" in others:
            slack = slack * np.maximum(np.abs(a), 2.0**-40)
        return bool(np.all(np.abs(a - b) <= slack + (step * np.abs(a) if np.mean(a == b) > 0.9 else 0)))


# --- the answer ------------------------------------------------------------------------------------------------------
def explain(scene, binary, folder, tp=None, cp=1):
    out = folder / f"report-{tp or 0}-{cp}"
    command = [binary, "explain", str(scene.path), "--out", str(out), "--force", "--backend", "cpu", "-q"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
    if tp:
        command = ["mpirun", "-np", str(tp * cp)] + command + ["--tp", str(tp), "--cp", str(cp), "--cp-layout", "zigzag" if cp > 1 else "contiguous"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    problem = ""
    if done.returncode:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "drift-audit" in line or "rror" in line]
        problem = f"exit {done.returncode}: " + " / ".join(said)[:400]
    report = json.loads((out / "explain.json").read_text()) if (out / "explain.json").exists() else {}
    return report.get("findings", [None])[0], problem


def claims_of(finding):
    """The sets of causes that an answer names."""
    if finding["finding"] not in ("cause", "several"):
        return []
    return [frozenset(cause["id"] for cause in candidate["causes"]) for candidate in finding["best"]]


def as_faults(candidate, scene):
    """A claim with its numbers, to be computed here; None: this script has no such fault."""
    faults = {}
    for cause in candidate["causes"]:
        name, text = cause["id"], cause["what"]
        if name not in AXIS and shape_of(name)[0] not in {shape_of(known)[0] for known in AXIS}:
            return None
        AXIS.setdefault(name, next(axis for known, axis in AXIS.items() if shape_of(known)[0] == shape_of(name)[0]))
        faults[name] = 0
        if name == "temperature_fitted":
            faults[name] = float(re.search(r"temperature was ([0-9.e+-]+)", text)[1])
        elif name == "truncation_fitted":
            k, p = re.search(r"top-k (\d+)", text), re.search(r"top-p ([0-9.]+)", text)
            if not k and not p:
                return None
            faults[name] = {"top_k": int(k[1])} if k else {"top_p": float(p[1])}
        elif name == "zero_filled":
            faults[name] = scene.values == 0
        elif name == "clamped":
            faults[name] = float(re.search(r"below (-?[0-9.e+-]+) ", text)[1])
        elif name in scene.faults:
            faults[name] = scene.faults[name]
    return faults


def judge(scene, finding):
    """(verdict, remark)."""
    claims = claims_of(finding)
    planted = frozenset(scene.faults)
    if not planted:
        if not claims:
            quiet = finding["finding"] in ("exact", "formula_order", "noise")
            return ("right" if scene.kind == "uncovered" or quiet else "false alarm"), ""
        for candidate in finding["best"]:
            faults = as_faults(candidate, scene)
            gap = np.abs(recorded(scene.dump, faults) - scene.values)[scene.dump.active] if faults else np.inf
            if np.all(gap <= 2 * fp32_slack(scene.dump, faults or {})[scene.dump.active]):
                return "several", "a cause records the same: " + "+".join(faults)
        if frozenset([SMALL.get(scene.what)]) in claims:
            return "partly", "the nearest cause"
        return "WRONG", "nothing to name was planted"
    wrong_number = ""
    for candidate in finding["best"] if claims else []:
        faults = as_faults(candidate, scene)
        if faults is None or frozenset(faults) != planted:
            continue
        if not scene.same(scene.faults, faults):
            wrong_number = f"named with the wrong number: {[c['what'] for c in candidate['causes']]}"
    if planted in claims:
        if wrong_number:
            return "WRONG", wrong_number
        return ("named" if len(claims) == 1 else "several"), ""
    # Part of what was planted may show nowhere; then the rest is all there is to find.
    parts = [frozenset(p) for n in range(len(planted)) for p in itertools.combinations(planted, n)]
    enough = [p for p in parts if scene.same(scene.faults, {name: scene.faults[name] for name in p})]
    if not claims:
        if frozenset() in enough:
            return "right", "shows in no row"
        return "missed", finding["finding"]
    if any(p in claims for p in enough if p):
        return ("named" if len(claims) == 1 else "several"), "the other fault shows in no row"
    if any(p in claims for p in parts if p):
        return "partly", ""
    for candidate in finding["best"]:
        faults = as_faults(candidate, scene)
        if faults is not None and scene.same(scene.faults, faults):
            if len(faults) < len(planted):
                return "several", "a simpler cause records the same: " + "+".join(faults)
            return "WRONG", "records the same as what was planted, which is not listed"
    return "WRONG", "an innocent cause is named beside the planted one" if any(planted < c for c in claims) else "another cause is named"


def check_counts(scene, finding):
    """A claim may not say that it meets more rows than it does here."""
    for candidate in finding["best"]:
        faults = as_faults(candidate, scene)
        if faults is None or {"output_bf16", "output_f16", "probability"} & set(faults):
            continue  # rounding may fall either way
        gap = np.abs(scene.values - recorded(scene.dump, faults))
        edges = np.zeros(scene.dump.rows, bool)
        for name in faults:
            if AXIS[name] == 3:
                source = source_rows(scene.dump, name)  # a shift leaves 0 or another's value where it has none of its own
                edges |= (np.abs(source - np.arange(scene.dump.rows)) > 1) | ~scene.dump.active[source]
        met = int(((gap <= 2 * fp32_slack(scene.dump, faults)) | edges)[scene.dump.active].sum())
        if candidate["within"] > met:
            return f"{sorted(faults)} is said to meet {candidate['within']} rows, meets {met}"
    return ""


def check_parts(scene, finding):
    if not finding["rows"] == int(scene.dump.active.sum()):
        return f"compared {finding['rows']} rows, wanted {int(scene.dump.active.sum())}"
    drift = (scene.values - np.float64(1) * recorded(scene.dump, {}))[scene.dump.active]
    seen, wanted = sum(part["mean"] for part in finding["parts"]), drift.mean()
    slack = fp32_slack(scene.dump, {}).mean() + 1e-7 * np.abs(drift).mean()
    return "" if abs(seen - wanted) <= slack else f"parts add up to {seen}, wanted {wanted}"


def one_seed(seed, options):
    with tempfile.TemporaryDirectory(prefix="plant-") as temporary:
        folder = pathlib.Path(temporary)
        if options.keep:
            folder = pathlib.Path(options.keep) / f"seed-{seed}"
            folder.mkdir(parents=True, exist_ok=True)
        scene = Scene(seed, options.binary, folder)
        label = " + ".join(scene.faults) or f"{scene.kind}: {scene.what}"
        finding, problem = explain(scene, options.binary, folder)
        result = {"seed": seed, "planted": label, "count": len(scene.faults), "verdict": "BROKEN", "answer": "", "remark": problem,
                  "sentence": "", "problems": [], "kind": scene.kind, "tp": scene.tp, "cp": scene.cp}
        if not finding or problem:
            return result
        claims = claims_of(finding)
        answer = " | ".join(" + ".join(sorted(claim, key=lambda i: (AXIS.get(i, 9), i))) for claim in claims) or finding["finding"]
        verdict, remark = judge(scene, finding)
        result.update(verdict=verdict, remark=remark, answer=answer, sentence=finding["sentence"])
        result["problems"] = [text for text in [check_parts(scene, finding), check_counts(scene, finding)] if text]
        if options.ranks:
            other, problem = explain(scene, options.binary, folder, scene.tp, scene.cp)
            if problem or not other:
                result["problems"].append(f"tp {scene.tp} cp {scene.cp}: {problem or 'no report'}")
            if other and (other["finding"], claims_of(other)) != (finding["finding"], claims):
                result["problems"].append(f"tp {scene.tp} cp {scene.cp} answers {other['finding']} {[sorted(c) for c in claims_of(other)]}")
        return result


# --- the table -------------------------------------------------------------------------------------------------------
def short(answer, limit=96):
    return answer if len(answer) <= limit else answer[: limit - 3] + "..."


def print_results(results):
    print("planted -> answered, a line a fault alone")
    table = collections.defaultdict(collections.Counter)
    for r in results:
        if r["count"] < 2:
            table[r["planted"]][(r["verdict"], r["answer"])] += 1
    for planted in sorted(table, key=lambda name: (AXIS.get(name, 9), name)):
        print(f"  {planted:36}", "; ".join(f"{n} {verdict}: {short(answer)}" for (verdict, answer), n in table[planted].most_common()))
    print("several together")
    for r in results:
        if r["count"] > 1:
            print(f"  {r['planted']:64} {r['verdict']}: {short(r['answer'])}")
    print("verdicts")
    order = ["named", "several", "partly", "right", "missed", "false alarm", "WRONG", "BROKEN"]
    groups = {"alone": [r for r in results if r["count"] == 1], "pairs": [r for r in results if r["kind"] == "pair"],
              "one axis": [r for r in results if r["kind"] == "clash"], "three": [r for r in results if r["kind"] == "triple"],
              "no fault": [r for r in results if r["kind"] == "nothing"], "not covered": [r for r in results if r["kind"] == "uncovered"]}
    print(f"  {'':12}" + "".join(f"{name:>12}" for name in order))
    for name, members in groups.items():
        print(f"  {name:12}" + "".join(f"{sum(r['verdict'] == v for r in members):12}" for v in order))
    for r in results:
        if r["verdict"] in ("WRONG", "BROKEN", "missed", "false alarm") or r["problems"]:
            print(f"seed {r['seed']}: {r['verdict']} ({r['remark']}): planted {r['planted']}, answered {r['answer']}")
            for text in r["problems"]:
                print(f"    {text}")
            print(f"    {r['sentence']}")
    broken = [r for r in results if r["verdict"] in ("WRONG", "BROKEN") or r["problems"]]
    print(f"{len(results)} seeds, {len(broken)} bad")
    return not broken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True, help="drift-audit")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--ranks", action="store_true", help="also under mpirun, with each seed's topology")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--keep", help="keep dumps and reports in this folder")
    options = parser.parse_args()
    options.binary = str(pathlib.Path(options.binary).resolve())
    np.seterr(over="ignore", divide="ignore", under="ignore")
    check_maths()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda seed: one_seed(seed, options), range(options.seed, options.seed + options.count)))
    sys.exit(0 if print_results(results) else 1)


if __name__ == "__main__":
    main()
