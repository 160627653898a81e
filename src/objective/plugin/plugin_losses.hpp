#pragma once
// An objective whose losses a plugin computes (include/dpmpi/plugin.h): a black box, for zeroth-order methods.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/aligned.hpp"
#include "objective/objective.hpp"
#include "objective/plugin/plugin_library.hpp"

namespace dpmpi {

class PluginLosses final : public Objective, public PointValues, public LossPairs, public LossesTogether {
 public:
  /// Makes the plugin's handle and tries it on synthetic records. Throws ConfigError where it refuses `parameters`
  /// or fails, PrivacyError if a loss depends on more than parameters and record.
  PluginLosses(std::shared_ptr<const PluginLibrary> library, const std::string& parameters,
               const ObjectiveFacts& facts);

  std::size_t dim() const override { return dim_; }
  LabelKind label_kind() const override { return library_->label_kind(); }
  std::size_t classes() const override { return classes_; }
  std::size_t outputs() const override { return outputs_; }
  std::vector<ParameterGroup> groups() const override { return {{"parameters", 0, dim_, 1}}; }
  double flops_per_record() const override { return 2 * static_cast<double>(dim_); }
  std::size_t micro_batch_rows() const override { return round_up(rows_, 16); }
  bool points_are_apart() const override { return points_are_apart_; }
  void losses_together(std::span<const float> points, const Rows& rows, std::span<double> losses) override;

 protected:
  Capabilities capabilities() override {
    const bool at_points = (*library_)->losses_at != nullptr;
    return {.values = this, .together = at_points ? this : nullptr, .pairs = at_points ? this : nullptr};
  }

 private:
  struct Destroy {
    const PluginLibrary* library;
    void operator()(void* handle) const { (*library)->destroy(handle); }
  };
  void size_up();
  void prepare(std::span<const float> w) override { w_ = w; }
  void losses(const Rows& rows, std::span<double> out) override;
  void scores(const Rows& rows, std::span<float> out) override;
  void prepare_probes(std::span<const double> x, std::span<const double> y) override;
  void probe(const Rows& row, double radius, const DirectionTile& tile, std::span<double> up,
             std::span<double> down) override;
  void load(const Rows& rows);
  std::size_t rows_of_a_call() const { return (*library_)->row_invariant == 1 ? rows_ : 1; }
  void form_points(double radius, const DirectionTile& tile);
  void refuse_failure() const;

  std::shared_ptr<const PluginLibrary> library_;
  std::size_t columns_, stride_;
  std::unique_ptr<void, Destroy> handle_;
  std::size_t dim_ = 0, classes_ = 0, outputs_ = 0, rows_ = 128;
  bool points_are_apart_ = true;
  std::span<const float> w_;
  AlignedVector<float> records_;
  std::vector<float> labels_;  ///< NaN: a slot or record that does not count

  std::span<const double> x_, y_;  ///< of probe()
  std::vector<float> points_;      ///< of one call: those with + radius u_j about x, then the others
  std::vector<double> at_points_;  ///< of one call
};

}  // namespace dpmpi
