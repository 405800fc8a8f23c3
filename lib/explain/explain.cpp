#include "explain/explain.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.hpp"
#include "explain/forms.hpp"
#include "explain/looks.hpp"
#include "explain/parts.hpp"
#include "explain/search.hpp"
#include "explain/sentence.hpp"

namespace drift {
namespace {

using namespace hypothesis;

// Bits of evidence, after the cost of choosing: a wrong hypothesis gets that far once in 2^8 dumps at most.
constexpr double enough_bits = 8;
// A row hit by chance under noise is worth some bits only; rows hit to fp32 arithmetic are worth about 20
// each.
constexpr double tie_exact_bits = 4, tie_noise_bits = 15;

void check(const Survey& survey, std::span<const float> recorded) {
  const auto rows = static_cast<std::size_t>(survey.rows);
  require(survey.rows >= 0 && recorded.size() == rows && survey.use.size() == rows &&
              survey.active.size() == rows && !survey.variants.empty() && !survey.columns.empty(),
          Fault::internal,
          "a survey and the tensor to explain have different rows, seen " + std::to_string(recorded.size()) +
              ", wanted " + std::to_string(rows));
  for (const Variant& variant : survey.variants)
    require(variant.lse.size() == rows &&
                (variant.lse_of_padding.empty() || variant.lse_of_padding.size() == rows),
            Fault::internal, "variant " + variant.id + " of a survey lacks rows");
  for (const ColumnPick& pick : survey.columns)
    require(pick.stored.size() == rows && pick.column.size() == rows, Fault::internal,
            "column " + pick.id + " of a survey lacks rows");
}

Candidate candidate_of(const Survey& survey, const Scored& scored, const Baseline& baseline,
                       std::span<const float> recorded) {
  Candidate out;
  for (const Option* option : scored.hypothesis.at)
    if (!option->cause.id.empty()) out.causes.push_back(option->cause);
  const BestForm best = best_form(survey, scored.hypothesis, baseline.rows, recorded);
  out.variant = best.form.variant;
  out.with_padding = scored.hypothesis.with_padding();
  out.bits = best.bits;
  out.within = scored.score.within;
  out.residual_mean_abs = scored.score.sum_abs / std::fmax(1.0, static_cast<double>(baseline.rows.size()));
  out.residual_max_abs = scored.score.max_abs;
  out.formula = best.form.id;
  return out;
}

// What a hypothesis may leave. A cause that is another's near twin leaves much, or leaves it on one side.
bool leaves_little(const Scored& scored, std::int64_t drifting) {
  const Score& score = scored.score;
  if (score.explained == 0) return false;
  const std::int64_t left = score.unexplained + score.to_noise, hit = score.exactly + score.read;
  const bool on_lattice = scored.hypothesis[Axis::output].lattice != Dtype::F32;
  const bool is_chosen = std::any_of(scored.hypothesis.at.begin(), scored.hypothesis.at.end(),
                                     [](const Option* o) { return o->fitted; });
  if (is_chosen && scored.hypothesis[Axis::output].is_a_step_off) return false;
  // Among thousands of pairs and of numbers some come near by chance: these must hit the value itself, nearly
  // everywhere, and not only where the recorded value was given to them. Near misses speak against them.
  if (scored.hypothesis.causes() > 1 || is_chosen)
    return 20 * left <= hit && (score.to_noise == 0 || on_lattice) &&
           2 * score.exactly >= drifting - score.read &&
           (scored.hypothesis.causes() == 1 || score.exactly > 0);
  if (2 * left <= hit) return true;
  return score.clearly > 0 && 20 * score.unexplained <= score.clearly && !score.noise_signs.is_one_signed();
}

// Enough evidence over the log-probs as audited and over every simpler hypothesis, and little left.
bool is_convincing(const Scored& scored, const std::vector<Scored>& all, const Score& null,
                   std::int64_t drifting) {
  if (scored.net < null.bits() + enough_bits || !leaves_little(scored, drifting)) return false;
  return std::none_of(all.begin(), all.end(), [&](const Scored& simpler) {
    if (simpler.hypothesis.causes() >= scored.hypothesis.causes()) return false;
    const bool explains_as_much =
        simpler.score.explained >= scored.score.explained && simpler.score.within >= scored.score.within;
    return explains_as_much || simpler.net + enough_bits > scored.net;
  });
}

// A hypothesis that hits as many rows is an equal, however wide its predictions are.
bool explains_as_well(const Scored& other, const Scored& best, std::int64_t drifting) {
  if (other.hypothesis.causes() != best.hypothesis.causes() || !leaves_little(other, drifting)) return false;
  if (other.score.within >= best.score.within && other.score.explained >= best.score.explained &&
      other.score.lattice_bits >= best.score.lattice_bits)
    return true;
  const double exact =
      best.score.exact_bits + best.score.lattice_bits - other.score.exact_bits - other.score.lattice_bits;
  const double noise = best.score.noise_bits - other.score.noise_bits;
  return exact + noise <= tie_exact_bits || (exact <= tie_exact_bits && noise <= tie_noise_bits);
}

// The best and its equals. Bits decide among those that fp32 arithmetic cannot tell apart.
std::vector<const Scored*> equals_of(const std::vector<Scored>& scored, std::int64_t drifting) {
  std::vector<const Scored*> out;
  // The simplest convincing hypothesis comes first by its lower cost; `scored` is in order of net evidence.
  for (const Scored& other : scored)
    if (out.empty() || explains_as_well(other, *out.front(), drifting)) out.push_back(&other);
  return out;
}

void drop_worse_bits(std::vector<Candidate>& best, std::vector<const Scored*>& equals, std::int64_t rows) {
  std::int64_t most = 0;  // bits that were read off the recorded values outdo nobody's
  for (std::size_t i = 0; i < best.size(); ++i) most = std::max(most, best[i].bits - equals[i]->score.read);
  const std::int64_t margin = std::max<std::int64_t>(8, rows / 4);
  std::vector<Candidate> kept;
  std::vector<const Scored*> kept_scored;
  for (std::size_t i = 0; i < best.size(); ++i)
    if (best[i].bits + margin >= most) {
      kept.push_back(std::move(best[i]));
      kept_scored.push_back(equals[i]);
    }
  best = std::move(kept);
  equals = std::move(kept_scored);
}

// A value met once is evidence once, however many rows hold it.
constexpr std::int64_t few_values = 2;

std::int64_t distinct_values(const Baseline& baseline, std::span<const float> recorded) {
  std::set<float> values;
  for (const std::size_t row : baseline.rows)
    if (static_cast<std::int64_t>(values.size()) <= few_values) values.insert(recorded[row]);
  return static_cast<std::int64_t>(values.size());
}

// Of one or two values many causes fit: the simple ones that give every one of them to fp32 arithmetic.
std::vector<const Scored*> all_that_fit(const std::vector<Scored>& scored, std::int64_t drifting) {
  std::vector<const Scored*> out;
  for (const Scored& one : scored) {
    const Score& score = one.score;
    if (one.hypothesis.causes() == 1 && score.exactly == drifting && score.unexplained + score.to_noise == 0)
      out.push_back(&one);
  }
  return out;
}

void explain_drift(const Survey& survey, std::span<const float> recorded, const Baseline& baseline,
                   const Score& null, const std::vector<Scored>& scored, Explanation& out, Counts& counts,
                   Hypothesis& chosen) {
  // A pair may lead that is not convincing over the single it contains; the single then is the answer.
  const std::int64_t values = distinct_values(baseline, recorded);
  const bool is_few = values <= few_values;
  const auto first = std::find_if(scored.begin(), scored.end(), [&](const Scored& one) {
    return is_convincing(one, scored, null, out.drifting) && (!is_few || one.hypothesis.causes() == 1);
  });
  if (first != scored.end()) {
    std::vector<Scored> rest{*first};
    for (const Scored& other : scored)
      if (&other != &*first) rest.push_back(other);
    std::vector<const Scored*> equals =
        is_few ? all_that_fit(rest, out.drifting) : equals_of(rest, out.drifting);
    if (equals.empty()) equals.push_back(&rest.front());
    out.best.clear();
    for (const Scored* equal : equals) out.best.push_back(candidate_of(survey, *equal, baseline, recorded));
    if (!is_few) drop_worse_bits(out.best, equals, out.rows);
    out.finding = equals.size() == 1 && !is_few ? Finding::cause : Finding::several;
    counts.few_values = is_few ? values : 0;
    chosen = equals.front()->hypothesis;
    const Score& score = equals.front()->score;
    counts.explained = score.explained;
    counts.to_within = score.max_explained;
    counts.left = score.unexplained;
    counts.unpredicted = score.unpredicted;
    counts.left_to_noise =
        std::max<std::int64_t>(0, out.drifting - score.explained - score.unexplained - score.unpredicted);
  } else {
    counts.noise = noise_look(survey, baseline, recorded);
    out.finding = counts.noise.is_noise ? Finding::noise : Finding::nothing;
    if (out.finding == Finding::nothing) out.looks = looks_of(survey, baseline, recorded);
  }
  for (const Scored& other : scored) {
    if (out.others.size() == 8) break;
    if (other.score.explained == 0) continue;
    Candidate candidate = candidate_of(survey, other, baseline, recorded);
    const bool named = std::any_of(out.best.begin(), out.best.end(), [&](const Candidate& best) {
      return std::equal(best.causes.begin(), best.causes.end(), candidate.causes.begin(),
                        candidate.causes.end(), [](const Cause& a, const Cause& b) { return a.id == b.id; });
    });
    if (!named) out.others.push_back(std::move(candidate));
  }
}

}  // namespace

Explanation explain(const Survey& survey, std::span<const float> recorded) {
  check(survey, recorded);
  Explanation out;
  Counts counts;
  counts.logits_dtype = std::string(name(survey.variants[0].rule.stored));
  const Tables tables = tables_of(survey, recorded);
  const Hypothesis null = null_of(tables);
  const Baseline baseline = baseline_of(survey, null, recorded);
  out.rows = static_cast<std::int64_t>(baseline.rows.size());
  out.drifting = baseline.drifting;
  const Score score = score_of(survey, null, baseline, recorded);
  out.best.push_back(candidate_of(survey, {null, score, 0}, baseline, recorded));
  Hypothesis chosen = null;
  if (out.rows > 0 && out.drifting == 0) {
    counts.median_sigmas = median_sigmas(survey, baseline, recorded);
    out.finding = out.best.front().bits == out.rows ? Finding::exact : Finding::formula_order;
  } else if (out.rows > 0) {
    Search found = search(survey, tables, baseline, recorded);
    out.excluded = std::move(found.excluded);
    out.untestable = std::move(found.untestable);
    explain_drift(survey, recorded, baseline, score, found.best, out, counts, chosen);
  }
  const BestForm form = best_form(survey, chosen, baseline.rows, recorded);
  out.parts = parts_of(survey, null, chosen, form.form, baseline.rows, recorded);
  out.sentence = sentence_of(out, counts);
  return out;
}

}  // namespace drift
