#pragma once

/* A log-prob kernel of your own as a candidate of drift-audit: compile it into a shared object that exports
 * the two functions below, and run `drift-audit run DUMP --plugin ./my_kernel.so`. Usable from C11, C++ and
 * CUDA; needs nothing of drift-audit but this file. A worked example of each kind is in examples/plugin.
 *
 * What is to be computed. Row r of the dump has stored logits x, V real columns and a target t:
 *
 *     lse  = log(sum over v < V of exp(y_v))        logp = y_t - lse        both fp32, in nats
 *
 * where y is the value that every candidate and the oracle see:
 *   1. widen    the stored element to fp32 (F64: rounded once, to nearest even)
 *   2. round    to `rounded_dtype`, if that differs from `dtype`
 *   3. divide   by `temperature`, if it is not 1, in the given order
 *   4. judge    below -2^30 counts as -inf (a mask, which adds nothing), above 2^30 as +inf
 *
 * A row with NaN or +inf, or with -inf everywhere, has no number: what you write there is not looked at.
 *
 * How it is called. Once per chunk of rows, on every rank of a tensor-parallel (TP) group in step, always
 * from the same thread. Not honouring the contract is an error that names your plug-in: exit status 5 for
 * what it returns, throws or crashes with, for writing outside its outputs or into its host inputs; 6 if the
 * ranks of a TP group return different bits or do not call the same collectives; 7 if it neither returns nor
 * calls back for ten minutes. Wrong numbers are drift: exit status 1. Do not call exit(). */

#include <stddef.h>
#include <stdint.h>

/* The one conditional of the project: this header is for other languages too. */
#ifdef __cplusplus
extern "C" {
#endif

/* Grows by one when a plug-in that was compiled before would no longer be called rightly. New members go to
 * the end of a struct and leave it as it is: `struct_size` tells which are there. */
enum { DRIFT_PLUGIN_ABI = 1 };

/* Bits, so that a plug-in can accept several. */
enum { DRIFT_MEMORY_HOST = 1, DRIFT_MEMORY_CUDA = 2 };
enum { DRIFT_DTYPE_BF16 = 1, DRIFT_DTYPE_F16 = 2, DRIFT_DTYPE_F32 = 4, DRIFT_DTYPE_F64 = 8 };
enum {
  DRIFT_TEMPERATURE_F32 = 1,       /* fp32(x) / fp32(T), true division */
  DRIFT_TEMPERATURE_NATIVE = 2,    /* T, then the quotient, rounded to rounded_dtype */
  DRIFT_TEMPERATURE_RECIPROCAL = 4 /* fp32(x) * fp32(1 / fp32(T)) */
};

/* What the plug-in is. All of it is zero when drift_plugin_describe is called, but for struct_size. Strings
 * are copied. */
struct drift_plugin_info {
  /* Bytes of this struct in the program that calls. */
  uint32_t struct_size;
  /* Set it to DRIFT_PLUGIN_ABI. */
  uint32_t abi;
  /* The candidate's id in reports: 1 to 40 of a-z, 0-9 and '-', and not the id of a built-in formula. */
  const char* name;
  /* One line for people, or NULL. */
  const char* summary;
  /* What no bit depends on, separated by commas, or NULL: tp (degree), bounds (of shards), padded-width, rows
   * (which others there are), chunking, backend (host or cuda), replicated. */
  const char* claims;
  /* DRIFT_MEMORY_* that it computes in; one at least. */
  uint32_t memories;
  /* DRIFT_DTYPE_* of stored logits that it reads; one at least. */
  uint32_t dtypes;
  /* DRIFT_DTYPE_* that it can round values to; 0: it takes logits as stored. */
  uint32_t rounds_to;
  /* DRIFT_TEMPERATURE_* that it knows; 0: temperature 1 only. */
  uint32_t temperature_orders;
  /* 0: it gets its TP rank's shard. 1: every rank gets all columns, and nothing is left to merge. */
  uint32_t wants_whole_rows;
  /* What its logp was rounded to before it became fp32; 0: nothing, DRIFT_DTYPE_F32. */
  uint32_t output_dtype;
  /* The largest error of lse and of logp in nats, beside the oracle's own. 0: the default for fp32 kernels,
   * which allows for 512 partial sums a shard (lib/plugin/default_bound.hpp). */
  double lse_bound;
  double logp_bound;
};

/* One chunk of rows on one rank. Every pointer is into `memory` unless it says otherwise, and valid during
 * the call. */
struct drift_plugin_call {
  uint32_t struct_size;
  uint32_t abi;
  /* DRIFT_MEMORY_HOST or DRIFT_MEMORY_CUDA. */
  uint32_t memory;
  /* Of `logits`: one DRIFT_DTYPE_*. */
  uint32_t dtype;
  /* Values are rounded to it after widening; equal to `dtype`, or DRIFT_DTYPE_F32: nothing is rounded. */
  uint32_t rounded_dtype;
  /* One DRIFT_TEMPERATURE_*; without meaning where the temperature is 1. */
  uint32_t temperature_order;
  /* > 0, finite; the same for all rows of the call. */
  float temperature;
  /* 0 and 1 with wants_whole_rows. */
  int32_t tp_rank;
  int32_t tp_size;
  uint32_t reserved;

  /* >= 1. */
  int64_t rows;
  /* Elements from one row of `logits` to the next, >= column_end - column_begin. */
  int64_t pitch;
  /* The columns of the padded vocabulary that are in `logits`: [begin, end), which may be empty. */
  int64_t column_begin;
  int64_t column_end;
  /* V: columns from here on are padding, whatever they hold. */
  int64_t vocab;
  /* Where the last shard ends. */
  int64_t padded_vocab;
  /* Numbers, in the dump, of the first and the last row of this call. */
  int64_t first_row;
  int64_t last_row;
  /* Host memory, [tp_size + 1]: shard i is [vocab_bounds[i], vocab_bounds[i + 1]). */
  const int64_t* vocab_bounds;

  /* (r, c) is element r * pitch + (c - column_begin), aligned to an element. Not to be written: other
   * candidates read it too. */
  const void* logits;
  /* [rows] a column of the whole vocabulary, < vocab; -1: the row has none. */
  const int64_t* targets;
  /* [rows] in the dump. */
  const int64_t* row_numbers;
  /* [rows] out. */
  float* lse;
  /* [rows] out; rows without a target are ignored. */
  float* logp;
  /* The cudaStream_t of the call's device, which is current; NULL in host memory. Work may be left queued on
   * it. */
  void* stream;

  /* The TP group over this run's transport (MPI through the host, or NCCL), in `memory`. All ranks call
   * the same ones in the same order with the same sizes, which is checked, from the thread that was called. What was queued on `stream` comes
   * before, what is queued later sees the result. 0, or not 0 after a failure: clean up and return; the run
   * knows why. `group` goes in front. */
  void* group;
  /* all[i * bytes ...] = rank i's `mine`. */
  int (*all_gather)(void* group, const void* mine, void* all, int64_t bytes);
  /* In place. */
  int (*all_reduce_max)(void* group, float* values, int64_t count);
  /* In place; ((r0 + r1) + r2) + ... except with NCCL, where the order is NCCL's. */
  int (*all_reduce_sum)(void* group, float* values, int64_t count);
  /* Scratch in `memory`, aligned to 64 bytes at least, gone when the call has ended. NULL: none is left,
   * return. */
  void* (*allocate)(void* group, int64_t bytes);
};

/* The two functions to export. Not 0 from the first: the plug-in does not want to be used here. */
int drift_plugin_describe(struct drift_plugin_info* info);
/* Not 0 is an error; then `message` (UTF-8, [message_bytes] with the NUL) says what is wrong. */
int drift_plugin_log_prob(const struct drift_plugin_call* call, char* message, size_t message_bytes);

#ifdef __cplusplus
}
#endif
