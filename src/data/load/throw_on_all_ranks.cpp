#include "data/load/throw_on_all_ranks.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "core/errors.hpp"
#include "core/throw_error.hpp"

namespace dpmpi {
namespace {

/// An exit code as one character, then the message; empty: no error.
std::string attempt(const std::function<void()>& work) {
  const auto encode = [](ExitCode code, const std::string& message) {
    return static_cast<char>(static_cast<int>(code)) + message;
  };
  try {
    work();
  } catch (const Error& e) {
    return encode(e.code(), e.what());
  } catch (const std::bad_alloc&) {
    return encode(ExitCode::data, "out of memory while loading: use more ranks on more machines");
  } catch (const std::system_error& e) {  // the system's refusal: a path, a disk
    return encode(ExitCode::data, e.what());
  } catch (const std::length_error& e) {
    return encode(ExitCode::data, fmt::format("impossible size while loading ({})", e.what()));
  } catch (const std::exception& e) {
    return encode(ExitCode::bug, e.what());
  }
  return {};
}

}  // namespace

void throw_on_all_ranks(const Communicator& comm, const std::function<void()>& work) {
  const std::string mine = attempt(work);
  if (!comm.any(!mine.empty())) return;
  const auto all = comm.gather(mine);
  const auto first = std::find_if(all.begin(), all.end(), [](const auto& text) { return !text.empty(); });
  std::string text = first == all.end() ? std::string{} : *first;
  comm.broadcast(text);
  throw_error(static_cast<ExitCode>(text[0]), text.substr(1));
}

}  // namespace dpmpi
