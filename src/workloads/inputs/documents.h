// The documents to be classified, as ids of words: from LibMultiLabel's files or from plain text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "src/base/result.h"

namespace hwprof {

using WordId = std::uint32_t;

// Words by id, in the order of their first occurrence. Move-only: the index points into the words.
class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) = default;
  Vocabulary& operator=(Vocabulary&&) = default;

  WordId intern(std::string_view word);
  [[nodiscard]] const std::string& word(WordId id) const { return words_[id]; }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

 private:
  std::deque<std::string> words_;  // a deque: its strings stay where they are
  std::unordered_map<std::string_view, WordId> ids_;
};

// Documents one after the other in one array: a million short ones cost no million allocations.
struct DocumentSet {
  std::vector<WordId> words;
  std::vector<std::size_t> start{0};  // document i: words [start[i], start[i + 1])
  Vocabulary vocabulary;
  std::string source;  // where they come from, for the report

  std::uint64_t blank_lines = 0;          // skipped
  std::uint64_t empty_documents = 0;      // without any word, kept
  std::uint64_t truncated_documents = 0;  // cut to kMaxWords

  static constexpr std::size_t kMaxWords = 500;  // LibMultiLabel's max_seq_length

  [[nodiscard]] std::size_t size() const { return start.size() - 1; }
  [[nodiscard]] std::size_t length(std::size_t i) const { return start[i + 1] - start[i]; }
  [[nodiscard]] std::span<const WordId> document(std::size_t i) const {
    return std::span(words).subspan(start[i], length(i));
  }
};

enum class DocsFormat {
  kAuto,           // kLibMultiLabel when all lines have 2 columns or all have 3, else kLines
  kLibMultiLabel,  // [ID]<TAB>labels<TAB>text: 2 or 3 columns, the same in all lines
  kLines,          // one document a line
};

// Reads `path` ("-": standard input); UTF-8, LF or CRLF, a byte order mark is skipped, and so are
// lines of white space. Fault::kUsage names the line of what cannot be read as text, a file
// without a document, and, with kAuto, the first odd line of a file whose lines nearly all (90 %)
// have 2 or 3 columns.
Result<DocumentSet> read_documents(const std::string& path, DocsFormat format);

// Documents for those who have none at hand: lengths like those of rcv1, whose mean is 123.9 words
// in LibMultiLabel's data, so that costs compare with the published ones.
struct SyntheticOptions {
  std::size_t documents = 64;
  std::optional<std::size_t> n = {};  // all of this length; absent: lengths as described below
  std::uint64_t seed = 0;
};

// The mean is that of rcv1; the form is an assumption: log-normal (sigma 0.6 of the logarithm),
// clipped to [1, 500]. One length is drawn from each of `documents` equally probable parts of the
// distribution, then single words are added or taken until the sum is round(123.9 * documents):
// 64 plain draws would miss the mean by 8 % as a rule. The order is shuffled. Words are uniform
// over a vocabulary as large as rcv1's (47,236 words). Same on every platform for the same seed.
DocumentSet synthetic_documents(const SyntheticOptions& options);

}  // namespace hwprof
