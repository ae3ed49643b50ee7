// FakeTree: a directory with the /proc and /sys of some machine in it. For tests only.
#pragma once

#include <string>
#include <string_view>

#include "os/machine/sys_root.h"

namespace shoal::os {

class FakeTree {
 public:
  // Makes an empty directory in the tests' directory for temporary files; aborts if it cannot.
  FakeTree();
  // Removes it with everything in it.
  ~FakeTree();
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  const std::string& path() const { return path_; }
  SysRoot root() const { return SysRoot(path_); }

  // Makes the file and the directories it is in: Write("/proc/meminfo", "…").
  void Write(std::string_view path, std::string_view bytes) const;
  // Takes all permissions away from a file or directory, until the tree is removed.
  void Forbid(std::string_view path) const;

 private:
  std::string path_;
};

// Makes permissions count as long as it lives: root, whom no mode stops, becomes nobody.
class Unprivileged {
 public:
  Unprivileged();
  ~Unprivileged();
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

  // False if the process has to stay root; the test is then to be skipped.
  bool ok() const { return ok_; }

 private:
  bool was_root_ = false;
  bool ok_ = true;
};

}  // namespace shoal::os
