#include "counters/machine/pmu_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hwprof {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

// A tree like /sys/bus/event_source/devices.
class PmuDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hwprof-pmu-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name) << text << '\n';
  }

  fs::path root_;
};

TEST_F(PmuDeviceTest, AHybridMachineHasOnePmuForEachKindOfCore) {
  write("cpu_core/type", "4");
  write("cpu_core/cpus", "0-15");
  write("cpu_atom/type", "10");
  write("cpu_atom/cpus", "16-23");
  write("uncore_imc_0/type", "24");
  write("software/type", "1");
  PmuInfo pmu;
  pmu.devices = read_core_pmus(root_);
  ASSERT_EQ(pmu.devices.size(), 2u);
  ASSERT_NE(pmu.for_cpu(3), nullptr);
  EXPECT_EQ(pmu.for_cpu(3)->name, "cpu_core");
  EXPECT_EQ(pmu.for_cpu(20)->name, "cpu_atom");
  EXPECT_EQ(pmu.for_cpu(20)->type, 10u);
  EXPECT_EQ(pmu.for_cpu(99), nullptr);
}

TEST_F(PmuDeviceTest, APmuWithoutACpuListCoversAll) {
  write("cpu/type", "4");
  PmuInfo pmu;
  pmu.devices = read_core_pmus(root_);
  ASSERT_NE(pmu.for_cpu(1234), nullptr);
  EXPECT_EQ(pmu.for_cpu(1234)->name, "cpu");
}

TEST_F(PmuDeviceTest, WithoutACorePmuThereIsNone) {
  write("software/type", "1");
  write("uprobe/type", "9");
  write("cpu/no_type_here", "x");
  EXPECT_THAT(read_core_pmus(root_), IsEmpty());
  EXPECT_THAT(read_core_pmus(root_ / "missing"), IsEmpty());
}

TEST(PmuDevice, CorePmusAreKnownByName) {
  for (const char* name : {"cpu", "cpu_core", "cpu_atom", "cpu_lowpower", "armv8_pmuv3_0",
                           "armv8_cortex_a72", "apple_firestorm_pmu"})
    EXPECT_TRUE(is_core_pmu_name(name)) << name;
  for (const char* name : {"software", "uncore_cha_3", "amd_l3", "cpum_cf", "arm_cmn_0", "msr",
                           "arm_spe_0", "cpux", ""})
    EXPECT_FALSE(is_core_pmu_name(name)) << name;
}

TEST_F(PmuDeviceTest, FieldsGoWhereTheFormatFilesSay) {
  write("cpu/type", "4");
  write("cpu/format/event", "config:0-7,32-35");
  write("cpu/format/umask", "config:8-15");
  write("cpu/format/edge", "config:18");
  write("cpu/format/ldlat", "config1:0-15");
  const auto event = encode_sysfs_event(root_, "cpu", "event=0x1c7,umask=0x80,edge,ldlat=3");
  ASSERT_TRUE(event.has_value()) << event.error().what;
  EXPECT_EQ(event->type, 4u);
  EXPECT_EQ(event->config, 0x1000480c7u);  // bit 8 of the event stands in bit 32
  EXPECT_EQ(event->config1, 3u);
  EXPECT_FALSE(event->per_package);
  EXPECT_EQ(encode_sysfs_event(root_, "cpu", "config=0x1234,config2=7")->config, 0x1234u);
}

TEST_F(PmuDeviceTest, WrongFieldsAreUsageErrorsThatNameTheRightOnes) {
  write("cpu/type", "4");
  write("cpu/format/event", "config:0-7");
  write("cpu/format/umask", "config:8-15");
  const auto unknown = encode_sysfs_event(root_, "cpu", "event=1,mask=2");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().fault, Fault::kUsage);
  EXPECT_THAT(unknown.error().what, HasSubstr("'mask'"));
  EXPECT_THAT(unknown.error().hint, HasSubstr("event, umask"));
  const auto wide = encode_sysfs_event(root_, "cpu", "umask=0x100");
  ASSERT_FALSE(wide.has_value());
  EXPECT_THAT(wide.error().what, HasSubstr("does not fit"));
  for (const char* fields : {"", "event=", "event=zz", "=1", "event=1,,umask=1"})
    EXPECT_FALSE(encode_sysfs_event(root_, "cpu", fields).has_value()) << fields;
  const auto source = encode_sysfs_event(root_, "nosuch", "event=1");
  ASSERT_FALSE(source.has_value());
  EXPECT_THAT(source.error().hint, HasSubstr("cpu"));
}

TEST_F(PmuDeviceTest, AnArmPmuListsTheEventsThatTheCpuHas) {
  write("armv8_pmuv3/type", "8");
  write("armv8_pmuv3/format/event", "config:0-15");
  write("armv8_pmuv3/events/cpu_cycles", "event=0x0011");
  write("armv8_pmuv3/events/inst_retired", "event=0x0008");
  write("cpu/events/cpu-cycles", "event=0x3c");
  EXPECT_EQ(cpu_names_event(root_, "armv8_pmuv3", 0x08), true);
  EXPECT_EQ(cpu_names_event(root_, "armv8_pmuv3", 0x37), false);
  // x86 lists a handful of what there is.
  EXPECT_EQ(cpu_names_event(root_, "cpu", 0x1234), std::nullopt);
  EXPECT_EQ(cpu_names_event(root_, "armv9_none", 0x08), std::nullopt);
}

TEST_F(PmuDeviceTest, AnUncoreDeviceIsPerPackage) {
  write("amd_l3/type", "11");
  write("amd_l3/cpumask", "0");
  write("amd_l3/format/event", "config:0-7");
  EXPECT_TRUE(encode_sysfs_event(root_, "amd_l3", "event=4")->per_package);
}

}  // namespace
}  // namespace hwprof
