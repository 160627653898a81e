#include "dpmpi/core/archive.hpp"
#include "dpmpi/core/errors.hpp"
#include "dpmpi/run/plan.hpp"

namespace dpmpi {

Plan agreed_plan(const Communicator& comm, const RunConfig& config, const PublicFacts& facts) {
  std::string text;
  std::int32_t refusal = 0;
  Promise promise;
  if (comm.is_root()) try {
      promise = make_promise(config, facts);
      Archive archive;
      promise.archive(archive);
      text = archive.bytes();
    } catch (const Error& e) {
      refusal = static_cast<std::int32_t>(e.code());
      text = e.what();
    }
  comm.broadcast(refusal);
  comm.broadcast(text);
  if (refusal == static_cast<std::int32_t>(ExitCode::config)) throw ConfigError(text);
  if (refusal == static_cast<std::int32_t>(ExitCode::privacy)) throw PrivacyError(text);
  if (refusal != 0) throw BugError(text);
  if (!comm.is_root()) {
    Archive archive(text);
    promise.archive(archive);
    archive.finish();
  }
  return make_plan(config, facts, std::move(promise));
}

}  // namespace dpmpi
