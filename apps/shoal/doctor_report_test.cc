#include "shoal/doctor_report.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

// A phone that tells some things and refuses others.
DoctorReport PhoneReport() {
  const Status denied(Code::kUnavailable, "permission denied: /sys/class/thermal");
  os::MachineInfo machine{.kernel = "Linux 4.14 aarch64",
                          .model = std::string("old phone"),
                          .cpu = {.chip = "SM8150",
                                  .cores = {},
                                  .cpuset = std::string("/background"),
                                  .quota_cores = denied},
                          .sensors = {.battery = os::Battery{.name = "battery",
                                                             .percent = 87.0,
                                                             .status = os::ChargeStatus::kCharging,
                                                             .celsius = 31.0,
                                                             .volts = 4.1,
                                                             .amperes = denied},
                                      .external_power = true,
                                      .thermal = denied,
                                      .clock_limit = 0.5,
                                      .memory = {.bytes_total = std::uint64_t{4} << 30U,
                                                 .bytes_available = std::uint64_t{1} << 30U,
                                                 .bytes_resident = denied,
                                                 .pressure_percent = denied,
                                                 .huge_pages = denied}}};
  return {.machine = std::move(machine),
          .pool = {.threads = 2, .cores = {6, 7}, .spin = true},
          .speeds = {.threads = 2, .gemm_gflops = 21.5, .memory_gb_per_s = 9.5},
          .link = {},
          .advice = {"background cpuset: only 2 little cores are allowed"},
          .warning = {}};
}

TEST(DoctorReportTest, JsonSaysWhyAValueIsMissing) {
  const nlohmann::ordered_json json = ToJson(PhoneReport());
  EXPECT_EQ(json["battery"]["percent"], 87.0);
  EXPECT_EQ(json["battery"]["status"], "Charging");
  EXPECT_EQ(json["thermal"]["unavailable"], "unavailable: permission denied: /sys/class/thermal");
  EXPECT_EQ(json["threads"]["pinned_to"][1], 7);
  EXPECT_EQ(json["speed"]["gemm_gflops"], 21.5);
  EXPECT_FALSE(json.contains("link"));
}

TEST(DoctorReportTest, TextEndsWithTheAdvice) {
  const std::string text = ToText(PhoneReport());
  EXPECT_NE(text.find("battery      87 %, Charging, 31.0 °C\n"), std::string::npos) << text;
  EXPECT_NE(text.find("heat         - (permission denied: /sys/class/thermal)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("clock        up to 50 % of its maximum\n"), std::string::npos) << text;
  EXPECT_NE(text.find("memory       1.0 GiB free of 4.0 GiB\n"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("  * background cpuset: only 2 little cores are allowed\n")) << text;
}

TEST(DoctorReportTest, NoAdviceMeansAllIsWell) {
  DoctorReport report = PhoneReport();
  report.advice.clear();
  report.link = LinkSpeeds{.round_trip_ms_best = 1.25,
                           .round_trip_ms_median = 2.5,
                           .receive_mbit_per_s = 94,
                           .send_mbit_per_s = 88};
  const std::string text = ToText(report);
  EXPECT_TRUE(text.ends_with("  All is well.\n")) << text;
  report.warning = "batteries swell";
  EXPECT_TRUE(ToText(report).ends_with("  All is well.\n  ! batteries swell\n"));
  EXPECT_EQ(ToJson(report)["warning"], "batteries swell");
  EXPECT_NE(text.find("1.25 ms there and back (median 2.50), 94 Mb/s in, 88 Mb/s out"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace shoal
