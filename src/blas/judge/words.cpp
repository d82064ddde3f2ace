#include "src/blas/judge/words.h"

#include <fmt/format.h>

#include "src/blas/judge/steps.h"

namespace hwprof::blas {
namespace {

using report::LadderRung;

std::string_view width(VectorClass vectors) { return report::facts(vectors).width; }

}  // namespace

std::string_view in_words(Provider provider) {
  return provider == Provider::kReference ? facts(provider).label : facts(provider).name;
}

std::string in_words(const Identity& library) {
  std::string name(library.provider == Provider::kUnknown ? file_label(library.path)
                                                          : in_words(library.provider));
  return library.behind.empty() ? name : fmt::format("{} ({})", name, library.behind);
}

std::string in_words(const LadderRung& rung) {
  std::string name(rung.provider == Provider::kUnknown ? file_label(rung.library)
                   : rung.core.empty()                 ? in_words(rung.provider)
                                                       : rung.core);
  if (rank(rung.vector_class) >= 0) name += fmt::format(" ({})", width(rung.vector_class));
  return name;
}

std::string rung_label(const LadderRung& rung) {
  std::string label = in_words(rung);
  if (!rung.core.empty()) label += fmt::format(" of {}", facts(rung.provider).label);
  return label;
}

std::string kernels_of(const report::Blas& library) {
  if (library.provider == Provider::kUnknown) return file_label(library.path);
  return std::string(facts(library.provider).label) +
         (library.core.empty() ? "" : " " + library.core + " kernels");
}

std::string file_label(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return name.substr(0, name.find(".so"));
}

std::string code_of(VectorClass vectors) {
  return fmt::format("{} {}", width(vectors), vectors == VectorClass::kScalar ? "code" : "kernels");
}

std::string state_of(const LadderRung& rung) {
  const bool known = rank(rung.vector_class) >= 0;
  const bool calls = rung.calls_fraction.has_value();
  const double fraction = speed_of(rung).value;
  return fmt::format(
      "{} {}{} {:.{}f} of the FMA peak", calls ? "its calls" : "sgemm",
      known ? (calls ? "run on " : "runs on ") + code_of(rung.vector_class) + " at" : "reach",
      known || calls ? "" : "es", fraction, calls && fraction < 0.1 ? 3 : 2);
}

std::string_view measured_with(const LadderRung& rung) {
  return rung.calls_fraction ? "with this program's calls" : "on this CPU";
}

std::string_view who_gets(const Evidence& evidence) {
  if (evidence.at_work && evidence.library.provider == Provider::kUnknown)
    return "the program calls";
  if (evidence.loaded) return "the process has loaded";
  return evidence.requested.empty() ? "programs get" : "--blas names";
}

std::string assignments(const std::vector<std::string>& names,
                        const std::map<std::string, std::string>& set) {
  std::string text;
  for (const auto& name : names) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " and ", name,
                        set.count(name) != 0 ? set.at(name) : "");
  }
  return text;
}

std::string two_digits(double factor) {
  return fmt::format("{:.{}f}", factor, factor < 9.95 ? 1 : 0);
}

}  // namespace hwprof::blas
