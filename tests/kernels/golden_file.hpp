#pragma once

// golden_tree.tsv: the bits of golden_rows.hpp's rows. name, V, s bits, n, bits of fp32(LSE).

#include <cmath>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <limits>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/golden_rows.hpp"
#include "kernels/golden_tree.hpp"

namespace golden {

struct Bits {
  std::string name;
  std::size_t vocab = 0;
  std::uint32_t s = 0;
  long n = 0;
  std::uint32_t lse = 0;
  friend bool operator==(const Bits&, const Bits&) = default;
};

inline std::string file_name() { return std::string(DRIFT_SOURCE_DIR) + "/tests/kernels/golden_tree.tsv"; }

inline Bits bits_of(const Row& row) {
  const Node all = root(row.x);
  const long double lse = all.s == 0 ? -std::numeric_limits<long double>::infinity() : log(all);
  return {row.name, row.x.size(), std::bit_cast<std::uint32_t>(all.s), all.n,
          std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<double>(lse)) + 0.0f)};
}

inline void write_bits(std::ostream& out) {
  out << std::setfill('0');
  for (const Row& row : rows()) {
    const Bits bits = bits_of(row);
    out << bits.name << '\t' << bits.vocab << '\t' << std::hex << std::setw(8) << bits.s << std::dec << '\t'
        << bits.n << '\t' << std::hex << std::setw(8) << bits.lse << std::dec << '\n';
  }
}

inline std::vector<Bits> read_bits() {
  std::ifstream file(file_name());
  std::vector<Bits> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Bits bits;
    std::getline(fields, bits.name, '\t');
    fields >> bits.vocab >> std::hex >> bits.s >> std::dec >> bits.n >> std::hex >> bits.lse;
    out.push_back(bits);
  }
  return out;
}

}  // namespace golden
