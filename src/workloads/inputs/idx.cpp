#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "src/workloads/inputs/image_set.h"
#include "src/workloads/inputs/line_reader.h"

namespace hwprof {
namespace {

struct IdxKind {
  std::uint32_t magic;
  std::string_view name;
  std::size_t axes;
};
constexpr IdxKind kImageFile{0x00000803, "images", 3};
constexpr IdxKind kLabelFile{0x00000801, "labels", 1};

constexpr std::size_t kIdxChunkBytes = std::size_t{1} << 20;
constexpr const char* kGetAgain = "get the file again: it is damaged or was not copied whole";

struct IdxData {
  std::vector<std::uint32_t> sizes;  // an axis each
  std::vector<std::uint8_t> values;
};

// A file that zlib unpacks where it is gzip, and hands through where it is not.
class GzipFile {
 public:
  static Result<GzipFile> open(const std::string& path) {
    Result<UniqueFd> fd = open_input(path);
    if (!fd) return error_of(fd);
    GzipFile file(display_name(path));
    file.handle_.reset(::gzdopen(fd->get(), "rb"));
    if (!file.handle_) return environment_error(0, "no memory to read " + file.name_);
    static_cast<void>(fd->release());  // closed with the handle
    return file;
  }

  // Bytes read: fewer than asked for at the end of the file only.
  Result<std::size_t> read(std::span<std::uint8_t> to) {
    const int got = ::gzread(handle_.get(), to.data(), static_cast<unsigned>(to.size()));
    int code = Z_OK;
    const char* why = ::gzerror(handle_.get(), &code);
    if (code == Z_BUF_ERROR) {
      return usage_error(fmt::format("{} ends early: its gzip data is cut off", name_), kGetAgain);
    }
    if (got < 0 || code < 0) {
      return usage_error(fmt::format("cannot unpack {}: {}", name_, why), kGetAgain);
    }
    return static_cast<std::size_t>(got);
  }

  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  struct Close {
    void operator()(gzFile_s* handle) const { ::gzclose(handle); }
  };
  explicit GzipFile(std::string name) : name_(std::move(name)) {}

  std::string name_;
  std::unique_ptr<gzFile_s, Close> handle_;
};

std::uint32_t big_endian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | bytes[3];
}

Result<void> check_magic(const std::string& name, std::uint32_t magic, const IdxKind& kind) {
  if (magic == kind.magic) return {};
  const IdxKind& other = &kind == &kImageFile ? kLabelFile : kImageFile;
  return usage_error(fmt::format("{} is no IDX file of {}: its magic number is {:#010x}, not "
                                 "{:#010x}",
                                 name, kind.name, magic, kind.magic),
                     magic == other.magic
                         ? fmt::format("it holds {}: are the two files swapped?", other.name)
                         : "give MNIST's files, plain or gzip");
}

// Bytes that the header announces: at least 1, no more than there is memory.
Result<std::size_t> total_bytes(const std::string& name, const std::vector<std::uint32_t>& sizes,
                                const IdxKind& kind) {
  const auto machine_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                             static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::string shape = fmt::format("{}", fmt::join(sizes, " x "));
  std::uint64_t total = 1;
  for (const std::uint32_t size : sizes) {
    if (size == 0) {
      return usage_error(fmt::format("{} holds no {}: its sizes are {}", name, kind.name, shape),
                         "give a file with at least one");
    }
    if (__builtin_mul_overflow(total, std::uint64_t{size}, &total)) total = UINT64_MAX;
  }
  if (total > machine_bytes) {
    return usage_error(
        fmt::format("{} announces {} bytes of {}: more than the {} bytes of this machine's memory",
                    name, shape, kind.name, machine_bytes),
        kGetAgain);
  }
  return static_cast<std::size_t>(total);
}

Result<IdxData> read_file(const std::string& path, const IdxKind& kind) {
  Result<GzipFile> file = GzipFile::open(path);
  if (!file) return error_of(file);
  const std::string& name = file->name();
  std::vector<std::uint8_t> header(4 + 4 * kind.axes);
  const Result<std::size_t> got = file->read(header);
  if (!got) return error_of(got);
  if (*got == 0) return usage_error(fmt::format("{} is empty", name), kGetAgain);
  if (*got >= 4) {
    auto fits = check_magic(name, big_endian(header.data()), kind);
    if (!fits) return error_of(fits);
  }
  if (*got < header.size()) {
    return usage_error(fmt::format("{} ends within its header, after {} bytes: no IDX file of {}",
                                   name, *got, kind.name),
                       kGetAgain);
  }
  IdxData data;
  for (std::size_t axis = 1; axis <= kind.axes; ++axis) {
    data.sizes.push_back(big_endian(header.data() + 4 * axis));
  }
  const Result<std::size_t> total = total_bytes(name, data.sizes, kind);
  if (!total) return error_of(total);
  // Piece by piece: a header that lies costs no memory.
  while (data.values.size() < *total) {
    const std::size_t begin = data.values.size();
    data.values.resize(std::min(*total, begin + kIdxChunkBytes));
    const Result<std::size_t> part = file->read(std::span(data.values).subspan(begin));
    if (!part) return error_of(part);
    if (begin + *part < data.values.size()) {
      return usage_error(fmt::format("{} is cut off: {} of the {} bytes of {} that its header "
                                     "announces",
                                     name, begin + *part, *total, kind.name),
                         kGetAgain);
    }
  }
  const Result<std::size_t> more = file->read(std::span(header).first(1));
  if (!more) return error_of(more);
  if (*more > 0) {
    return usage_error(fmt::format("{} goes on after the {} bytes of {} that its header announces",
                                   name, *total, kind.name),
                       kGetAgain);
  }
  return data;
}

}  // namespace

Result<ImageSet> read_idx(const std::string& images_path, const std::string& labels_path) {
  Result<IdxData> images = read_file(images_path, kImageFile);
  if (!images) return error_of(images);
  Result<IdxData> labels = read_file(labels_path, kLabelFile);
  if (!labels) return error_of(labels);
  if (images->sizes[0] != labels->sizes[0]) {
    return usage_error(
        fmt::format("{} holds {} images, but {} holds {} labels", display_name(images_path),
                    images->sizes[0], display_name(labels_path), labels->sizes[0]),
        "give the two files of one set: train-images with train-labels");
  }
  const auto wrong = std::find_if(labels->values.begin(), labels->values.end(),
                                  [](std::uint8_t label) { return label >= kClasses; });
  if (wrong != labels->values.end()) {
    return usage_error(
        fmt::format("label {} of {} is {}: the ten classes are 0 to 9",
                    wrong - labels->values.begin() + 1, display_name(labels_path), *wrong),
        "give labels of ten classes, as MNIST's are");
  }
  return ImageSet{.height = images->sizes[1],
                  .width = images->sizes[2],
                  .pixels = std::move(images->values),
                  .labels = std::move(labels->values),
                  .source = display_name(images_path)};
}

}  // namespace hwprof
