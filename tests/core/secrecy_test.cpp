// What a crash, a debugger or the swap could take out of the process, tried in children.
#include "core/secrecy.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/crypto.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/numbers/random.hpp"

namespace dpmpi::secrecy_test {
namespace {

namespace fs = std::filesystem;

std::string text_of(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// What waitpid says of a child that does this and ends.
int status_of_child(const std::function<int()>& what) {
  const pid_t child = fork();
  if (child == 0) _exit(what());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

class CoreDumps : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    fs::current_path(folder_);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }

  // Crashes with all the room for a dump that this user may have.
  static bool dumps(const std::function<void()>& first) {
    const int status = status_of_child([&] {
      rlimit limit{};
      getrlimit(RLIMIT_CORE, &limit);
      limit.rlim_cur = limit.rlim_max;
      setrlimit(RLIMIT_CORE, &limit);
      std::signal(SIGABRT, SIG_DFL);
      first();
      std::abort();
      return 0;
    });
    EXPECT_TRUE(WIFSIGNALED(status));
    return WCOREDUMP(status);
  }

  fs::path before_ = fs::current_path();
  std::string folder_ = ::testing::TempDir() + "dpmpi_core_dumps";
};

TEST_F(CoreDumps, AreForbidden) {
  if (!dumps([] {})) GTEST_SKIP() << "this machine dumps no cores";
  EXPECT_FALSE(dumps([] { forbid_core_dumps(); }));
}

// A limit of 0 would let the kernel hand the dump to a program, where core_pattern names one.
TEST_F(CoreDumps, TheLimitIsTheOneThatPipesKeepTo) {
  const int status = status_of_child([] {
    rlimit limit{};
    getrlimit(RLIMIT_CORE, &limit);
    const rlim_t most = limit.rlim_max;
    forbid_core_dumps();
    getrlimit(RLIMIT_CORE, &limit);
    return limit.rlim_max == std::min<rlim_t>(most, 1) && limit.rlim_cur == limit.rlim_max ? 0 : 1;
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(CoreDumps, WouldHoldNoMemory) {
  if (text_of("/proc/self/coredump_filter").empty()) GTEST_SKIP() << "this kernel dumps no cores";
  const int status = status_of_child([] {
    forbid_core_dumps();
    return std::stoi(text_of("/proc/self/coredump_filter"), nullptr, 16);
  });
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Does a process of the same user, without privileges, read the memory of one that did `first`?
bool readable_after(const std::function<void()>& first) {
  static volatile char secret = 's';
  const int status = status_of_child([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 2;
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // a change of user takes it away
    int ready[2];
    if (pipe(ready) != 0) return 2;
    const pid_t owner = fork();
    if (owner == 0) {
      prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      first();
      [[maybe_unused]] const auto written = write(ready[1], "", 1);
      for (;;) pause();
    }
    char found = 0;
    [[maybe_unused]] const auto got = read(ready[0], &found, 1);
    const iovec here{&found, 1}, there{const_cast<char*>(&secret), 1};
    const ssize_t read = process_vm_readv(owner, &here, 1, &there, 1, 0);
    kill(owner, SIGKILL);
    waitpid(owner, nullptr, 0);
    return read == 1 && found == 's' ? 1 : 0;
  });
  EXPECT_LE(WEXITSTATUS(status), 1) << "the child could not be set up";
  return WEXITSTATUS(status) == 1;
}

TEST(LookingIn, IsForbidden) {
  if (!readable_after([] {})) GTEST_SKIP() << "on this machine no process reads another's memory";
  EXPECT_FALSE(readable_after([] { forbid_looking_in(); }));
}

TEST(Wipe, OverwritesAllOfIt) {
  std::string text = "a secret of some length, on the heap";
  std::array<std::uint64_t, 3> words{1, 2, 3};
  wipe(text), wipe(words);
  EXPECT_EQ(text, std::string(text.size(), '\0'));
  EXPECT_EQ(words, (std::array<std::uint64_t, 3>{}));
}

// The line of flags, in /proc/self/smaps, of the mapping that `address` lies in.
std::string flags_of(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0, last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {
      const auto at = reinterpret_cast<unsigned long>(address);
      inside = first <= at && at < last;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

TEST(Keys, LieInPagesThatAreNeitherDumpedNorSwapped) {
  const SecretKey key = SecretKey::from_seed(1), copy = key, derived = key.derive("x");
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool may_lock = limit.rlim_cur >= 1 << 16;
  for (const SecretKey* one : {&key, &copy, &derived}) {
    const std::string flags = flags_of(one->bytes().data());
    ASSERT_NE(flags, "") << "no smaps";
    EXPECT_NE(flags.find(" dd "), flags.npos) << "would be dumped: " << flags;
    EXPECT_TRUE(!may_lock || flags.find(" lo ") != flags.npos) << "may be swapped out: " << flags;
  }
}

// Far more keys than fit there: the others are on the common heap, and OpenSSL has room for its own.
TEST(Keys, ThatAreManyAreStillRight) {
  const SecretKey first = SecretKey::from_seed(5);
  std::vector<SecretKey> keys;
  for (std::uint64_t i = 0; i < 4000; ++i) keys.push_back(first.derive("many", i));
  for (std::uint64_t i = 0; i < 4000; i += 7)
    ASSERT_TRUE(std::ranges::equal(keys[i].bytes(), first.derive("many", i).bytes())) << i;
  EXPECT_EQ(CRYPTO_secure_allocated(keys.back().bytes().data()), 0);
  EXPECT_EQ(keys.back().authenticate("message"), SecretKey(keys.back()).authenticate("message"));
  keys.clear();
  const SecretKey next = SecretKey::from_system();
  EXPECT_EQ(CRYPTO_secure_allocated(next.bytes().data()), 1) << "the room was not given back";
}

}  // namespace
}  // namespace dpmpi::secrecy_test
