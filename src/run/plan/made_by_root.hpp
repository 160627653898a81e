#pragma once
// Costly values that follow from what every rank knows.

#include <cstdint>
#include <string>
#include <utility>

#include "comm/communicator.hpp"
#include "core/errors.hpp"
#include "core/files/archive.hpp"
#include "core/throw_error.hpp"

namespace dpmpi {

/// The root makes it for all; its refusals are met by all ranks alike. Collective.
template <class T, class Make>
T made_by_root(const Communicator& comm, Make&& make) {
  std::string text;
  std::int32_t refusal = 0;
  T made;
  if (comm.is_root()) try {
      made = make();
      Archive archive;
      made.archive(archive);
      text = archive.bytes();
    } catch (const Error& e) {
      refusal = static_cast<std::int32_t>(e.code());
      text = e.what();
    }
  comm.broadcast(refusal);
  comm.broadcast(text);
  if (refusal != 0) throw_error(static_cast<ExitCode>(refusal), text);
  if (!comm.is_root()) {
    Archive archive(text);
    made.archive(archive);
    archive.finish();
  }
  return made;
}

}  // namespace dpmpi
