// The metrics against values worked out elsewhere: a fixture by hand, a plain long double evaluation of the
// published formulas, and the edges where an exponential leaves fp64.

#include "stats/mismatch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "stats/token_terms.hpp"
#include "support/catch.hpp"

using namespace drift;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Columns {
  std::vector<float> train, rollout;
  std::vector<std::uint8_t> use;
  std::vector<Range> sequences;

  Mismatch metrics() const { return mismatch_of(train, rollout, use, sequences); }
};

Columns one_sequence(std::vector<float> train, std::vector<float> rollout) {
  const auto rows = static_cast<std::int64_t>(train.size());
  return {train, rollout, std::vector<std::uint8_t>(train.size(), 1), {{0, rows}}};
}

Columns by_hand() {
  Columns out = one_sequence({-.5f, -1.0f, -2.0f, -.25f, -3.0f}, {-.5f, -1.25f, -1.0f, -.25f, -.1f});
  out.use[4] = 0;
  return out;
}

/// Sequences of lengths 1 to 40, a tenth of the rows left out, drift of every size from 1e-7 to about 1.
Columns random_columns(unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<float> logp(0.7f);
  std::normal_distribution<float> normal;
  Columns out;
  for (int s = 0; s < 30; ++s) {
    const auto begin = static_cast<std::int64_t>(out.train.size());
    const int length = 1 + static_cast<int>(random() % 40);
    for (int i = 0; i < length; ++i) {
      const float b = -logp(random), size = std::pow(10.0f, -static_cast<float>(random() % 8));
      out.rollout.push_back(b);
      out.train.push_back(random() % 5 == 0 ? b : b + size * normal(random));
      out.use.push_back(random() % 10 != 0);
    }
    out.sequences.push_back({begin, static_cast<std::int64_t>(out.train.size())});
  }
  return out;
}

bool near(double seen, double wanted, double relative = 1e-12) {
  return seen == wanted || std::fabs(seen - wanted) <= relative * std::fabs(wanted);
}

void check_near(const char* what, double seen, double wanted, double relative = 1e-12) {
  INFO(what << ": seen " << seen << ", wanted " << wanted);
  CHECK(near(seen, wanted, relative));
}

/// The published formulas as they stand, in long double; the differences of tiny terms lose digits, so that
/// only 1e-9 is asked of them.
std::map<std::string, double> plainly(const Columns& in) {
  using Real = long double;
  std::vector<Real> d, a, b;
  Real n = 0, sequences = 0;
  std::map<std::string, Real> sum, least, greatest;
  const auto extent = [&](const std::string& key, Real x) {
    sum[key] += x;
    least[key] = least.contains(key) ? std::min(least[key], x) : x;
    greatest[key] = greatest.contains(key) ? std::max(greatest[key], x) : x;
  };
  for (const Range& range : in.sequences) {
    Real count = 0, sa = 0, sb = 0, sd = 0, sd_abs = 0, sk2 = 0, sk3 = 0, sk3r = 0, sjs = 0, sm = 0, sr = 0,
         sw = 0;
    for (auto i = static_cast<std::size_t>(range.begin); i < static_cast<std::size_t>(range.end); ++i) {
      if (!in.use[i]) continue;
      const Real x = in.train[i], y = in.rollout[i], z = x - y, m = std::log((std::exp(x) + std::exp(y)) / 2);
      a.push_back(x), b.push_back(y), d.push_back(z);
      ++count;
      sa += x, sb += y, sd += z, sd_abs += std::fabs(z), sk2 += z * z / 2;
      sk3 += std::exp(z) - z - 1, sk3r += std::exp(-z) + z - 1;
      sjs += (std::exp(x - m) - (x - m) - 1) / 2 + (std::exp(y - m) - (y - m) - 1) / 2;
      sm += std::exp(std::fabs(z)), sr += std::exp(z), sw += std::min<Real>(std::exp(z), 2);
      sum["chi2"] += std::exp(2 * z);
    }
    if (count == 0) continue;
    n += count, ++sequences;
    sum["d_abs"] += sd_abs / count, sum["k3s"] += sk3 / count, sum["k3rs"] += sk3r / count,
        sum["jss"] += sjs / count;
    sum["k2"] += sk2, sum["k3"] += sk3, sum["k3r"] += sk3r, sum["js"] += sjs;
    sum["chi2_seq"] += std::exp(2 * sd);
    sum["train_ppl"] += std::exp(-sa / count), sum["rollout_ppl"] += std::exp(-sb / count);
    sum["train_log_ppl"] -= sa / count, sum["log_ppl_abs_diff"] += std::fabs(sd / count);
    extent("log_ppl", -sd / count), extent("ratio", sd), extent("geometric", std::exp(sd / count));
    extent("mult", sm / count), extent("weight", sw / count);
    sum["ppl_ratio"] += std::exp(-sd / count), sum["ratio_seq"] += sr / count;
  }
  const auto mean = [&](auto f) {
    Real total = 0;
    for (std::size_t i = 0; i < d.size(); ++i) total += f(i);
    return total / n;
  };
  const Real mean_abs = mean([&](std::size_t i) { return std::fabs(d[i]); });
  const auto prob = [&](const std::vector<Real>& x, std::size_t i) { return std::exp(x[i]); };
  const auto gap = [&](std::size_t i) { return std::fabs(prob(a, i) - prob(b, i)); };
  const auto weight = [&](std::size_t i) { return std::min<Real>(std::exp(d[i]), 2); };
  const Real pa = mean([&](std::size_t i) { return prob(a, i); }),
             pb = mean([&](std::size_t i) { return prob(b, i); });
  const Real gaps = mean(gap), weights = mean(weight),
             ratio = mean([&](std::size_t i) { return std::exp(d[i]); });
  const auto squares = [&](auto f, Real centre) {
    return mean([&](std::size_t i) { return std::pow(f(i) - centre, 2); });
  };
  const Real saa = squares([&](std::size_t i) { return prob(a, i); }, pa);
  const Real sbb = squares([&](std::size_t i) { return prob(b, i); }, pb);
  const Real sab = mean([&](std::size_t i) { return (prob(a, i) - pa) * (prob(b, i) - pb); });
  const auto share = [&](Real low, Real high) {
    return mean([&](std::size_t i) -> Real { return std::exp(d[i]) >= low && std::exp(d[i]) <= high; });
  };
  const std::map<std::string, Real> out{
      {"tokens", n},
      {"sequences", sequences},
      {"d_mean", mean([&](std::size_t i) { return d[i]; })},
      {"d_abs_mean", mean_abs},
      {"d_abs_std",
       std::sqrt(squares([&](std::size_t i) { return std::fabs(d[i]); }, mean_abs) * n / (n - 1))},
      {"d_abs_sum_of_sequence_means", sum["d_abs"]},
      {"d_abs_mean_of_sequence_means", sum["d_abs"] / sequences},
      {"k2", sum["k2"] / n},
      {"k3", sum["k3"] / n},
      {"k3_reverse", sum["k3r"] / n},
      {"js_divergence", sum["js"] / n},
      {"k3_mean_of_sequence_means", sum["k3s"] / sequences},
      {"k3_reverse_sum_of_sequence_means", sum["k3rs"]},
      {"js_mean_of_sequence_means", sum["jss"] / sequences},
      {"train_ppl", sum["train_ppl"] / sequences},
      {"rollout_ppl", sum["rollout_ppl"] / sequences},
      {"train_log_ppl", sum["train_log_ppl"] / sequences},
      {"train_ppl_all_tokens", std::exp(-mean([&](std::size_t i) { return a[i]; }))},
      {"rollout_ppl_all_tokens", std::exp(-mean([&](std::size_t i) { return b[i]; }))},
      {"log_ppl_diff", sum["log_ppl"] / sequences},
      {"log_ppl_abs_diff", sum["log_ppl_abs_diff"] / sequences},
      {"log_ppl_diff_max", greatest["log_ppl"]},
      {"log_ppl_diff_min", least["log_ppl"]},
      {"ppl_ratio", sum["ppl_ratio"] / sequences},
      {"ppl_ratio_of_mean", std::exp(sum["log_ppl"] / sequences)},
      {"chi2_token", sum["chi2"] / n - 1},
      {"chi2_seq", sum["chi2_seq"] / sequences - 1},
      {"ratio_mean", ratio},
      {"ratio_std", std::sqrt(squares([&](std::size_t i) { return std::exp(d[i]); }, ratio))},
      {"ratio_mean_of_sequence_means", sum["ratio_seq"] / sequences},
      {"truncated_mean", weights},
      {"truncated_std", std::sqrt(squares(weight, weights))},
      {"ess", weights * weights / mean([&](std::size_t i) { return weight(i) * weight(i); })},
      {"truncated_seq_mean", sum["weight"] / sequences},
      {"truncated_seq_min", least["weight"]},
      {"truncated_seq_max", greatest["weight"]},
      {"clip_share", 1 - share(0.8L, 1.2L)},
      {"band_0_999_1_002", share(0.999L, 1.002L)},
      {"band_1_percent", share(0.99L, 1.01L)},
      {"band_5_percent", share(0.95L, 1.05L)},
      {"band_10_percent", share(0.9L, 1.1L)},
      {"seq_mult_prob_error_max", greatest["mult"]},
      {"seq_mult_prob_error_min", least["mult"]},
      {"seq_mult_prob_error_mean", sum["mult"] / sequences},
      {"token_mult_prob_error", mean([&](std::size_t i) { return std::exp(std::fabs(d[i])); })},
      {"prob_diff_mean", gaps},
      {"prob_diff_std", std::sqrt(squares(gap, gaps) * n / (n - 1))},
      {"prob_pearson", sab / std::sqrt(saa * sbb)},
      {"seq_log_ratio_mean", sum["ratio"] / sequences},
      {"seq_log_ratio_min", least["ratio"]},
      {"seq_log_ratio_max", greatest["ratio"]},
      {"geometric_ratio_mean", sum["geometric"] / sequences},
      {"geometric_ratio_min", least["geometric"]},
      {"geometric_ratio_max", greatest["geometric"]}};
  std::map<std::string, double> rounded;
  for (const auto& [key, value] : out) rounded[key] = static_cast<double>(value);
  return rounded;
}

double named(const Mismatch& m, const std::string& key) {
  for (const Metric& metric : mismatch_metrics())
    if (metric.key == key) return m.*metric.value;
  throw std::logic_error("there is no metric " + key);
}

}  // namespace

TEST_CASE("mismatch: a fixture by hand, digit by digit") {
  const Mismatch m = by_hand().metrics();
  const std::vector<std::pair<const char*, double>> wanted{
      {"d_abs_mean", .3125},
      {"d_abs_max", 1},
      {"d_mean", -.1875},
      {"k1", .1875},
      {"k1_reverse", -.1875},
      {"k2", .1328125},
      {"k3", .10047621446479593},
      {"k3_reverse", .18677065288261252},
      {"token_mult_prob_error", 1.5005768112866966},
      {"ratio_mean", .9129762144647959},
      {"ratio_mean_of_sequence_means", .9129762144647959},
      {"chi2_token", -.05398586151581475},
      {"chi2_seq", std::exp(-1.5) - 1},
      {"seq_log_ratio_mean", -.75},
      {"geometric_ratio_mean", .8290291181804004},
      {"ess", .8810920833741887},
      {"prob_diff_max", .23254415793482963},
      {"prob_diff_mean", .07847970056152047},
      {"prob_diff_std", .1096393550472003},
      {"prob_pearson", .8795244986415253},
      {"share_over_ln2", .25},
      {"clip_share", .5},
      {"clip_share_high", .25},
      {"clip_share_low", .25},
      {"share_above_2", 0},
      {"share_below_half", .25},
      {"mismatch_count", 2},
      {"tokens", 4},
      {"sequences", 1},
      {"band_0_999_1_002", .5},
      {"train_ppl", 2.553589458062927},
      {"train_ppl_all_tokens", 2.553589458062927},
      {"rollout_ppl", 2.117000016612675},
      {"rollout_ppl_all_tokens", 2.117000016612675},
      {"train_log_ppl", .9375},
      {"log_ppl_diff", .1875},
      {"ppl_ratio", std::exp(.1875)}};
  for (const auto& [key, value] : wanted) check_near(key, named(m, key), value);
}

TEST_CASE("mismatch: a mask that is not applied shows") {
  Columns in = by_hand();
  in.use[4] = 1;
  const Mismatch m = in.metrics();
  check_near("d_abs_max", m.d_abs_max, 3.0 - static_cast<double>(0.1f));
  check_near("k3", m.k3, .47138561558311814, 1e-8);  // rollout is 0.1 rounded to fp32
}

TEST_CASE("mismatch: NeMo-RL's worked example, by the formula of its code") {
  const Mismatch m = one_sequence({-15}, {-5}).metrics();
  check_near("k3", m.k3, 9.000045399929762);
  check_near("k3_reverse", m.k3_reverse, 22015.465794806718);
  check_near("js", m.js_divergence, 4.3068982183392714);
}

TEST_CASE("mismatch: sequences of different lengths, against the formulas evaluated plainly") {
  for (const unsigned seed : {1u, 2u, 3u}) {
    const Columns in = random_columns(seed);
    const Mismatch m = in.metrics();
    for (const auto& [key, value] : plainly(in)) check_near(key.c_str(), named(m, key), value, 1e-9);
  }
}

TEST_CASE("mismatch: token means and means of sequence means differ, and each is what it says") {
  Columns in = one_sequence({-1, -1, -1, -2}, {-1, -1, -1, -1});
  in.sequences = {{0, 3}, {3, 4}};
  const Mismatch m = in.metrics();
  CHECK(m.sequences == 2);
  CHECK(m.d_abs_mean == .25);
  CHECK(m.d_abs_mean_of_sequence_means == .5);
  CHECK(m.d_abs_sum_of_sequence_means == 1);
  CHECK(m.k1 == .25);
  CHECK(m.k1_mean_of_sequence_means == .5);
  CHECK(m.log_ppl_diff_max == 1);
  CHECK(m.log_ppl_diff_min == 0);
  CHECK(m.seq_share_below_half == .5);
  CHECK(m.seq_band_1_percent == .5);
  CHECK(m.band_1_percent == .75);
}

TEST_CASE("mismatch: rows in another order within their sequences leave every metric as it was") {
  Columns in = random_columns(11);
  const Mismatch before = in.metrics();
  std::mt19937 random(3);
  for (const Range& range : in.sequences)
    for (std::int64_t i = range.end - 1; i > range.begin; --i) {
      const auto a = static_cast<std::size_t>(i);
      const auto b = static_cast<std::size_t>(
          range.begin + static_cast<std::int64_t>(random() % static_cast<unsigned>(i - range.begin + 1)));
      std::swap(in.train[a], in.train[b]);
      std::swap(in.rollout[a], in.rollout[b]);
      std::swap(in.use[a], in.use[b]);
    }
  const Mismatch after = in.metrics();
  for (const Metric& metric : mismatch_metrics())
    check_near(std::string(metric.key).c_str(), after.*metric.value, before.*metric.value, 1e-11);
}

TEST_CASE("mismatch: small differences keep their digits") {
  // d = 2^-20: exp(d) - d - 1 in fp64 would be right to 1e-4 only.
  const Mismatch m = one_sequence({-1 + 0x1p-20f, -1}, {-1, -1 + 0x1p-20f}).metrics();
  const long double d = 0x1p-20L;
  check_near(
      "k3", m.k3,
      static_cast<double>((d * d / 2 + d * d * d / 6 + d * d / 2 - d * d * d / 6) / 2 + d * d * d * d / 24));
  check_near("js", m.js_divergence, static_cast<double>(d * d / 8 - d * d * d * d / 192));
  check_near("chi2", m.chi2_token, static_cast<double>((std::expm1(2 * d) + std::expm1(-2 * d)) / 2), 1e-9);
  check_near("prob_diff", m.prob_diff_max, static_cast<double>(std::exp(-1.0L) * std::expm1(d)));
  CHECK(one_sequence({-1, -2}, {-1, -2}).metrics().k3 == 0);
}

TEST_CASE("mismatch: the terms of a token agree with long double on both sides of every branch") {
  for (const double d : {1e-7, 0x1p-10, 0.0624, 0.0625, 0.0626, 0.5, 1.0, 19.0, 25.0, 300.0})
    for (const double b : {-1e-3, -1.0, -30.0, -690.0, -705.0})
      for (const double sign : {1.0, -1.0}) {
        const double a = b + sign * d;
        const TokenTerms t = terms_of(a, b);
        const auto x = static_cast<long double>(a) - static_cast<long double>(b);
        INFO("a " << a << " b " << b);
        CHECK(near(t.ratio, static_cast<double>(std::exp(x)), 2e-15));
        CHECK(near(t.inverse, static_cast<double>(std::exp(-x)), 2e-15));
        CHECK(near(t.ratio_less_1, static_cast<double>(std::expm1(x)), 1e-14));
        if (std::fabs(d) > 1e-3) {
          CHECK(near(t.k3, static_cast<double>(std::expm1(x) - x), 1e-12));
          CHECK(near(t.k3_reverse, static_cast<double>(std::expm1(-x) + x), 1e-12));
          CHECK(near(t.js, static_cast<double>(std::log(std::cosh(x / 2))), 1e-12));
        }
        CHECK(near(t.prob_diff,
                   static_cast<double>(std::exp(static_cast<long double>(b)) * std::fabs(std::expm1(x))),
                   1e-13));
      }
}

TEST_CASE("mismatch: ratios that fp64 cannot hold are infinite, and nothing becomes NaN") {
  const Mismatch up = one_sequence({0, -1, -1e4f}, {-1e4f, -1, 0}).metrics();
  for (const Metric& metric : mismatch_metrics()) {
    INFO(metric.key);
    const bool lone = metric.key == "truncated_seq_std";  // of one sequence
    CHECK(std::isnan(up.*metric.value) == lone);
  }
  CHECK(up.k3 == infinity);
  CHECK(up.ratio_max == infinity);
  CHECK(up.ratio_mean == infinity);
  CHECK(up.ratio_std == infinity);
  CHECK(up.ratio_min == 0);
  CHECK(up.token_mult_prob_error == infinity);
  check_near("js", up.js_divergence, 2 * (5000 - std::log(2.0)) / 3);
  CHECK(up.truncated_mean == (2 + 1 + std::exp(-20.0)) / 3);
  check_near("chi2", up.chi2_token, (std::exp(40.0) + std::exp(-40.0) + 1) / 3 - 1);
  CHECK(up.k1 == 0);
  CHECK(up.prob_diff_max == 1);

  const Mismatch no_probabilities =
      one_sequence({1e4f, 1e4f, -1}, {9e3f, 1e4f, -1}).metrics();  // no log-probs at all
  CHECK(no_probabilities.prob_diff_max == infinity);
  CHECK(no_probabilities.prob_diff_mean == infinity);
  CHECK(std::isnan(no_probabilities.prob_pearson));
  CHECK(no_probabilities.d_abs_max == 1e3);
}

TEST_CASE("mismatch: values that are not finite are left out") {
  constexpr float nan32 = std::numeric_limits<float>::quiet_NaN(),
                  inf32 = std::numeric_limits<float>::infinity();
  const Mismatch m = one_sequence({-1, nan32, -2, -inf32}, {-1.5f, -1, inf32, -1}).metrics();
  CHECK(m.tokens == 1);
  CHECK(m.d_abs_mean == .5);
  CHECK(std::isnan(m.d_abs_std));  // one value has no deviation
}

TEST_CASE("mismatch: nothing compared gives NaN for everything but the counts") {
  Columns masked = one_sequence({-1}, {-2});
  masked.use[0] = 0;
  for (const Columns& in : {masked, Columns{}}) {
    const Mismatch m = in.metrics();
    for (const Metric& metric : mismatch_metrics()) {
      INFO(metric.key);
      if (metric.key == "tokens" || metric.key == "sequences" || metric.key == "mismatch_count")
        CHECK(m.*metric.value == 0);
      else
        CHECK(std::isnan(m.*metric.value));
    }
  }
}

TEST_CASE("mismatch: a sequence with no compared token counts nowhere") {
  Columns in = one_sequence({-1, -1, -2}, {-1, -5, -1});
  in.sequences = {{0, 1}, {1, 2}, {2, 2}, {2, 3}};
  in.use[1] = 0;
  const Mismatch m = in.metrics();
  CHECK(m.sequences == 2);
  CHECK(m.d_abs_mean_of_sequence_means == .5);
  CHECK(m.geometric_ratio_min == std::exp(-1.0));
}

TEST_CASE("mismatch: columns or sequences that do not fit are a broken invariant") {
  const auto refused = [](const Columns& in) {
    try {
      in.metrics();
    } catch (const Error& error) {
      return error.fault() == Fault::internal;
    }
    return false;
  };
  Columns in = by_hand();
  in.train.pop_back();
  CHECK(refused(in));
  for (const std::vector<Range>& sequences : {std::vector<Range>{},
                                              {{0, 4}},
                                              {{0, 6}},
                                              {{1, 5}},
                                              {{0, 3}, {2, 5}},
                                              {{0, 2}, {3, 5}},
                                              {{0, -1}, {-1, 5}}}) {
    in = by_hand();
    in.sequences = sequences;
    CHECK(refused(in));
  }
}

TEST_CASE("mismatch: every field is one metric with a key of its own and a formula") {
  std::set<std::string_view> keys;
  for (const Metric& metric : mismatch_metrics()) {
    INFO(metric.key);
    CHECK(keys.insert(metric.key).second);
    CHECK(metric.key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos);
    CHECK_FALSE(metric.formula.empty());
    CHECK(metric.formula.find('\n') == std::string_view::npos);
  }
  CHECK(mismatch_metrics().size() * sizeof(double) == sizeof(Mismatch));
  Mismatch marked;
  double next = 1;
  for (const Metric& metric : mismatch_metrics()) marked.*metric.value = next++;
  next = 1;
  for (const Metric& metric : mismatch_metrics()) CHECK(marked.*metric.value == next++);  // no field twice
}

TEST_CASE("mismatch: frameworks find their numbers under their own names") {
  const Mismatch m = by_hand().metrics();
  std::map<std::string, double> seen;
  std::set<std::string_view> frameworks;
  for (const FrameworkMetric& metric : framework_metrics()) {
    frameworks.insert(metric.framework);
    CHECK(
        seen.emplace(std::string(metric.framework) + " " + std::string(metric.name), metric.value(m)).second);
  }
  CHECK(frameworks == std::set<std::string_view>{"verl", "nemo", "slime", "trl", "skyrl"});
  const std::vector<std::pair<const char*, double>> wanted{
      {"verl rollout_corr/k3_kl", .10047621446479593},
      {"verl rollout_corr/kl", .1875},
      {"verl rollout_corr/chi2_token", -.05398586151581475},
      {"verl rollout_corr/rollout_is_eff_sample_size", .8810920833741887},
      {"verl rollout_corr/rollout_is_max", std::exp(.25)},
      {"verl rollout_corr/rollout_is_min", std::exp(-1.0)},
      {"verl rollout_corr/training_ppl", 2.553589458062927},
      {"verl training/rollout_probs_diff_max", .23254415793482963},
      {"verl training/rollout_probs_diff_std", .1096393550472003},
      {"verl training/rollout_actor_probs_pearson_corr", .8795244986415253},
      {"verl training/rollout_logprobs_mismatch_count", 2},
      {"nemo train/gen_kl_error", .10047621446479593},
      {"nemo train/policy_kl_error", .18677065288261252},
      {"nemo train/token_mult_prob_error", 1.5005768112866966},
      {"nemo train/sampling_importance_ratio", .9129762144647959},
      {"nemo train/max_seq_mult_prob_error", 1.5005768112866966},
      {"slime train/train_rollout_logprob_abs_diff", .3125},
      {"slime train/tis", .9129762144647959},
      {"slime train/tis_clipfrac", 0},
      {"trl sampling/sampling_logp_difference/mean", .3125},
      {"trl sampling/importance_sampling_ratio/max", std::exp(.25)},
      {"skyrl policy/rollout_train_logprobs_abs_diff_mean", .3125},
      {"skyrl policy/rollout_train_logprobs_abs_diff_max", 1}};
  for (const auto& [name, value] : wanted) {
    REQUIRE(seen.contains(name));
    check_near(name, seen[name], value);
  }
  const Mismatch far = one_sequence({-100, -1}, {-1, -100}).metrics();
  for (const FrameworkMetric& metric : framework_metrics()) {
    if (metric.name == "rollout_corr/rollout_is_max") CHECK(metric.value(far) == 2);
    if (metric.name == "rollout_corr/rollout_is_min") CHECK(metric.value(far) == std::exp(-20.0));
  }
}
