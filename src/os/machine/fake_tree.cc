#include "os/machine/fake_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace shoal::os {
namespace {

constexpr uid_t kNobody = 65534;

}  // namespace

FakeTree::FakeTree() : path_(testing::TempDir() + "shoal_treeXXXXXX") {
  SHOAL_CHECK(::mkdtemp(path_.data()) != nullptr);
  // The directory is its owner's alone, and a test may go on as somebody else.
  SHOAL_CHECK(::chmod(path_.c_str(), S_IRWXU | S_IRGRP | S_IXGRP | S_IROTH | S_IXOTH) == 0);
}

FakeTree::~FakeTree() {
  namespace fs = std::filesystem;
  std::error_code ignored;
  // Forbidden directories would stop the one who removes them, unless that is root.
  for (const auto& entry : fs::recursive_directory_iterator(
           path_, fs::directory_options::skip_permission_denied, ignored)) {
    fs::permissions(entry, fs::perms::owner_all, fs::perm_options::add, ignored);
  }
  fs::remove_all(path_, ignored);
}

void FakeTree::Write(std::string_view path, std::string_view bytes) const {
  const std::filesystem::path file = path_ + std::string(path);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << bytes;
  SHOAL_CHECK(out.good());
}

void FakeTree::Forbid(std::string_view path) const {
  SHOAL_CHECK(::chmod((path_ + std::string(path)).c_str(), 0) == 0);
}

Unprivileged::Unprivileged() : was_root_(::geteuid() == 0) {
  if (was_root_) ok_ = ::seteuid(kNobody) == 0;
}

Unprivileged::~Unprivileged() {
  if (was_root_ && ok_) SHOAL_CHECK(::seteuid(0) == 0);
}

}  // namespace shoal::os
