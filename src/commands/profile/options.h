// What `hwprof profile` was asked to do: the options of one workload, and those of measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "src/cli/options.h"
#include "src/commands/profile/measure_options.h"
#include "src/workloads/inputs/batch.h"
#include "src/workloads/inputs/documents.h"

namespace hwprof {

inline constexpr std::size_t kDefaultEmbedding = 300;  // glove.6B.300d

// Sizes that the user gave with --shape; absent ones have the course's values.
struct ShapeOptions {
  std::vector<std::size_t> filter_sizes{2};
  std::optional<std::size_t> d_e;  // kDefaultEmbedding, or what the embedding file has
  std::size_t d_c = 128;
  std::optional<std::size_t> n;  // words of every document
  std::size_t l = 103;
  std::size_t batch = 64;
};

struct TextCnnOptions {
  std::optional<std::string> docs, embed;
  DocsFormat docs_format = DocsFormat::kAuto;
  Padding padding = Padding::kOwn;
  ShapeOptions shape;
  std::optional<std::uint64_t> loops;  // calls a slice; absent: as many as fill it
  std::vector<std::string> variants;   // empty: all
};

struct NetworkOptions {
  std::string network = "resnet20";   // or a file of layers; "-": standard input
  std::string against;                // another table of layers; empty: none
  std::vector<std::string> variants;  // its forms; empty: all
};

struct MlpOptions {
  std::optional<std::string> images, labels, test_images, test_labels;
  std::size_t batch = 100;
  int epochs = 10;
  std::vector<std::string> variants;  // empty: simd and blas
};

struct ProfileOptions {
  MeasureOptions measure;
  std::variant<TextCnnOptions, NetworkOptions, MlpOptions> workload;
  bool require_optimal_blas = false, require_counters = false;
  std::string against_binary;  // another hwprof to run by turns with this one; empty: none
};

// Filled in once the options are read.
std::shared_ptr<ProfileOptions> declare_profile(cli::Options& options);

}  // namespace hwprof
