// The answer as a person reads it: what was found, how many tokens of how many, what is left, what to change.

#include "explain/sentence.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "explain/numbers.hpp"

namespace drift::hypothesis {
namespace {

std::string capital(std::string text) {
  if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string joined(const std::vector<Cause>& causes, std::string Cause::*field, const char* between) {
  std::string out;
  for (const Cause& cause : causes) out += (out.empty() ? "" : between) + cause.*field;
  return out;
}

// Of every candidate, each text once.
std::string alternatives(const std::vector<Candidate>& candidates, std::string Cause::*field) {
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates) {
    std::string text = joined(candidate.causes, field, " and ");
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  std::string out;
  for (const std::string& text : texts) out += (out.empty() ? "" : ", or ") + text;
  return out;
}

std::string of_drifting(const Explanation& e, const Counts& counts) {
  std::string out = text_of(counts.explained) + " of " + counted(e.drifting, "token") + " that drift" +
                    (e.drifting == 1 ? "s" : "") + ", to within " + about(counts.to_within);
  const Candidate& best = e.best.front();
  if (best.bits == e.rows && e.rows > 0) out += ", every bit as " + best.formula;
  if (counts.left > 0) out += "; " + counted(counts.left, "token") + " remain unexplained";
  if (counts.unpredicted > 0)
    out += "; " + counted(counts.unpredicted, "token") +
           " of them would need a value that the dump does not hold";
  if (counts.left_to_noise > 0)
    out += "; " + counted(counts.left_to_noise, "token") +
           " left are within 6 sigma of the logits' own rounding";
  return out;
}

std::string noise(const Explanation& e, const Counts& counts) {
  return "Noise: " + text_of(e.drifting) + " of " + counted(e.rows, "token") + " drift, by a median of " +
         about(counts.noise.median) + " sigma and at most " + about(counts.noise.most) +
         " sigma of what rounding the logits to " + counts.logits_dtype +
         " alone does to a log-prob; the others agree to fp32 arithmetic and no cause explains more.";
}

std::string nothing(const Explanation& e) {
  if (e.rows == 0) return "No token could be compared: none has both a recorded value and a log-prob.";
  std::string out = "None of " + counted(static_cast<std::int64_t>(e.excluded.size()), "cause") +
                    " tried, alone or in pairs, explains the " + text_of(e.drifting) + " of " +
                    counted(e.rows, "token") + " that drift";
  if (!e.others.empty() && !e.others.front().causes.empty())
    out += " (nearest: " + joined(e.others.front().causes, &Cause::id, " + ") + ", " +
           text_of(e.others.front().within) + " of " + counted(e.rows, "token") + " within fp32 arithmetic)";
  std::string looks;
  for (const std::string& look : e.looks) looks += (looks.empty() ? "" : "; ") + look;
  if (!looks.empty()) out += "; the drift is: " + looks;
  return out + "; the logits that made the recorded values may differ from the dump's.";
}

}  // namespace

std::string sentence_of(const Explanation& e, const Counts& counts) {
  switch (e.finding) {
    case Finding::exact:
      return "Nothing to explain: all " + counted(e.rows, "token") + " are bit for bit " +
             e.best.front().formula + ".";
    case Finding::formula_order:
      return "Noise of fp32 order only: all " + counted(e.rows, "token") +
             " are within fp32 arithmetic of the logits" +
             (std::isfinite(counts.median_sigmas)
                  ? " (median drift " + about(counts.median_sigmas) +
                        " sigma of what rounding the logits to " + counts.logits_dtype + " does)"
                  : "") +
             ", " + text_of(e.best.front().bits) + " of them bit for bit as " + e.best.front().formula + ".";
    case Finding::noise: return noise(e, counts);
    case Finding::cause: {
      const auto& causes = e.best.front().causes;
      const char* explains = causes.size() > 1 ? ": together they explain " : ": explains ";
      return capital(joined(causes, &Cause::what, ", and ")) + explains + of_drifting(e, counts) + "; " +
             joined(causes, &Cause::remedy, "; ") + ".";
    }
    case Finding::several: {
      const std::string what = alternatives(e.best, &Cause::what);
      const std::string remedy = alternatives(e.best, &Cause::remedy);
      if (counts.few_values > 0)
        return "Perhaps " + what + ": " + (e.best.size() == 1 ? "it" : "each") + " explains " +
               of_drifting(e, counts) + ", but on " + counted(counts.few_values, "distinct value") +
               " only, which causes that were not tried may give as well; " + remedy +
               ", and audit more tokens to be sure.";
      return capital(what) + ": each explains " + of_drifting(e, counts) +
             ", and this dump cannot tell them apart; " + remedy + ".";
    }
    case Finding::nothing: break;
  }
  return nothing(e);
}

}  // namespace drift::hypothesis
