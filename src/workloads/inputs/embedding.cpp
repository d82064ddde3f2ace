#include "src/workloads/inputs/embedding.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "src/workloads/inputs/line_reader.h"
#include "src/workloads/inputs/random.h"

namespace hwprof {
namespace {

// Gives each used word a row, and zeros.
Result<Embedding> make_rows(const Vocabulary& vocabulary, std::span<const WordId> used,
                            std::size_t d_e) {
  Embedding embedding;
  embedding.d_e = d_e;
  embedding.row.assign(vocabulary.size(), Embedding::kUnused);
  std::uint32_t rows = 0;
  for (const WordId id : used) {
    if (embedding.row[id] == Embedding::kUnused) embedding.row[id] = rows++;
  }
  // A product that wraps would be a small buffer: the largest value asks for too much instead.
  const bool wraps = d_e != 0 && rows > std::numeric_limits<std::size_t>::max() / d_e;
  auto vectors = FloatBuffer::zeros(wraps ? std::numeric_limits<std::size_t>::max() : rows * d_e);
  if (!vectors) return error_of(vectors);
  embedding.vectors = std::move(*vectors);
  return embedding;
}

// Fills the rows that the file left out; `in_file` is by row, empty for none.
void hash_missing(Embedding& embedding, const Vocabulary& vocabulary,
                  const std::vector<bool>& in_file) {
  for (std::size_t id = 0; id < embedding.row.size(); ++id) {
    const std::uint32_t row = embedding.row[id];
    if (row == Embedding::kUnused) continue;
    if (!in_file.empty() && in_file[row]) {
      ++embedding.found;
      continue;
    }
    ++embedding.hashed;
    SplitMix64 random(hash_text(vocabulary.word(static_cast<WordId>(id))));
    float* vector = embedding.vectors.data() + row * embedding.d_e;
    std::generate_n(vector, embedding.d_e, [&] { return random.bell(kHashedDeviation); });
  }
}

// from_chars takes neither a leading '+' nor white space, and knows "nan" and "inf".
std::optional<double> parse_number(std::string_view field) {
  double value = 0;
  const char* end = field.data() + field.size();
  const auto [stop, error] = std::from_chars(field.data(), end, value);
  if (stop != end || field.empty()) return std::nullopt;
  // Out of range leaves `value` alone; strtod tells too small (0, fine) from too large (infinite).
  if (error == std::errc::result_out_of_range)
    return std::strtod(std::string(field).c_str(), nullptr);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::string_view trim_end(std::string_view line) {
  const auto last = line.find_last_not_of(" \t\r");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::size_t count_spaces(std::string_view line) {
  return static_cast<std::size_t>(std::count(line.begin(), line.end(), ' '));
}

bool is_whole_number(std::string_view field) {
  return !field.empty() && field.find_first_not_of("0123456789") == std::string_view::npos;
}

// The first line sets the length of all vectors.
Result<std::size_t> find_dimension(std::string_view line, const LineReader& reader,
                                   const std::string& path, std::optional<std::size_t> d_e) {
  const std::size_t values = count_spaces(line);
  const std::size_t first_space = line.find(' ');
  if (values == 0) {
    return usage_error(fmt::format("{} is not `word v1 v2 ...`: it has no space", reader.place()),
                       "GloVe's text format has one word a line and single spaces");
  }
  if (values == 1 && is_whole_number(line.substr(0, first_space)) &&
      is_whole_number(line.substr(first_space + 1)) && d_e != 1U) {
    return usage_error(fmt::format("{} is a header (\"{}\"): word2vec's format, not GloVe's",
                                   reader.place(), line),
                       fmt::format("take it off: tail -n +2 {}", path));
  }
  if (d_e && values != *d_e) {
    return usage_error(
        fmt::format("{} has vectors of {} values, but d_e is {}", path, values, *d_e),
        fmt::format("--shape d_e={}, or leave d_e out", values));
  }
  return values;
}

// Splits a row into word and vector.
struct VectorLine {
  std::string_view word, values;
};

Result<VectorLine> split_row(std::string_view line, std::size_t d, const LineReader& reader) {
  const std::size_t values = count_spaces(line);
  std::size_t word_end = line.find(' ');
  bool odd = values < d;
  // A surplus field is part of the word, unless it is a number: then the row is too long.
  for (std::size_t surplus = values; !odd && surplus > d; --surplus) {
    const std::size_t next = line.find(' ', word_end + 1);
    odd = parse_number(line.substr(word_end + 1, next - word_end - 1)).has_value();
    word_end = next;
  }
  if (odd) {
    return usage_error(fmt::format("{} has {} value{}, but the first line has {}", reader.place(),
                                   values, values == 1 ? "" : "s", d),
                       "every word needs a vector of the same length: is the file complete?");
  }
  return VectorLine{line.substr(0, word_end), line.substr(word_end + 1)};
}

Result<void> parse_values(std::string_view values, float* vector, const LineReader& reader) {
  while (!values.empty()) {
    const std::size_t length = std::min(values.find(' '), values.size());
    const std::string_view field = values.substr(0, length);
    const auto value = parse_number(field);
    const auto narrow = static_cast<float>(value.value_or(NAN));
    if (!std::isfinite(narrow)) {
      return usage_error(
          fmt::format("{}: \"{}\" is not a finite number", reader.place(), field.substr(0, 40)),
          "a vector is made of finite decimal numbers, separated by single spaces");
    }
    *vector++ = narrow;
    values.remove_prefix(std::min(length + 1, values.size()));
  }
  return {};
}

}  // namespace

Result<Embedding> hash_embedding(const Vocabulary& vocabulary, std::span<const WordId> used,
                                 std::size_t d_e) {
  auto embedding = make_rows(vocabulary, used, d_e);
  if (!embedding) return embedding;
  hash_missing(*embedding, vocabulary, {});
  embedding->source = "drawn from a hash of each word";
  return embedding;
}

Result<Embedding> read_embedding(const std::string& path, const Vocabulary& vocabulary,
                                 std::span<const WordId> used, std::optional<std::size_t> d_e) {
  auto reader = LineReader::open(path);
  if (!reader) return error_of(reader);
  Result<Embedding> embedding;
  std::unordered_map<std::string_view, std::uint32_t> wanted;
  std::vector<bool> in_file;
  for (;;) {
    const auto next = reader->next();
    if (!next) return error_of(next);
    if (!*next) break;
    const std::string_view line = trim_end(**next);
    if (line.empty()) continue;
    if (embedding->d_e == 0) {
      const auto d = find_dimension(line, *reader, path, d_e);
      if (!d) return error_of(d);
      embedding = make_rows(vocabulary, used, *d);
      if (!embedding) return embedding;
      for (const WordId id : used) wanted.emplace(vocabulary.word(id), embedding->row[id]);
      in_file.resize(wanted.size());
    }
    const auto row = split_row(line, embedding->d_e, *reader);
    if (!row) return error_of(row);
    const auto word = wanted.find(row->word);
    if (word == wanted.end()) continue;
    float* vector = embedding->vectors.data() + word->second * embedding->d_e;
    if (auto parsed = parse_values(row->values, vector, *reader); !parsed) {
      return error_of(parsed);
    }
    in_file[word->second] = true;
  }
  if (embedding->d_e == 0) {
    return usage_error(fmt::format("{} holds no word vector", path),
                       "GloVe's text format: word v1 v2 ... on each line");
  }
  hash_missing(*embedding, vocabulary, in_file);
  embedding->source = fmt::format("{} ({} words found, {} drawn from a hash)", path,
                                  embedding->found, embedding->hashed);
  return embedding;
}

}  // namespace hwprof
