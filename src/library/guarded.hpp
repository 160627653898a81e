#pragma once
#include <functional>
#include <new>
#include <string>
#include <system_error>

#include "dpmpi/dpmpi.hpp"

#include "core/errors.hpp"

namespace dpmpi {

/// body(), with every error as one that programs without our headers know.
template <class Body>
auto guarded(Body&& body) -> decltype(body()) {
  const auto failed = [](ExitCode code, const std::string& message) {
    return library::Error(static_cast<int>(code), message);
  };
  try {
    return body();
  } catch (const Error& e) {
    throw failed(e.code(), std::string(e.kind()) + ": " + e.what());
  } catch (const std::system_error& e) {
    throw failed(ExitCode::data, std::string("data error: ") + e.what());
  } catch (const std::bad_alloc&) {
    throw failed(ExitCode::bug, "out of memory");
  } catch (const std::exception& e) {
    throw failed(ExitCode::bug, std::string("internal error (please report): ") + e.what());
  }
}

}  // namespace dpmpi
