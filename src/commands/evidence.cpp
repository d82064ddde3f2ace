#include "src/commands/evidence.h"

namespace hwprof {

struct Evidence::State {
  report::BlasEvidence found;
};

Evidence::Evidence(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evidence::Evidence(Evidence&&) noexcept = default;
Evidence& Evidence::operator=(Evidence&&) noexcept = default;
Evidence::~Evidence() = default;

Evidence Evidence::prepare(const RunRequest& request) {
  auto state = std::make_unique<State>();
  state->found.called.reason = request.calls ? "not built yet" : "not watched (--no-calls)";
  state->found.executed.reason = request.samples ? "not built yet" : "not sampled (--no-samples)";
  return Evidence(std::move(state));
}

std::vector<std::string> Evidence::environment() const { return {}; }
void Evidence::attach(pid_t, bool) {}
std::vector<int> Evidence::descriptors() const { return {}; }
void Evidence::drain() {}
void Evidence::look() {}
void Evidence::finish(report::Run& record) { record.blas.evidence = std::move(state_->found); }

}  // namespace hwprof
