// Collective through host memory: over MPI when ranks share a GPU or have none. Sums are added in rank order,
// so a result depends on the values alone and is the same on every rank.

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "comm/collective.hpp"

namespace drift {
namespace {

constexpr std::int64_t staging_bytes = std::int64_t{16} << 20;
constexpr std::int64_t smallest_piece = std::int64_t{64} << 10;  // with many ranks: below, latency would rule

/// Throws unless size * bytes is a size; returns bytes.
std::int64_t checked_payload(std::int64_t bytes, std::int64_t size) {
  std::int64_t total = 0;
  require(bytes >= 0 && !__builtin_mul_overflow(bytes, size, &total), Fault::internal,
          "a payload's size is no size (it would not fit an address space), seen " + std::to_string(bytes) +
              " bytes from " + std::to_string(size) + " rank(s), wanted 0 to 2^63 - 1 in all");
  return bytes;
}

class StagedCollective final : public Collective {
 public:
  StagedCollective(Backend& on, Control& tp) : on_(on), tp_(tp) {}

  int rank() const override { return tp_.rank(); }
  int size() const override { return tp_.size(); }
  std::string_view transport() const override { return "mpi"; }

  void all_gather(const void* mine, void* all, std::int64_t bytes) override {
    checked_payload(bytes, size());
    if (on_.host_memory()) {
      tp_.all_gather(mine, all, bytes);
      return;
    }
    const auto* from = static_cast<const std::byte*>(mine);
    auto* to = static_cast<std::byte*>(all);
    std::int64_t done = 0;
    do {  // also with nothing to send: a collective in which a rank is missing shall not pass unnoticed
      const std::int64_t piece = std::min(bytes - done, piece_bytes());
      const std::byte* gathered = gather_piece(from + done, piece);
      for (int r = 0; r < size(); ++r) upload(gathered + r * piece, to + r * bytes + done, piece);
      done += piece;
    } while (done < bytes);
  }

  void all_reduce(float* values, std::int64_t count, Reduce op) override {
    std::int64_t bytes = 0;
    require(!__builtin_mul_overflow(count, std::int64_t{sizeof(float)}, &bytes), Fault::internal,
            "too many values to reduce, seen " + std::to_string(count));
    checked_payload(bytes, size());
    const std::int64_t step = piece_bytes() / std::int64_t{sizeof(float)};
    std::int64_t done = 0;
    do {
      const std::int64_t part = std::min(count - done, step), part_bytes = part * std::int64_t{sizeof(float)};
      gather_piece(values + done, part_bytes);
      fold(gathered_.as<float>(), part, op);
      upload(gathered_.data(), values + done, part_bytes);
      done += part;
    } while (done < count);
  }

 private:
  std::int64_t piece_bytes() const {
    return std::max(staging_bytes / size(), smallest_piece) & ~std::int64_t{63};
  }

  /// Every rank's `mine`, one after the other, in host memory that lasts until the next call.
  const std::byte* gather_piece(const void* mine, std::int64_t bytes) {
    reserve(gathered_, bytes * size());
    if (!on_.host_memory() && bytes > 0) {
      reserve(sent_, bytes);
      on_.download(mine, sent_.data(), bytes);
      mine = sent_.data();
    }
    tp_.all_gather(mine, gathered_.data(), bytes);
    return gathered_.data();
  }

  void upload(const std::byte* host, void* to, std::int64_t bytes) {
    if (bytes > 0) on_.upload(host, to, bytes);  // of nothing, the pointers may be null
  }

  void reserve(Buffer& buffer, std::int64_t bytes) {
    if (buffer.bytes() >= bytes && buffer.data()) return;
    buffer = Buffer();  // first, so that both are never held at once
    buffer = on_.allocate_host(std::max(bytes, smallest_piece));
  }

  /// parts[i] = ((parts[i] + parts[count + i]) + parts[2 count + i]) + ..., or the largest of them.
  void fold(float* parts, std::int64_t count, Reduce op) const {
    for (int r = 1; r < size(); ++r) {
      const float* next = parts + r * count;
      if (op == Reduce::sum)
        for (std::int64_t i = 0; i < count; ++i) parts[i] += next[i];
      else
        for (std::int64_t i = 0; i < count; ++i) parts[i] = next[i] > parts[i] ? next[i] : parts[i];
    }
  }

  Backend& on_;
  Control& tp_;
  Buffer sent_, gathered_;
};

}  // namespace

std::unique_ptr<Collective> make_staged_collective(Backend& on, Control& tp) {
  return std::make_unique<StagedCollective>(on, tp);
}

}  // namespace drift
