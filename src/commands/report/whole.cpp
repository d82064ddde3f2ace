#include "src/commands/report/whole.h"

#include <algorithm>

namespace hwprof {
namespace {

template <class Items, class Test>
bool any(const Items& items, Test test) {
  return std::any_of(items.begin(), items.end(), test);
}

// Of each region the same events, in one order.
bool lacks_counts(const std::optional<model::Regions>& regions) {
  return regions && any(regions->rows, [&](const model::Region& row) {
           return row.counts.size() != regions->rows.front().counts.size();
         });
}

bool is_torn(const model::ScalingPoint& point) {
  return point.speedup_low.has_value() != point.speedup_high.has_value();
}

bool lacks_points(const model::Scaling& scaling) {
  const bool has_base = any(scaling.counts, [&](const model::ScalingCount& count) {
    return count.threads == scaling.base_threads;
  });
  return !has_base || any(scaling.rows, [&](const model::ScalingRow& row) {
    return row.points.size() != scaling.counts.size() || any(row.points, is_torn);
  });
}

bool lacks_epochs(const model::Training& training) {
  return any(training.runs,
             [](const model::TrainingRun& run) { return run.samples_per_s && run.epochs.empty(); });
}

bool lacks_median(const model::Repeats& repeats) {
  return any(std::initializer_list<const model::RepeatedTime*>{&repeats.wall_s, &repeats.user_s,
                                                               &repeats.system_s},
             [](const model::RepeatedTime* time) { return time->ci95_low && !time->median; });
}

}  // namespace

std::string_view what_is_missing(const model::Profile& profile) {
  if (profile.peak && profile.peak->bandwidth.empty()) return "the peak has no bandwidth";
  if (profile.layers && profile.layers->forms.empty()) return "the layers are of no form";
  if (profile.scaling && lacks_points(*profile.scaling))
    return "rows have not a point for each number of threads";
  if (profile.training && lacks_epochs(*profile.training))
    return "training has a rate and no epoch";
  return lacks_counts(profile.regions) ? "regions have not the same events" : "";
}

std::string_view what_is_missing(const model::Run& run) {
  if (run.blas.program_factor && !run.blas.blas_share)
    return "there is a factor of the program and no share of its BLAS";
  if (run.repeats && lacks_median(*run.repeats)) return "repeats have an interval and no median";
  return lacks_counts(run.regions) ? "regions have not the same events" : "";
}

std::string_view what_is_missing(const model::Sweep& sweep) {
  constexpr std::size_t kMostSwept = 2;
  if (sweep.swept.size() > kMostSwept) return "more than two sizes are swept";
  if (any(sweep.points,
          [&](const model::SweepPoint& point) { return point.at.size() < sweep.swept.size(); }))
    return "a point has not all its sizes";
  if (any(sweep.laws, [](const model::ScalingLaw& law) {
        return law.exponent && !(law.low && law.high && law.model_exponent);
      }))
    return "a law has an exponent, and no interval or none of the model";
  return what_is_missing(static_cast<const model::Profile&>(sweep.run));
}

std::string_view what_is_missing(const model::Comparison& comparison) {
  using model::Change;
  const bool lacks_ratio = any(comparison.files, [](const model::FileComparison& file) {
    return any(file.rows, [](const model::ComparedRow& row) {
      const bool judged = row.verdict == Change::kSlower || row.verdict == Change::kFaster ||
                          row.verdict == Change::kUndecided;
      return judged && !row.ratio;
    });
  });
  return lacks_ratio ? "a row was judged and has no ratio" : "";
}

}  // namespace hwprof
