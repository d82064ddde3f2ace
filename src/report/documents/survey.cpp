#include <fmt/format.h>

#include <algorithm>

#include "src/base/format.h"
#include "src/report/documents/content.h"
#include "src/report/documents/inspect.h"
#include "src/report/printable.h"

namespace hwprof::report {
namespace {

std::string or_absent(const std::string& text) {
  return text.empty() ? std::string(kAbsent) : text;
}

std::string number_or_absent(const std::optional<double>& value, int digits) {
  return value ? significant(*value, digits) : std::string(kAbsent);
}

const SurveyedBlas* default_of(const BlasSurvey& survey) {
  const auto found = std::find_if(survey.libraries.begin(), survey.libraries.end(),
                                  [](const auto& library) { return library.is_default; });
  return found == survey.libraries.end() ? nullptr : &*found;
}

Table libraries_table(const BlasSurvey& survey) {
  Table table{.title = "Installed, highest share of the peak first",
              .columns = {{"library", true},
                          {"core", true},
                          {"threads"},
                          {"sgemm\nGFLOP/s"},
                          {"of\npeak"},
                          {"dgemm\nGFLOP/s"},
                          {"of\npeak"},
                          {"path", true}},
              .rows = {},
              .notes = {}};
  for (const SurveyedBlas& library : survey.libraries) {
    table.rows.push_back(
        {"",
         {fmt::format("{}{} {}", library.is_default ? "* " : "", to_text(library.provider),
                      library.version),
          or_absent(library.core),
          library.threads ? std::to_string(*library.threads) : std::string(kAbsent),
          number_or_absent(library.sgemm_gflops, 3),
          number_or_absent(library.sgemm_peak_fraction, 2),
          number_or_absent(library.dgemm_gflops, 3),
          number_or_absent(library.dgemm_peak_fraction, 2), library.path},
         fmt::format("/libraries/{}", table.rows.size())});
    if (!library.reason.empty()) {
      table.notes.push_back(fmt::format("{}: {}", library.path, library.reason));
    }
  }
  table.notes.insert(table.notes.end(), survey.notes.begin(), survey.notes.end());
  table.brief = table.notes;
  return table;
}

std::string line_of(const BlasSurvey& survey) {
  const SurveyedBlas* library = default_of(survey);
  return verdict_line(survey.blas.verdict, survey.blas,
                      library != nullptr ? library->sgemm_gflops : std::nullopt,
                      library != nullptr ? library->sgemm_peak_fraction : std::nullopt);
}

}  // namespace

std::string verdict_line(VerdictKind verdict, const Blas& library, std::optional<double> gflops,
                         std::optional<double> peak_fraction) {
  std::string name = or_absent(printable(library.core));
  std::replace(name.begin(), name.end(), ' ', '_');  // the reader splits at blanks
  return fmt::format("verdict={} provider={} core={} gflops={} peak_fraction={}", to_text(verdict),
                     or_absent(std::string(to_text(library.provider))), name,
                     number_or_absent(gflops, 3), number_or_absent(peak_fraction, 3));
}

Document survey_document(const BlasSurvey& survey) {
  const ProfileBlas& blas = survey.blas;
  const bool good = blas.verdict == VerdictKind::kOptimal;
  std::string verdict(blas.verdict == VerdictKind::kWrongResults ? verdict_heading(blas.verdict)
                                                                 : to_text(blas.verdict));
  if (blas.verdict == VerdictKind::kMissing && survey.libraries.empty())
    verdict = "no BLAS is installed";
  if (loses_surely(blas)) {
    verdict += fmt::format(", {} times slower than it could be", significant(*blas.factor, 2));
  }
  Document document{.title = "hwprof blas"};
  document.add(Paragraph{line_of(survey), Paragraph::Kind::kLine});
  document.add(Headline{fmt::format("{}: {}", verdict, blas.why), good});
  const auto remark = [&](const std::string& text) {
    document.add(Paragraph{text, Paragraph::Kind::kRemark});
  };
  if (!blas.fix.empty()) document.add(Paragraph{blas.fix, Paragraph::Kind::kFix});
  for (const auto& [name, value] : blas.environment)
    remark(fmt::format("environment: {}={}", name, value));
  add_ladder_chart(blas, document);
  document.in(Section::kLadder).add(libraries_table(survey));
  document.add(ladder_table(blas, ""), good ? Detail::kFull : Detail::kBoth);
  return document;
}

}  // namespace hwprof::report
