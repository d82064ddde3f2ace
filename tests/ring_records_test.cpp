// Records as bytes: wrapped, cut short, and of kinds that a test cannot make a kernel write.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "src/observe/perf/records.h"

namespace hwprof::observe {
namespace {

// A record, field by field.
class Bytes {
 public:
  Bytes(std::uint32_t type, std::uint16_t misc) { add(perf_event_header{type, misc, 0}); }
  template <class T>
  Bytes& add(T value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  Bytes& text(const std::string& value) {
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
    do bytes_.push_back(std::byte{0});
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  std::vector<std::byte> done() {
    const auto size = static_cast<std::uint16_t>(bytes_.size());
    std::memcpy(&bytes_[offsetof(perf_event_header, size)], &size, sizeof size);
    return bytes_;
  }
  std::vector<std::byte> done_with_trailer(std::uint64_t time_ns) {
    return add(std::int32_t{7}).add(std::int32_t{8}).add(time_ns).done();
  }

 private:
  std::vector<std::byte> bytes_;
};

std::vector<std::byte> sample_bytes(std::uint64_t ip, std::uint64_t time_ns) {
  return Bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER)
      .add(ip)
      .add(std::int32_t{40})
      .add(std::int32_t{41})
      .add(time_ns)
      .done();
}

std::vector<std::byte> mapped_bytes(const std::string& path, int protection = PROT_READ | PROT_EXEC,
                                    int flags = MAP_PRIVATE) {
  return Bytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER)
      .add(std::int32_t{40})
      .add(std::int32_t{41})
      .add(std::uint64_t{0x7f0000000000})
      .add(std::uint64_t{0x3000})
      .add(std::uint64_t{0x1000})
      .add(std::uint32_t{8})
      .add(std::uint32_t{1})
      .add(std::uint64_t{1234})
      .add(std::uint64_t{7})
      .add(static_cast<std::uint32_t>(protection))
      .add(static_cast<std::uint32_t>(flags))
      .text(path)
      .done_with_trailer(99);
}

TEST(Records, AreReadFieldByField) {
  const auto record = parse_record(mapped_bytes("/usr/lib/libx.so"), kInstructionHits);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->time_ns, 99U);
  const auto& mapped = std::get<Mapped>(record->body);
  EXPECT_EQ(mapped.pid, 40);
  EXPECT_EQ(mapped.start, 0x7f0000000000U);
  EXPECT_EQ(mapped.length, 0x3000U);
  EXPECT_EQ(mapped.offset, 0x1000U);
  EXPECT_EQ(mapped.file, (FileId{8, 1, 1234}));
  EXPECT_EQ(mapped.generation, 7U);
  EXPECT_EQ(mapped.path, "/usr/lib/libx.so");
  EXPECT_TRUE(mapped.takes_probes);
  for (const auto& [protection, flags] : {std::pair(PROT_READ | PROT_EXEC, MAP_SHARED),
                                          std::pair(PROT_WRITE | PROT_EXEC, MAP_PRIVATE)}) {
    const auto other =
        parse_record(mapped_bytes("/usr/lib/libx.so", protection, flags), kInstructionHits);
    ASSERT_TRUE(other);
    EXPECT_FALSE(std::get<Mapped>(other->body).takes_probes) << protection << " " << flags;
  }

  const auto sample = parse_record(sample_bytes(0x401000, 5), kInstructionHits);
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->time_ns, 5U);
  EXPECT_EQ(std::get<Sample>(sample->body).tid, 41);
  EXPECT_EQ(std::get<Sample>(sample->body).ip, 0x401000U);
  EXPECT_FALSE(std::get<Sample>(sample->body).in_kernel);
}

TEST(Records, SayWhereAProgramStandsThatIsInTheKernel) {
  const auto parsed = [](std::uint64_t abi) {
    Bytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
    bytes.add(std::uint64_t{0xffffffff81000000}).add(std::int32_t{40}).add(std::int32_t{41});
    bytes.add(std::uint64_t{5}).add(abi);
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) bytes.add(std::uint64_t{0x401000});
    return std::get<Sample>(parse_record(bytes.done(), kInstructionHits | kUserIp).value().body);
  };
  EXPECT_TRUE(parsed(PERF_SAMPLE_REGS_ABI_64).in_kernel);
  EXPECT_EQ(parsed(PERF_SAMPLE_REGS_ABI_64).user_ip, 0x401000U);
  EXPECT_EQ(parsed(PERF_SAMPLE_REGS_ABI_NONE).user_ip, 0U) << "a thread of the kernel";
}

TEST(Records, HaveRegistersAndStackToUnwind) {
  const std::uint64_t mask = kUserIpRegister | 1U | kUserIpRegister << 1U;
  const auto parsed = [&](std::uint64_t abi, std::uint64_t copied) {
    Bytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    bytes.add(std::uint64_t{0x401000}).add(std::int32_t{40}).add(std::int32_t{41});
    bytes.add(std::uint64_t{5}).add(abi);
    for (const std::uint64_t value : {1U, 0x401000U, 3U}) bytes.add(value);
    bytes.add(std::uint64_t{24}).add(std::uint64_t{7}).add(std::uint64_t{8}).add(std::uint64_t{9});
    return parse_record(bytes.add(copied).done(), kInstructionHits | kUserIp | kStackTop, mask);
  };
  const auto sample = [&](std::uint64_t abi, std::uint64_t copied) {
    return std::get<Sample>(parsed(abi, copied).value().body);
  };
  const Sample whole = sample(PERF_SAMPLE_REGS_ABI_64, 16);
  EXPECT_EQ(whole.registers, (std::vector<std::uint64_t>{1, 0x401000, 3}));
  EXPECT_EQ(whole.user_ip, 0x401000U);
  EXPECT_EQ(whole.stack.size(), 16U) << "the rest was not there";
  EXPECT_EQ(whole.stack_top, 7U);
  EXPECT_EQ(sample(PERF_SAMPLE_REGS_ABI_64, ~std::uint64_t{0}).stack.size(), 24U);
  EXPECT_TRUE(sample(PERF_SAMPLE_REGS_ABI_32, 24).registers.empty());
  EXPECT_EQ(sample(PERF_SAMPLE_REGS_ABI_32, 24).user_ip, 0x401000U);
}

TEST(Records, TellWhatLiesOnTopOfTheStack) {
  const auto parsed = [](std::uint64_t size, std::uint64_t copied) {
    Bytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    bytes.add(std::uint64_t{0x401000}).add(std::int32_t{40}).add(std::int32_t{41});
    bytes.add(std::uint64_t{5}).add(std::uint64_t{PERF_SAMPLE_REGS_ABI_64});
    bytes.add(std::uint64_t{0x401000}).add(size);
    if (size > 0) bytes.add(std::uint64_t{0x402000}).add(copied);
    return std::get<Sample>(
        parse_record(bytes.done(), kInstructionHits | kUserIp | kStackTop).value().body);
  };
  EXPECT_EQ(parsed(8, 8).stack_top, 0x402000U);
  EXPECT_EQ(parsed(8, 0).stack_top, 0U) << "its memory was not there";
  EXPECT_EQ(parsed(0, 0).stack_top, 0U) << "a thread of the kernel";
}

TEST(Records, TellForksExecsAndLosses) {
  const auto fork = parse_record(Bytes(PERF_RECORD_FORK, 0)
                                     .add(std::int32_t{50})
                                     .add(std::int32_t{40})
                                     .add(std::int32_t{51})
                                     .add(std::int32_t{41})
                                     .add(std::uint64_t{1})
                                     .done_with_trailer(1),
                                 kInstructionHits);
  ASSERT_TRUE(fork);
  EXPECT_EQ(std::get<Forked>(fork->body).pid, 50);
  EXPECT_EQ(std::get<Forked>(fork->body).parent_pid, 40);
  EXPECT_EQ(std::get<Forked>(fork->body).tid, 51);

  const auto exec = parse_record(Bytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
                                     .add(std::int32_t{50})
                                     .add(std::int32_t{50})
                                     .text("python3")
                                     .done_with_trailer(2),
                                 kInstructionHits);
  ASSERT_TRUE(exec);
  EXPECT_TRUE(std::get<Named>(exec->body).by_exec);
  EXPECT_EQ(std::get<Named>(exec->body).name, "python3");

  const auto lost = parse_record(
      Bytes(PERF_RECORD_LOST, 0).add(std::uint64_t{1}).add(std::uint64_t{17}).done_with_trailer(3),
      kInstructionHits);
  ASSERT_TRUE(lost);
  EXPECT_EQ(std::get<Lost>(lost->body).records, 17U);
}

TEST(Records, LeaveTheMarksOutOfCallChains) {
  Bytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  bytes.add(std::uint64_t{0x10}).add(std::int32_t{1}).add(std::int32_t{1}).add(std::uint64_t{9});
  bytes.add(std::uint64_t{4}).add(static_cast<std::uint64_t>(PERF_CONTEXT_USER));
  bytes.add(std::uint64_t{0x10}).add(std::uint64_t{0x20}).add(std::uint64_t{0x30});
  const auto record = parse_record(bytes.done(), kStackHits);
  ASSERT_TRUE(record);
  EXPECT_THAT(std::get<Sample>(record->body).callers, ::testing::ElementsAre(0x20, 0x30));
}

TEST(Records, OfProbesHaveTheirEventAndItsFields) {
  Bytes bytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
  bytes.add(std::int32_t{40}).add(std::int32_t{41}).add(std::uint64_t{9}).add(std::uint64_t{17});
  bytes.add(std::uint32_t{4}).add(std::uint32_t{0x01020304});
  const auto whole = bytes.done();
  const auto record = parse_record(whole, kProbeHits);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->time_ns, 9U);
  const auto& sample = std::get<Sample>(record->body);
  EXPECT_EQ(sample.pid, 40);
  EXPECT_EQ(sample.event, 17U);
  EXPECT_THAT(sample.raw,
              ::testing::ElementsAre(std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}));
  auto endless = whole;  // claims more bytes than there are
  endless[whole.size() - 8] = std::byte{200};
  EXPECT_FALSE(parse_record(endless, kProbeHits));
  // All other records of such events end in pid and tid, time, event.
  const auto exit = parse_record(Bytes(PERF_RECORD_EXIT, 0)
                                     .add(std::int32_t{50})
                                     .add(std::int32_t{40})
                                     .add(std::int32_t{51})
                                     .add(std::int32_t{41})
                                     .add(std::uint64_t{1})
                                     .add(std::int32_t{50})
                                     .add(std::int32_t{51})
                                     .add(std::uint64_t{77})
                                     .add(std::uint64_t{17})
                                     .done(),
                                 kProbeHits);
  ASSERT_TRUE(exit);
  EXPECT_EQ(exit->time_ns, 77U);
  EXPECT_EQ(std::get<Exited>(exit->body).tid, 51);
}

TEST(Records, AreNothingWhenCutShortAnywhere) {
  for (const auto& whole : {mapped_bytes("/x"), sample_bytes(1, 2)}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      EXPECT_FALSE(parse_record(part, kInstructionHits)) << size;  // the header says more
      if (size < sizeof(perf_event_header)) continue;
      const auto claimed = static_cast<std::uint16_t>(size);
      std::memcpy(&part[offsetof(perf_event_header, size)], &claimed, sizeof claimed);
      const auto record = parse_record(part, kInstructionHits);
      if (record && std::holds_alternative<Mapped>(record->body)) ADD_FAILURE() << size;
    }
  }
  // A chain that claims more entries than there are.
  Bytes endless(PERF_RECORD_SAMPLE, 0);
  endless.add(std::uint64_t{1}).add(std::int32_t{1}).add(std::int32_t{1}).add(std::uint64_t{1});
  EXPECT_FALSE(parse_record(endless.add(~std::uint64_t{0}).done(), kStackHits));
}

TEST(Ring, GivesRecordsThatGoRoundItsEndWhole) {
  const auto record = mapped_bytes("/usr/lib/a-name-that-is-long.so");
  std::vector<std::byte> ring(256);
  for (std::uint64_t tail = 1000; tail < 1256; tail += 8) {
    for (std::size_t i = 0; i < record.size(); ++i) ring[(tail + i) % ring.size()] = record[i];
    const RingContent content = parse_ring(ring, tail, tail + record.size(), kInstructionHits);
    ASSERT_EQ(content.records.size(), 1U) << tail;
    EXPECT_FALSE(content.broken);
    EXPECT_EQ(std::get<Mapped>(content.records[0].body).path, "/usr/lib/a-name-that-is-long.so");
  }
}

TEST(Ring, GivesUpAtAHeaderThatCannotBe) {
  auto bytes = sample_bytes(1, 2);
  const std::size_t first = bytes.size();
  bytes.resize(256);
  EXPECT_TRUE(
      parse_ring(bytes, 0, first + 8, kInstructionHits).broken);  // a header of zeros: size 0
  EXPECT_EQ(parse_ring(bytes, 0, first + 8, kInstructionHits).records.size(), 1U);
  EXPECT_TRUE(parse_ring(bytes, 0, first - 8, kInstructionHits).broken);  // reaches past the head
  EXPECT_TRUE(parse_ring(bytes, 0, 4, kInstructionHits).broken);
  EXPECT_TRUE(parse_ring(bytes, 0, 1000, kInstructionHits).broken);  // more than the ring holds
  EXPECT_TRUE(parse_ring(bytes, 24, 24, kInstructionHits).records.empty());
}

TEST(Ring, PassesOverKindsThatItDoesNotKnow) {
  auto bytes = Bytes(4711, 0).add(std::uint64_t{1}).done_with_trailer(1);
  const auto sample = sample_bytes(3, 4);
  bytes.insert(bytes.end(), sample.begin(), sample.end());
  const std::size_t size = bytes.size();
  bytes.resize(256);
  const RingContent content = parse_ring(bytes, 0, size, kInstructionHits);
  EXPECT_FALSE(content.broken);
  ASSERT_EQ(content.records.size(), 1U);
  EXPECT_EQ(std::get<Sample>(content.records[0].body).ip, 3U);
}

}  // namespace
}  // namespace hwprof::observe
