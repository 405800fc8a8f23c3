// The last phases of a run: the verdict to every rank, the reports to disk, and the report of a run that
// failed.

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "audit/audit_run.hpp"
#include "audit/console_table.hpp"
#include "audit/parcel.hpp"
#include "base/digest.hpp"
#include "report/to_json.hpp"
#include "report/tokens.hpp"

namespace drift {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void AuditRun::share_verdict() {
  ParcelWriter parcel;
  if (is_first()) {
    parcel.put_text(report_.status);
    parcel.put_value(report_.exit_code);
    parcel.put_text(report_.error ? report_.error->phase : "");
    parcel.put_text(report_.error ? report_.error->message : "");
    parcel.put(rows_.lse_rows);
    parcel.put(rows_.logp_rows);
  }
  const auto bytes = world_.broadcast(parcel.bytes());
  if (is_first()) return;
  ParcelReader reader(bytes);
  report_.status = reader.take_text();
  report_.exit_code = reader.take_value<int>();
  const std::string phase = reader.take_text(), message = reader.take_text();
  rows_.lse_rows = reader.take<std::uint8_t>();
  rows_.logp_rows = reader.take<std::uint8_t>();
  if (report_.status == "failed")
    report_.error = ErrorReport{.code = report_.exit_code,
                                .fault = std::string(name(static_cast<Fault>(report_.exit_code))),
                                .rank = 0,
                                .phase = phase,
                                .message = message};
}

RankReport AuditRun::rank_report() const {
  RankReport out;
  out.status = report_.status;
  out.exit_code = report_.exit_code;
  out.case_id = report_.case_id;
  out.rank = world_.rank();
  out.tp_rank = axes_->tp_rank;
  out.cp_rank = axes_->cp_rank;
  out.rows = case_->rows_of(axes_->cp_rank);
  out.columns = case_->bounds.columns(axes_->tp_rank);
  out.backend = backend_name_;
  out.transport = transport_name_;
  out.device_model = backend_->device_model();
  out.oracle_rows = count(oracle_.rows);
  for (const RowCensus& row : oracle_.census) out.nonfinite += row.kind != BadValue::none;
  const std::vector<std::uint8_t> active = picked(inputs_.active, out.rows);
  for (std::size_t f = 0; f < candidates_.values.size(); ++f) {
    RowValues values = candidates_.values[f];
    clear_left_out(values, picked(rows_.lse_rows, out.rows), picked(rows_.logp_rows, out.rows));
    out.candidates.push_back({.formula = std::string(case_->formulas[f]->id),
                              .digests = {digest_of_lse(values), digest_of_logp(values, active)},
                              .replicated = candidates_.replicated[f] != 0});
  }
  out.error = report_.error;
  return out;
}

std::vector<std::vector<std::byte>> AuditRun::gather_surroundings() {
  ParcelWriter about;
  about.put_text(machinery_.host);
  about.put_value(static_cast<std::int64_t>(::getpid()));
  about.put_text(backend_->device_uuid());
  return world_.gather(about.bytes());
}

RunInfo AuditRun::run_info(const std::vector<std::vector<std::byte>>& surroundings) const {
  RunInfo out;
  out.started = started_;
  out.seconds = stopwatch_.laps();
  out.argv = machinery_.argv;
  out.working_directory = std::filesystem::current_path().string();
  out.dump_path = std::filesystem::absolute(typed_.dump).string();
  out.out_path = std::filesystem::absolute(folder_->path()).string();
  out.bytes_read = rows_.bytes_read;
  const double seconds = stopwatch_.seconds();
  out.gigabytes_per_second = seconds > 0 ? static_cast<double>(rows_.bytes_read) / seconds / 1e9 : 0;
  for (const auto& bytes : surroundings) {
    ParcelReader reader(bytes);
    out.hosts.push_back(reader.take_text());
    out.pids.push_back(reader.take_value<std::int64_t>());
    out.device_uuids.push_back(reader.take_text());
  }
  return out;
}

void AuditRun::write_token_columns() {
  std::vector<std::int32_t> owner;
  std::vector<std::vector<float>> spread;
  spread.reserve(3);  // the columns point into it
  for (const std::int64_t target : inputs_.targets)
    owner.push_back(target < 0 ? -1 : case_->bounds.owner(target));
  TokenColumns columns;
  columns.active = inputs_.active;
  if (!inputs_.stored_targets.empty()) columns.target = inputs_.targets;
  if (has_logits()) columns.owner = owner;
  const auto add = [&](const std::string& prefix, const RowValues& values) {
    columns.values.emplace_back(prefix + "_lse", values.lse);
    columns.values.emplace_back(prefix + "_logp", values.logp);
  };
  if (has_logits()) add("oracle", rows_.oracle);
  if (case_->input_is_rounded) add("oracle_rounded", rows_.rounded);
  for (std::size_t f = 0; f < rows_.candidates.size(); ++f)
    add(std::string(case_->formulas[f]->id), rows_.candidates[f]);
  if (case_->config.row_stats)
    for (const auto& [name, value] : {std::pair("entropy", &RowSpread::entropy),
                                      {"sum_p2", &RowSpread::sum_p2},
                                      {"sigma", &RowSpread::sigma}}) {
      std::vector<float>& column = spread.emplace_back();
      for (const RowSpread& row : rows_.spread) column.push_back(static_cast<float>(row.*value));
      columns.values.emplace_back(name, column);
    }
  for (std::size_t i = 0; i < inputs_.recorded.size(); ++i)
    columns.values.emplace_back(case_->roles.recorded[i].name, inputs_.recorded[i]);
  write_tokens(folder_->file("tokens.safetensors"), columns);
}

void AuditRun::write_reports() {
  const std::string mine = to_json(rank_report());
  const auto reports = world_.gather(std::as_bytes(std::span(mine)));
  const auto surroundings = gather_surroundings();
  if (!is_first()) return;

  std::vector<RankEntry> entries;  // part of the report once all of them are on disk
  for (int rank = 0; rank < world_.size(); ++rank) {
    const std::string text = text_of(reports[static_cast<std::size_t>(rank)]);
    folder_->write(rank_file_name(rank), text);
    const int tp_rank = case_->grid.tp_rank(rank), cp_rank = case_->grid.cp_rank(rank);
    entries.push_back({.file = rank_file_name(rank),
                       .digest = hex(digest(std::string_view(text))),
                       .rank = rank,
                       .tp_rank = tp_rank,
                       .cp_rank = cp_rank,
                       .rows = case_->rows_of(cp_rank),
                       .columns = case_->bounds.columns(tp_rank)});
  }
  write_token_columns();

  folder_->write("run.json", to_json(run_info(surroundings)));
  report_.ranks = std::move(entries);
  const Document whole = document();
  folder_->write(whole.file, whole.text);
  say(lines(folder_->path()));
}

AuditRun::Document AuditRun::document() const { return {"aggregate.json", to_json(report_)}; }

std::vector<std::string> AuditRun::lines(const std::string& folder) const {
  if (typed_.quiet) return {verdict_line(report_, folder)};
  return console_table(report_, folder, case_ ? case_->warnings : std::vector<std::string>{}, typed_.strata);
}

void AuditRun::say(const std::vector<std::string>& lines) const {
  for (const std::string& line : lines) machinery_.say(line);
}

void AuditRun::write_failure(const AgreedError& error) {
  report_.status = "failed";
  report_.exit_code = error.exit_code();
  report_.error = ErrorReport{.code = error.exit_code(),
                              .fault = std::string(name(error.fault())),
                              .rank = error.rank(),
                              .phase = error.phase(),
                              .message = error.what()};
  // A typing error leaves no folder behind, an --out that was just refused is not tried again; everything
  // else leaves its report where one can be written.
  const bool refused = !folder_ && error.phase() == "output" && error.fault() == Fault::io;
  if (!refused && (error.fault() != Fault::usage || folder_)) {
    try {
      if (!folder_) folder_.emplace(ReportFolder::prepare(typed_.out, typed_.force, report_.case_id));
      const Document whole = document();
      folder_->write(whole.file, whole.text);
    } catch (const Error& unwritable) {
      machinery_.warn(std::string("the failed run's report could not be written: ") + unwritable.what());
      folder_.reset();
    }
  }
  const std::string path = folder_ ? folder_->path() : "";
  if (error.fault() == Fault::usage && !folder_) return;  // the command line's own message says it all
  say(lines(path));
}

Outcome AuditRun::fail(const AgreedError& error) noexcept {
  Outcome out{.exit_code = error.exit_code(), .error = std::nullopt, .peers_lost = !error.is_agreed()};
  try {
    if (is_first()) {
      write_failure(error);
    } else if (out.peers_lost) {
      // Rank 0 writes the report; if it is the one that does not answer, the first other rank to notice does.
      std::this_thread::sleep_for(std::chrono::seconds(2) + std::chrono::milliseconds(100 * world_.rank()));
      const std::string place = ReportFolder::place(typed_.out, report_.case_id);
      if (ReportFolder::holds_failure(place, report_.case_id)) return out;
      if (output_reached_) folder_.emplace(ReportFolder::prepared(place));
      write_failure(error);
      machinery_.alert(verdict_line(report_, folder_ ? folder_->path() : ""));
    }
    out.error = report_.error ? report_.error
                              : ErrorReport{.code = error.exit_code(),
                                            .fault = std::string(name(error.fault())),
                                            .rank = error.rank(),
                                            .phase = error.phase(),
                                            .message = error.what()};
  } catch (const std::exception& broken) {
    machinery_.warn(std::string("the failed run's report could not be written: ") + broken.what());
  }
  return out;
}

}  // namespace drift
