#include "src/commands/run_ladder.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "src/blas/ladder.h"
#include "src/blas/libraries.h"
#include "src/commands/interrupt.h"

namespace hwprof {
namespace {

// The library whose speed matters: the one that was called, else where the time went, else the one
// that had chosen a core.
std::string measured_library(const report::BlasEvidence& evidence) {
  if (!evidence.called.calls.empty()) return evidence.called.calls.front().library;
  if (blas::identify_file(evidence.executed.hot_library)) return evidence.executed.hot_library;
  if (!evidence.selected.empty()) return evidence.selected.front().path;
  return {};
}

void climb_ladder(const RunRequest& request, report::Run& record) {
  report::RunBlas& blas = record.blas;
  const std::string path = measured_library(blas.evidence);
  if (!request.ladder) {
    blas.ladder_note = "not measured (--no-ladder)";
    return;
  }
  if (path.empty()) {
    blas.ladder_note = "not measured: no BLAS was seen at work";
    return;
  }
  if (const std::string reason = why_not_to_load(path); !reason.empty()) {
    blas.ladder_note = "not measured: " + reason;
    return;
  }
  const Result<BlasLibrary> library = BlasLibrary::load(path);
  if (!library) {
    blas.ladder_note = "not measured: " + library.error().what;
    return;
  }
  library->set_threads(1);
  blas::Ladder ladder =
      blas::climb(*library, blas::identify(*library), blas::installed_blas(), record.machine,
                  {.cpus = request.pin.empty() ? CpuList{} : request.pin, .stop = &interrupted()});
  blas.ladder = std::move(ladder.rungs);
  blas.ladder_note = std::move(ladder.note);
}

}  // namespace

std::string why_not_to_load(const std::string& path) {
  std::error_code error;
  std::filesystem::path part = std::filesystem::canonical(path, error);
  if (error) return fmt::format("{}: {}", path, error.message());
  // Who may write a folder above it can put another file in its place.
  for (;; part = part.parent_path()) {
    struct stat info = {};
    if (::stat(part.c_str(), &info) != 0) return fmt::format("{}: {}", path, std::strerror(errno));
    const bool sticky = S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
    if ((info.st_uid != 0 && info.st_uid != ::geteuid()) ||
        ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !sticky)) {
      return fmt::format("other users can write {}, and hwprof would run what is in it", path);
    }
    if (part == part.root_path()) return {};
  }
}

void judge_run_blas(const RunRequest& request, report::Run& record) {
  watch_interrupts();
  climb_ladder(request, record);
  record.blas.why = "nothing was seen of its BLAS";
}

}  // namespace hwprof
