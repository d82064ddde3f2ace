// MNIST's files, good and bad: every refusal names the file and what was found in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "src/workloads/inputs/image_set.h"
#include "tests/temporary_file.h"

namespace hwprof {
namespace {

using testing::HasSubstr;

std::string number(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16 & 0xff),
          static_cast<char>(value >> 8 & 0xff), static_cast<char>(value & 0xff)};
}

std::string images_file(std::uint32_t count, std::uint32_t height = 2, std::uint32_t width = 3) {
  std::string bytes = number(0x803) + number(count) + number(height) + number(width);
  for (std::uint32_t i = 0; i < count * height * width; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string labels_file(const std::string& labels) {
  return number(0x801) + number(static_cast<std::uint32_t>(labels.size())) + labels;
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(bytes.size() + 1000, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

const std::string kTwoLabels("\x00\x09", 2);

Error refusal(const std::string& images, const std::string& labels) {
  const TemporaryFile image_file(images), label_file(labels);
  const Result<ImageSet> read = read_idx(image_file.path(), label_file.path());
  if (read) {
    ADD_FAILURE() << "was not refused";
    return {};
  }
  EXPECT_EQ(read.error().fault, Fault::kUsage);
  EXPECT_NE(read.error().hint, "");
  const bool named = read.error().what.find(image_file.path()) != std::string::npos ||
                     read.error().what.find(label_file.path()) != std::string::npos;
  EXPECT_TRUE(named) << read.error().what;
  return read.error();
}

TEST(Idx, PlainAndGzipGiveTheSame) {
  const TemporaryFile images(images_file(2)), labels(labels_file(kTwoLabels));
  const TemporaryFile packed_images(gzipped(images_file(2)));
  const TemporaryFile packed_labels(gzipped(labels_file(kTwoLabels)));
  const Result<ImageSet> plain = read_idx(images.path(), labels.path());
  const Result<ImageSet> packed = read_idx(packed_images.path(), packed_labels.path());
  ASSERT_TRUE(plain) << plain.error().what;
  ASSERT_TRUE(packed) << packed.error().what;
  EXPECT_EQ(plain->size(), 2U);
  EXPECT_EQ(plain->height, 2U);
  EXPECT_EQ(plain->width, 3U);
  EXPECT_THAT(plain->labels, testing::ElementsAre(0, 9));
  EXPECT_THAT(plain->image(1), testing::ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(packed->pixels, plain->pixels);
  EXPECT_EQ(packed->labels, plain->labels);
}

TEST(Idx, AWrongMagicNumberIsShown) {
  std::string wrong = images_file(2);
  wrong[2] = 0x0d;  // IDX of floats
  EXPECT_THAT(refusal(wrong, labels_file(kTwoLabels)).what,
              HasSubstr("magic number is 0x00000d03, not 0x00000803"));
  EXPECT_THAT(refusal("P5 28 28 255 and so on", labels_file(kTwoLabels)).what,
              HasSubstr("0x50352032"));
}

TEST(Idx, SwappedFilesAreCalledSo) {
  EXPECT_THAT(refusal(labels_file(kTwoLabels), images_file(2)).hint, HasSubstr("swapped"));
}

TEST(Idx, CutAndOverlongFilesSayHowMuchThereIs) {
  EXPECT_THAT(refusal(images_file(2).substr(0, 20), labels_file(kTwoLabels)).what,
              HasSubstr("is cut off: 4 of the 12 bytes of images"));
  EXPECT_THAT(refusal(images_file(2).substr(0, 11), labels_file(kTwoLabels)).what,
              HasSubstr("ends within its header, after 11 bytes"));
  EXPECT_THAT(refusal(images_file(2), labels_file(kTwoLabels) + "x").what,
              HasSubstr("goes on after the 2 bytes of labels"));
}

TEST(Idx, EmptyFilesAndEmptySetsAreRefused) {
  EXPECT_THAT(refusal("", labels_file(kTwoLabels)).what, HasSubstr("is empty"));
  EXPECT_THAT(refusal(images_file(0), labels_file("")).what, HasSubstr("holds no images"));
  EXPECT_THAT(refusal(images_file(2, 0, 3), labels_file(kTwoLabels)).what, HasSubstr("2 x 0 x 3"));
}

TEST(Idx, AGzipThatEndsEarlyOrIsDamagedIsToldFromAShortFile) {
  const std::string packed = gzipped(images_file(200));
  const std::string labels = labels_file(std::string(200, '\1'));
  EXPECT_THAT(refusal(packed.substr(0, packed.size() / 2), labels).what,
              HasSubstr("its gzip data is cut off"));
  EXPECT_THAT(refusal(packed.substr(0, packed.size() - 4), labels).what,
              HasSubstr("its gzip data is cut off"));
  std::string damaged = packed;
  damaged[damaged.size() - 6] ^= 0x55;  // in the checksum
  EXPECT_THAT(refusal(damaged, labels).what, HasSubstr("cannot unpack"));
}

TEST(Idx, SizesThatOverflowAreMoreThanTheMemoryAndNotAllocated) {
  for (const std::uint32_t size : {0xffffffffU, 0x80000000U, 0x200000U}) {
    const std::string header = number(0x803) + number(size) + number(size) + number(size);
    EXPECT_THAT(refusal(header, labels_file(kTwoLabels)).what,
                HasSubstr("of this machine's memory"));
  }
}

TEST(Idx, UnequalLengthsNameBothFiles) {
  EXPECT_THAT(refusal(images_file(3), labels_file(kTwoLabels)).what,
              testing::AllOf(HasSubstr("holds 3 images"), HasSubstr("holds 2 labels")));
}

TEST(Idx, ALabelBeyondNineIsNamedWithItsPlace) {
  EXPECT_THAT(refusal(images_file(2), labels_file("\x01\x0a")).what, HasSubstr("label 2 of "));
}

TEST(Idx, AMissingFileAndAFolderAreRefused) {
  const TemporaryFile labels(labels_file(kTwoLabels));
  EXPECT_THAT(read_idx("/nowhere/images", labels.path()).error().what,
              HasSubstr("cannot open /nowhere/images"));
  EXPECT_THAT(read_idx("/", labels.path()).error().what, HasSubstr("is a directory"));
}

}  // namespace
}  // namespace hwprof
