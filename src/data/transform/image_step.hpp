#pragma once
// One step of data.transform: a public function of one image, which knows of no other. A step is one file and one
// line in the table of image_steps.cpp.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace dpmpi {

/// Of images whose numbers stand channel by channel, each row by row.
struct ImageShape {
  std::size_t channels = 0, height = 0, width = 0;
  std::size_t positions() const { return height * width; }
  std::size_t size() const { return channels * positions(); }
  std::string text() const;  ///< "1x28x28"
};

/// A step with its filters and room for its work.
class ImageStep {
 public:
  virtual ~ImageStep() = default;
  /// From an image of the shape it was made for to one of the shape it makes. The same bits whatever came before.
  virtual void apply(std::span<const double> image, std::span<double> out) = 0;
};

/// What is written of a step.
class ImageStepPlan {
 public:
  virtual ~ImageStepPlan() = default;
  /// The shape that it makes of this one. Throws ConfigError where it cannot.
  virtual ImageShape out(const ImageShape& in) const = 0;
  virtual std::unique_ptr<ImageStep> make(const ImageShape& in) const = 0;
  /// All numbers of what it makes have the mean square 1, as far as they are no constants.
  virtual bool normalises() const { return false; }
};

/// The words behind a step's name. All throw ConfigError.
class StepWords {
 public:
  explicit StepWords(std::vector<std::string> words) : words_(std::move(words)) {}
  /// The next word as a whole number from 1 to `most`: "27", or "J=2" where `name` is J.
  std::size_t number(const std::string& name, std::size_t most);
  std::size_t named_number(const std::string& name, std::size_t most);
  void finish() const;

 private:
  std::size_t next_ = 0;
  std::vector<std::string> words_;
};

struct ImageStepKind {
  std::string name, form;  ///< form: as in messages, "groupnorm GROUPS"
  std::unique_ptr<const ImageStepPlan> (*read)(StepWords& words);
};

/// All kinds.
const std::vector<ImageStepKind>& image_step_kinds();

ImageStepKind scattering_kind();
ImageStepKind image_group_norm_kind();

}  // namespace dpmpi
