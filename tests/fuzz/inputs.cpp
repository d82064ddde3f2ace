// What the text CNN and the MLP are given: images and labels (IDX, plain or gzip), documents, word
// vectors.
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "src/workloads/inputs/batch.h"
#include "src/workloads/inputs/image_set.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace hwprof;

std::string big_endian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string gzip(std::string_view text) {
  z_stream stream{};
  constexpr int kGzip = 16;
  must(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  must(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

// A file with a right header, or with any; as it is or packed.
std::string idx_file(Feed& feed, std::uint32_t magic, std::size_t axes) {
  enum { kHeader = 1, kPacked = 2 };
  const std::size_t form = feed.below(4);
  std::string file;
  if ((form & kHeader) != 0) {
    file = big_endian(magic);
    std::size_t values = 1;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::size_t size = feed.below(8);
      file += big_endian(static_cast<std::uint32_t>(size));
      values *= size;
    }
    file += feed.take(values);
  } else {
    file = feed.take(feed.number<std::uint16_t>());
  }
  return (form & kPacked) != 0 ? gzip(file) : file;
}

void check_images(Feed feed) {
  const UniqueFd images = file_of(idx_file(feed, 0x803, 3)),
                 labels = file_of(idx_file(feed, 0x801, 1));
  const auto set = read_idx(path_of(images), path_of(labels));
  if (!set) return;
  must(set->size() > 0 && set->image_pixels() > 0);
  must(set->pixels.size() == set->size() * set->image_pixels());
  for (const std::uint8_t label : set->labels) must(label < kClasses);
}

void check_documents(const DocumentSet& documents) {
  must(documents.size() > 0 && documents.start.front() == 0);
  must(documents.start.back() == documents.words.size());
  for (std::size_t i = 0; i < documents.size(); ++i) {
    must(documents.start[i] <= documents.start[i + 1]);
    must(documents.length(i) <= DocumentSet::kMaxWords);
  }
  for (const WordId id : documents.words) must(id < documents.vocabulary.size());
  for (std::size_t id = 0; id < documents.vocabulary.size(); ++id)
    must(!documents.vocabulary.word(static_cast<WordId>(id)).empty());
}

void check_embedding(const Embedding& embedding, std::span<const WordId> used) {
  const std::set<WordId> distinct(used.begin(), used.end());
  must(embedding.d_e > 0 && embedding.found + embedding.hashed == distinct.size());
  must(embedding.vectors.size() == distinct.size() * embedding.d_e);
  for (const WordId id : distinct) must(embedding.row[id] < distinct.size());
  for (const float value : embedding.vectors.span()) must(std::isfinite(value));
}

void check_batch(const DocumentSet& documents, const BatchShape& shape,
                 const Embedding& embedding) {
  const auto batch = build_batch(documents, shape, embedding);
  must(batch.has_value());
  must(batch->documents() == std::min(shape.batch, documents.size()));
  must(batch->x.size() == batch->rows() * embedding.d_e);
  const PaddingCost cost = padding_cost(documents, shape);
  must(cost.as_laid_out >= 1 && cost.to_longest >= 1 && cost.whole_file >= 1);
}

void check_text_cnn(Feed feed) {
  const auto format = static_cast<DocsFormat>(feed.below(3));
  BatchShape shape{.filter_sizes = {1 + feed.below(4), 1 + feed.below(8)}};
  shape.batch = 1 + feed.below(64);
  shape.padding = feed.below(2) == 0 ? Padding::kOwn : Padding::kBatch;
  if (const std::size_t n = feed.below(32); n >= 8) shape.n = n;
  std::optional<std::size_t> d_e;
  if (const std::size_t given = feed.below(16); given > 0) d_e = given;
  // Words times the length of a vector are memory, which who gives both files asks for.
  constexpr std::size_t kMostBytes = 4096;
  const UniqueFd documents_file = file_of(feed.take(feed.number<std::uint16_t>() % kMostBytes));
  const UniqueFd vectors_file = file_of(feed.take(kMostBytes));
  const auto documents = read_documents(path_of(documents_file), format);
  if (!documents) return;
  check_documents(*documents);
  const auto used = words_of_batch(*documents, shape);
  const auto embedding = read_embedding(path_of(vectors_file), documents->vocabulary, used, d_e);
  if (!embedding) return;
  check_embedding(*embedding, used);
  check_batch(*documents, shape, *embedding);
}

}  // namespace

void fuzz(std::string_view text) {
  Feed feed(text);
  if (feed.below(2) == 0) {
    check_images(feed);
  } else {
    check_text_cnn(feed);
  }
}
