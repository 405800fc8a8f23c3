// sigma of spread_of against what it claims to be: logits that were rounded to their dtype, over and over.

#include <cmath>
#include <random>
#include <vector>

#include "kernels/row_moments.hpp"
#include "kernels/stored_rows.hpp"
#include "support/catch.hpp"

using namespace drift;
using test::StoredRows;

namespace {

constexpr std::size_t vocab = 300, target = 123;

struct Setting {
  const char* name;
  double spread;     ///< standard deviation of the true logits
  double advantage;  ///< added to the target's
};
constexpr Setting settings[] = {
    {"flat", 0.3, 0}, {"usual", 3, 2}, {"sharp", 12, 0}, {"confident target", 3, 18}, {"sure target", 3, 40}};

/// log softmax(x / T)[target] in fp64, without the maximum's own rounding: log1p keeps a confident target's
/// digits.
double log_prob(const std::vector<double>& x, double temperature) {
  double others = 0, largest = -1e300;
  for (std::size_t v = 0; v < x.size(); ++v)
    if (v != target) largest = std::max(largest, (x[v] - x[target]) / temperature);
  for (std::size_t v = 0; v < x.size(); ++v)
    if (v != target) others += std::exp((x[v] - x[target]) / temperature - std::max(largest, 0.0));
  return largest <= 0 ? -std::log1p(others) : -(largest + std::log(others + std::exp(-largest)));
}

double sigma_of(const std::vector<float>& row, Dtype dtype, float temperature) {
  const StoredRows stored(dtype, std::vector<std::vector<float>>{row}, vocab);
  LogitsView view = stored.view();
  view.rule.temperature = temperature;
  RowMoments moments;
  cpu::row_moments(view, &moments);
  return spread_of(moments, value_of(row[target], view.rule), ulp_of(dtype, row[target]) / temperature).sigma;
}

}  // namespace

TEST_CASE(
    "sigma: rows of random logits, rounded: the log-prob's error over sigma has mean 0 and variance 1") {
  constexpr int draws = 2500;
  std::mt19937_64 random(20);
  std::normal_distribution<double> normal;
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32})
    for (const float temperature : {1.0f, 0.7f, 1.6f})
      for (const Setting& setting : settings) {
        INFO(name(dtype) << ", T " << temperature << ", " << setting.name);
        double sum = 0, squares = 0, fourth = 0;
        for (int i = 0; i < draws; ++i) {
          std::vector<double> truth(vocab), rounded;
          std::vector<float> row;
          for (double& x : truth) x = 1.7 + setting.spread * normal(random);
          truth[target] += setting.advantage;
          for (const double x : truth) {
            row.push_back(rounded_to(dtype, static_cast<float>(x)));
            rounded.push_back(static_cast<double>(row.back()));
          }
          const double wide = static_cast<double>(temperature);
          const double z =
              (log_prob(rounded, wide) - log_prob(truth, wide)) / sigma_of(row, dtype, temperature);
          sum += z;
          squares += z * z;
          fourth += z * z * z * z;
        }
        const double variance = squares / draws;
        const double sampling = std::sqrt((fourth / draws - variance * variance) / draws);
        CHECK(std::fabs(sum / draws) <= 4 / std::sqrt(draws));
        CHECK(std::fabs(variance - 1) <= 4 * sampling + 0.02);  // 2%: second order, cells at powers of two
      }
}

TEST_CASE(
    "sigma: one stored row, its true logits anywhere in their cells: the log-prob's standard deviation") {
  constexpr int draws = 4000;
  std::mt19937_64 random(21);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> half(-0.5, 0.5);
  for (const Dtype dtype : {Dtype::BF16, Dtype::F16, Dtype::F32})
    for (const float temperature : {1.0f, 0.7f})
      for (const Setting& setting : settings) {
        INFO(name(dtype) << ", T " << temperature << ", " << setting.name);
        std::vector<float> row;
        for (std::size_t v = 0; v < vocab; ++v)
          row.push_back(rounded_to(dtype, static_cast<float>(1.7 + setting.spread * normal(random) +
                                                             (v == target ? setting.advantage : 0))));
        std::vector<double> stored(row.begin(), row.end());
        const double wide = static_cast<double>(temperature), centre = log_prob(stored, wide);
        double squares = 0;
        for (int i = 0; i < draws; ++i) {
          std::vector<double> truth = stored;
          for (std::size_t v = 0; v < vocab; ++v)
            truth[v] += half(random) * static_cast<double>(ulp_of(dtype, row[v]));
          const double d = log_prob(truth, wide) - centre;
          squares += d * d;
        }
        const double measured = std::sqrt(squares / draws), sigma = sigma_of(row, dtype, temperature);
        CHECK(measured / sigma == Approx(1).margin(4 * std::sqrt(0.5 / draws) + 0.01));
      }
}
