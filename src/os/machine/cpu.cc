#include "os/machine/cpu.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>

#include "os/machine/affinity.h"
#include "os/machine/cpu_model.h"
#include "os/machine/kernel_text.h"

namespace shoal::os {
namespace {

constexpr std::string_view kCpuDirectory = "/sys/devices/system/cpu/";
// 100 GHz: beyond it a frequency is a driver's bug.
constexpr std::int64_t kKhzMax = 100'000'000;
// The kernel scales capacities so that the fastest core has 1024.
constexpr std::int64_t kCapacityMax = 1024;

std::string CorePath(int id, std::string_view file) {
  return std::string(kCpuDirectory) + "cpu" + std::to_string(id) + "/" + std::string(file);
}

Result<std::int64_t> ReadKhz(const SysRoot& root, int id, std::string_view file) {
  return root.ReadInteger(CorePath(id, "cpufreq/" + std::string(file)), 1, kKhzMax);
}

Result<std::vector<int>> ReadCpuList(const SysRoot& root, const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(path));
  Result<std::vector<int>> cpus = ParseCpuList(text);
  if (!cpus.ok()) return root.Absurd(path, cpus.status().message());
  return cpus;
}

Result<std::vector<int>> ReadAllowed(const SysRoot& root) {
  if (root.is_machine()) {
    if (Result<std::vector<int>> cpus = AllowedCpus(); cpus.ok()) return cpus;
  }
  constexpr std::string_view kPath = "/proc/self/status";
  SHOAL_ASSIGN_OR_RETURN(const std::string status, root.ReadText(kPath));
  const auto list = FindField(status, "Cpus_allowed_list");
  if (!list) return root.Absurd(kPath, "no Cpus_allowed_list");
  return ParseCpuList(*list);
}

bool Contains(const std::vector<int>& sorted, int cpu) {
  return std::binary_search(sorted.begin(), sorted.end(), cpu);
}

int ReadSiblingRank(const SysRoot& root, int id, const Result<std::vector<int>>& allowed) {
  const auto siblings = ReadCpuList(root, CorePath(id, "topology/thread_siblings_list"));
  if (!siblings.ok()) return 0;
  return static_cast<int>(std::count_if(siblings->begin(), siblings->end(), [&](int sibling) {
    return sibling < id && (!allowed.ok() || Contains(*allowed, sibling));
  }));
}

// cgroup v2 writes "<quota> <period>" in microseconds, with "max" for no limit.
Result<double> ReadQuotaFile(const SysRoot& root, const std::string& path) {
  SHOAL_ASSIGN_OR_RETURN(const std::string text, root.ReadText(path));
  const std::size_t space = text.find(' ');
  const auto quota = ParseInteger(text.substr(0, space));
  const auto period = ParseInteger(space == std::string::npos ? "" : text.substr(space));
  if (text.substr(0, space) == "max") return Status(Code::kNotFound, "no limit: " + path);
  if (!quota || !period || *quota <= 0 || *period <= 0) return root.Absurd(path, "not a quota");
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

Result<double> ReadQuota(const SysRoot& root) {
  constexpr std::string_view kGroups = "/sys/fs/cgroup";
  if (const auto groups = root.ReadText("/proc/self/cgroup"); groups.ok()) {
    // "0::/user.slice": the unnamed hierarchy is version 2.
    constexpr std::string_view kVersion2 = "0::";
    const std::size_t at = groups->rfind(kVersion2);
    if (at == 0 || (at != std::string::npos && (*groups)[at - 1] == '\n')) {
      std::string own = groups->substr(at + kVersion2.size());
      own.resize(std::min(own.size(), own.find('\n')));
      auto quota = ReadQuotaFile(root, std::string(kGroups) + own + "/cpu.max");
      if (quota.ok()) return quota;
    }
  }
  auto quota = ReadQuotaFile(root, std::string(kGroups) + "/cpu.max");
  if (quota.ok()) return quota;
  // Version 1 has one number a file, and -1 for no limit.
  const auto us = root.ReadInteger(std::string(kGroups) + "/cpu/cpu.cfs_quota_us");
  const auto period_us = root.ReadInteger(std::string(kGroups) + "/cpu/cpu.cfs_period_us");
  if (!us.ok() || !period_us.ok() || *us <= 0 || *period_us <= 0) return quota.status();
  return static_cast<double>(*us) / static_cast<double>(*period_us);
}

// Capacity first: it counts work per clock too, and phones exist whose big and little
// cores have the same clock. A core that says nothing is taken for slow.
std::pair<std::int64_t, std::int64_t> Speed(const Core& core) {
  return {core.capacity.ok() ? *core.capacity : 0, core.khz_max.ok() ? *core.khz_max : 0};
}

// Allowed cores in the order in which threads should take them.
std::vector<const Core*> AllowedBySpeed(const CpuInfo& cpu) {
  std::vector<const Core*> cores;
  for (const Core& core : cpu.cores) {
    if (core.allowed) cores.push_back(&core);
  }
  std::stable_sort(cores.begin(), cores.end(), [](const Core* a, const Core* b) {
    if (a->sibling_rank != b->sibling_rank) return a->sibling_rank < b->sibling_rank;
    return Speed(*a) > Speed(*b);
  });
  return cores;
}

bool AtLeastHalfAsFast(const Core& core, const Core& fastest) {
  const auto [capacity, khz] = Speed(core);
  const auto [capacity_best, khz_best] = Speed(fastest);
  return capacity_best > 0 ? 2 * capacity >= capacity_best : 2 * khz >= khz_best;
}

Core ReadCore(const SysRoot& root, int id, const Result<std::vector<int>>& online,
              const Result<std::vector<int>>& allowed, std::string model) {
  const bool is_online = !online.ok() || Contains(*online, id);
  return Core{.id = id,
              .online = is_online,
              .allowed = is_online && (!allowed.ok() || Contains(*allowed, id)),
              .sibling_rank = ReadSiblingRank(root, id, allowed),
              .model = std::move(model),
              .khz_max = ReadKhz(root, id, "cpuinfo_max_freq"),
              .khz_limit = ReadKhz(root, id, "scaling_max_freq"),
              .khz_now = ReadKhz(root, id, "scaling_cur_freq"),
              .capacity = root.ReadInteger(CorePath(id, "cpu_capacity"), 1, kCapacityMax)};
}

}  // namespace

CpuInfo ReadCpuInfo(const SysRoot& root) {
  const auto present = ReadCpuList(root, std::string(kCpuDirectory) + "present");
  const auto online = ReadCpuList(root, std::string(kCpuDirectory) + "online");
  const auto allowed = ReadAllowed(root);
  std::vector<int> ids;
  for (const auto* list : {&present, &online, &allowed}) {
    if (list->ok()) ids.insert(ids.end(), (*list)->begin(), (*list)->end());
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (ids.empty()) ids.push_back(0);

  const auto text = root.ReadText("/proc/cpuinfo");
  CpuModels models = ParseCpuInfo(text.ok() ? *text : "");
  CpuInfo cpu{.chip = std::move(models.chip),
              .cores = {},
              .cpuset = root.ReadText("/proc/self/cpuset"),
              .quota_cores = ReadQuota(root)};
  for (const int id : ids) {
    cpu.cores.push_back(ReadCore(root, id, online, allowed, std::move(models.cores[id])));
  }
  return cpu;
}

std::vector<CoreClass> CoreClasses(const CpuInfo& cpu) {
  using Key = std::tuple<std::int64_t, std::int64_t, std::string>;
  std::map<Key, CoreClass, std::greater<>> classes;
  for (const Core& core : cpu.cores) {
    if (!core.online) continue;
    const auto [capacity, khz] = Speed(core);
    CoreClass& entry = classes[{capacity, khz, core.model}];
    entry.model = core.model;
    entry.khz_max = khz;
    entry.capacity = capacity;
    entry.cores.push_back(core.id);
    if (core.allowed) ++entry.allowed;
  }
  std::vector<CoreClass> sorted;
  sorted.reserve(classes.size());
  for (auto& [key, entry] : classes) sorted.push_back(std::move(entry));
  return sorted;
}

std::vector<int> FastestCores(const CpuInfo& cpu, std::size_t n) {
  std::vector<int> ids;
  for (const Core* core : AllowedBySpeed(cpu)) {
    if (ids.size() < n) ids.push_back(core->id);
  }
  return ids;
}

std::size_t FastCoreCount(const CpuInfo& cpu) {
  const std::vector<const Core*> cores = AllowedBySpeed(cpu);
  const auto count = std::count_if(cores.begin(), cores.end(), [&](const Core* core) {
    return core->sibling_rank == 0 && AtLeastHalfAsFast(*core, *cores.front());
  });
  return std::max<std::size_t>(1, static_cast<std::size_t>(count));
}

Result<double> ReadClockLimit(const SysRoot& root, const std::vector<int>& cores) {
  Status why(Code::kNotFound, "no core to ask");
  std::optional<double> lowest;
  for (const int id : cores) {
    Result<std::int64_t> limit = ReadKhz(root, id, "scaling_max_freq");
    Result<std::int64_t> max = ReadKhz(root, id, "cpuinfo_max_freq");
    if (!limit.ok() || !max.ok()) {
      why = std::move(limit.ok() ? max : limit).status();
      continue;
    }
    const double ratio = std::min(1.0, static_cast<double>(*limit) / static_cast<double>(*max));
    lowest = std::min(lowest.value_or(1.0), ratio);
  }
  if (!lowest) return why;
  return *lowest;
}

}  // namespace shoal::os
