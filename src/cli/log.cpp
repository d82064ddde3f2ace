#include "src/cli/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <memory>
#include <utility>

namespace hwprof::cli {

void start_log(Verbosity verbosity) {
  // The sink has colour on terminals only; NO_COLOR (no-color.org) counts when it is not empty.
  const char* no_color = std::getenv("NO_COLOR");
  const bool plain = no_color != nullptr && *no_color != '\0';
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_st>(
      plain ? spdlog::color_mode::never : spdlog::color_mode::automatic);
  auto logger = std::make_shared<spdlog::logger>("hwprof", std::move(sink));
  logger->set_pattern("%n: %^%l%$: %v");
  logger->set_level(verbosity == Verbosity::kVerbose ? spdlog::level::debug
                    : verbosity == Verbosity::kQuiet ? spdlog::level::err
                                                     : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

}  // namespace hwprof::cli
