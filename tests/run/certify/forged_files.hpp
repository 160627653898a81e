#pragma once
// The files of a finished run in the hands of a forger, who makes everything fit that is a digest of what was
// changed.

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/files/digest.hpp"
#include "run/directory/files.hpp"

namespace dpmpi::test {

inline void overwrite(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// The files of a finished run, in the order in which digests of one stand in the next.
struct ForgedFiles {
  using Json = nlohmann::ordered_json;

  static constexpr const char* plan_file = "plan.json";
  static constexpr const char* ledger_file = "ledger.jsonl";
  static constexpr const char* training_file = "training_ledger.jsonl";
  static constexpr const char* metrics_file = "metrics.jsonl";
  static constexpr const char* certificate_file = "certificate.json";
  static constexpr const char* model_file = "model.safetensors";

  explicit ForgedFiles(const std::string& run)
      : plan(Json::parse(dpmpi::read_file(run + "/plan.json"))),
        ledger(json_lines(run + "/ledger.jsonl")),
        trainings(json_lines(run + "/training_ledger.jsonl")),
        metrics(json_lines(run + "/metrics.jsonl")),
        certificate(Json::parse(dpmpi::read_file(run + "/certificate.json"))) {
    const std::string model = dpmpi::read_file(run + "/model.safetensors");
    std::uint64_t size = 0;
    std::memcpy(&size, model.data(), sizeof size);
    header = Json::parse(model.substr(sizeof size, size));
    tensors = model.substr(sizeof size + size);
  }

  /// Makes everything fit again behind a change. `changed`: the file, and the line of a ledger, that was changed:
  /// it stays as it is.
  void settle(const std::string& changed, std::size_t line = 0) {
    bool behind = false;
    const auto reached = [&](const char* file) { return behind = behind || changed == file; };
    if (reached(plan_file))
      for (auto* book : {&ledger, &trainings})
        if (!book->empty()) book->front()["plan"] = sha256(plan.dump(2) + "\n");
    if (reached(ledger_file)) {
      chain(ledger, changed == ledger_file ? line : 0);
      certificate["ledger_head"] = sha256(ledger.back().dump());
      certificate["data_commitment"] = ledger.front().value("data", Json());
    }
    if ((reached(training_file) || changed == plan_file) && !trainings.empty()) {
      chain(trainings, changed == training_file ? line : 0);
      certificate["training"]["ledger_head"] = sha256(trainings.back().dump());
      certificate["training"]["data_commitment"] = trainings.front().value("data", Json());
    }
    if (changed == plan_file) certificate["plan_digest"] = sha256(plan.dump(2) + "\n");
    if (reached(metrics_file)) certificate["metrics_digest"] = sha256(text_of(metrics));
    if (changed == model_file) {
      Json entries = header;
      entries.erase("__metadata__");
      const std::string digest = sha256(entries.dump() + tensors);
      if (certificate["model_digest"] == digest) return;  // it is the metadata that were changed
      certificate["model_digest"] = digest;
    }
    header["__metadata__"]["certificate"] = sha256(certificate.dump(2) + "\n");
  }

  void write(const std::string& run) const {
    overwrite(run + "/plan.json", plan.dump(2) + "\n");
    overwrite(run + "/ledger.jsonl", text_of(ledger));
    if (!trainings.empty()) overwrite(run + "/training_ledger.jsonl", text_of(trainings));
    overwrite(run + "/metrics.jsonl", text_of(metrics));
    overwrite(run + "/certificate.json", certificate.dump(2) + "\n");
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    overwrite(run + "/model.safetensors", sized(text) + tensors);
  }

  Json plan;
  std::vector<Json> ledger, trainings, metrics;
  Json certificate, header;
  std::string tensors;

 private:
  static std::vector<Json> json_lines(const std::string& path) {
    std::vector<Json> lines;
    std::istringstream in(std::filesystem::exists(path) ? dpmpi::read_file(path) : "");
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  static std::string text_of(const std::vector<Json>& lines) {
    std::string text;
    for (const Json& line : lines) text += line.dump() + "\n";
    return text;
  }
  static std::string sized(const std::string& header) {
    const std::uint64_t size = header.size();
    return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header;
  }
  static void chain(std::vector<Json>& book, std::size_t from) {
    for (std::size_t i = from + 1; i < book.size(); ++i) book[i]["prev"] = sha256(book[i - 1].dump());
  }
};

}  // namespace dpmpi::test
