// How the kernel was entered, and what is said of page faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/blas/judge/judge_run.h"
#include "src/observe/samples/kernel_entry.h"
#include "src/observe/samples/sampling.h"

namespace hwprof {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

template <class... Bytes>
std::array<std::byte, sizeof...(Bytes)> code(Bytes... bytes) {
  return {static_cast<std::byte>(bytes)...};
}

TEST(KernelEntry, KnowsTheSystemCallsOfX86) {
  EXPECT_TRUE(observe::is_system_call_x86(code(0x0f, 0x05)));
  EXPECT_TRUE(observe::is_system_call_x86(code(0x0f, 0x34)));
  EXPECT_TRUE(observe::is_system_call_x86(code(0xcd, 0x80)));
  EXPECT_FALSE(observe::is_system_call_x86(code(0xf3, 0xaa)));  // rep stosb, before one that faults
  EXPECT_FALSE(observe::is_system_call_x86(code(0x05, 0x0f)));
}

TEST(KernelEntry, KnowsTheSystemCallsOfArm64) {
  EXPECT_TRUE(observe::is_system_call_a64(code(0x01, 0x00, 0x00, 0xd4)));   // svc #0
  EXPECT_TRUE(observe::is_system_call_a64(code(0xe1, 0xff, 0x1f, 0xd4)));   // svc #0xffff
  EXPECT_FALSE(observe::is_system_call_a64(code(0x02, 0x00, 0x00, 0xd4)));  // hvc #0
  EXPECT_FALSE(observe::is_system_call_a64(code(0x00, 0x00, 0x20, 0xd4)));  // brk #0
  EXPECT_FALSE(observe::is_system_call_a64(code(0x01, 0x00, 0x00, 0x39)));  // strb w1, [x0]
}

TEST(KernelEntry, SaysNothingOfTooFewBytes) {
  EXPECT_FALSE(observe::ends_in_system_call({}));
  const auto one = code(0x05);
  EXPECT_FALSE(observe::ends_in_system_call(one));
}

// 300 of 1000 samples at 1000 Hz in page faults: 0.3 s.
class FaultFinding : public ::testing::Test {
 protected:
  FaultFinding() {
    report::Executed& executed = evidence_.executed;
    executed.samples = 1000;
    executed.frequency_hz = 1000;
    executed.by_library = {{"/usr/bin/train", "", 600, 0.6},
                           {observe::kFaultCode, "", 300, 0.3},
                           {observe::kKernelCode, "", 100, 0.1}};
    executed.by_symbol = {{"step", "/usr/bin/train", 600, 0.6},
                          {"memset", observe::kFaultCode, 290, 0.29},
                          {"munmap", observe::kKernelCode, 80, 0.08},
                          {"read", observe::kKernelCode, 20, 0.02},
                          {"step", observe::kFaultCode, 10, 0.01}};
    memory_ = {.faults = 300'000, .peak_bytes = 100e6, .page_bytes = 4096};
  }
  std::string finding() {
    return blas::fault_finding({.evidence = evidence_, .ladder = {}, .memory = memory_});
  }

  report::BlasEvidence evidence_;
  blas::MemoryUse memory_;
};

TEST_F(FaultFinding, SaysThatMemoryIsTakenAnew) {
  EXPECT_THAT(finding(),
              AllOf(HasSubstr("Page faults take 30 % of the CPU time: 300 k, 1.00 µs each, most in "
                              "memset, and giving memory back 8 %."),
                    HasSubstr("At least 1.14 GiB were touched, and no process held more than 95.4 "
                              "MiB: the same memory is given back and taken anew."),
                    HasSubstr("hwprof run --try GLIBC_TUNABLES=glibc.malloc.")));
}

// A page may be a huge one, so their number is a lower bound.
TEST_F(FaultFinding, SaysAnewOnlyWhereMoreWasTouchedThanHeld) {
  memory_.peak_bytes = 1e9;
  EXPECT_THAT(finding(), AllOf(HasSubstr("giving memory back 8 %. Keep arrays"),
                               HasSubstr("--try GLIBC_TUNABLES"), Not(HasSubstr("anew"))));
  memory_.peak_bytes.reset();
  EXPECT_THAT(finding(), AllOf(HasSubstr("Keep arrays"), Not(HasSubstr("anew"))));
}

TEST_F(FaultFinding, SaysNothingOfMemoryGivenBackWhereNoneWas) {
  evidence_.executed.by_symbol[2].name = "write";
  EXPECT_THAT(finding(), AllOf(HasSubstr("most in memset. Keep arrays and write into them again "
                                         "(numpy: out=)."),
                               Not(HasSubstr("GLIBC_TUNABLES")), Not(HasSubstr("anew"))));
}

TEST_F(FaultFinding, NeedsANumberThatFitsToTheTime) {
  memory_.faults = 200;  // 1.5 ms each
  EXPECT_THAT(finding(), IsEmpty());
  memory_.faults = 10e6;  // 30 ns each
  EXPECT_THAT(finding(), IsEmpty());
  memory_.faults.reset();
  EXPECT_THAT(finding(), IsEmpty());
}

TEST_F(FaultFinding, IsSilentWhereTheyCostLittle) {
  evidence_.executed.by_library[1].fraction = 0.06;  // 0.046 to 0.076
  EXPECT_THAT(finding(), IsEmpty());
}

}  // namespace
}  // namespace hwprof
