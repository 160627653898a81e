#pragma once
// Model files in the safetensors layout: the length of a JSON header, the header, float32 tensors.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/files/file_reader.hpp"
#include "objective/objective.hpp"

namespace dpmpi {

/// SHA-256 of what a model file says of its tensors (names, types, shapes, places), as JSON, and of its data
/// section: the parameters of all groups, one after the other. The text pairs do not count.
std::string safetensors_digest(std::span<const ParameterGroup> groups, std::span<const float> w);
/// Writes the model in the safetensors layout, as write_file does: one float32 tensor per parameter group,
/// `metadata` as text pairs.
void write_safetensors(const std::string& path, std::span<const ParameterGroup> groups, std::span<const float> w,
                       const std::vector<std::pair<std::string, std::string>>& metadata);

/// Whether a model file begins as one that was written with these groups and this metadata, byte by byte.
bool has_safetensors_header(const std::string& path, std::span<const ParameterGroup> groups,
                            const std::vector<std::pair<std::string, std::string>>& metadata);
/// What a model file says of its tensors, with `file` left behind that. Throws DataError for a file that is none.
nlohmann::json read_safetensors_header(FileReader& file, const std::string& path);
/// A model file's text pairs.
std::map<std::string, std::string> read_metadata(const std::string& path);
/// The same of a model file: safetensors_digest of what was written, or of other bytes if the file was edited.
std::string parameters_digest(const std::string& path);
/// A model file's parameters. Throws DataError (file, tensor, what is there and what the objective has) unless it
/// holds exactly the tensors of `groups`.
std::vector<float> read_safetensors(const std::string& path, std::span<const ParameterGroup> groups);

/// One tensor as it stands in the file, row by row.
struct Tensor {
  std::size_t rows = 0, cols = 0;
  std::vector<float> values;
};
/// Nothing if there is none of this name, or it has more than `most` numbers. Throws DataError for a file that is
/// no model, or a tensor that is not in it as its header says.
std::optional<Tensor> read_tensor(const std::string& path, const std::string& name, std::size_t most);

}  // namespace dpmpi
