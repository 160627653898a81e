#pragma once
// Silence for code whose messages would tell what is secret.

#include "core/console/log.hpp"

namespace dpmpi {

/// While it lives this process says nothing but errors, at whatever level it spoke before.
class Hush {
 public:
  Hush();
  ~Hush();
  Hush(const Hush&) = delete;
  Hush& operator=(const Hush&) = delete;

 private:
  LogLevel before_;
};

}  // namespace dpmpi
