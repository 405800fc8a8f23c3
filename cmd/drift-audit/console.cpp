#include "drift-audit/console.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>

#include "base/printable.hpp"

namespace drift {

Console::Console(bool speaks) : speaks_(speaks) {
  auto logger =
      std::make_shared<spdlog::logger>("drift-audit", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("drift-audit: %l: %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void Console::set_verbose(bool verbose) {
  spdlog::set_level(verbose ? spdlog::level::debug : spdlog::level::info);
}

void Console::print(const std::string& text) const {
  if (speaks_) std::fwrite(text.data(), 1, text.size(), stdout);
}

void Console::say(const std::string& line) const { print(line + "\n"); }

void Console::say(const std::vector<std::string>& lines) const {
  for (const std::string& line : lines) say(line);
}

void Console::warn(const std::string& message) const {
  if (speaks_) spdlog::warn("{}", escaped_lines(message));
}

void Console::error(const std::string& message) const {
  if (speaks_) spdlog::error("{}", escaped_lines(message));
}

void Console::progress(const std::string& message) const {
  if (speaks_) spdlog::info("{}", escaped_lines(message));
}

bool Console::flush() const { return given_up_ || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0); }

void Console::flush_table() {
  if (flush()) return;
  warn(
      "stdout did not take all of the table (a full disk or a closed pipe); exit status and reports are what "
      "they would have been");
  given_up_ = true;
}

}  // namespace drift
