#pragma once
// Layers one behind the other.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "objective/layers/kinds.hpp"

namespace dpmpi {

/// What comes out of them. Throws ConfigError that names the layer, as counted from 1, that does not fit.
Volume out_of(const LayerPlans& plans, const Volume& in);

/// About how many numbers they keep in memory. Throws as out_of().
double numbers_of(const LayerPlans& plans, const Volume& in);

/// How far they move two inputs apart at most, as a multiple of their distance, where all parameters together have
/// a norm of at most `radius`. Throws as out_of(), and where the norm bounds nothing.
double slope_bound_of(const LayerPlans& plans, const Volume& in, double radius);

/// Calls visit(place, layer) for each of them and for those inside of them: "2.1" is the first inside of the
/// second.
void for_each_layer(const LayerPlans& plans,
                    const std::function<void(const std::string& place, const PlannedLayer& layer)>& visit,
                    const std::string& before = "");

/// Whether one of them is random.
bool any_random(const LayerPlans& plans);

/// Says what they make of x, as LayerPlan::write does.
ScoreWriter::Value write_layers(const LayerPlans& plans, ScoreWriter& writer, ScoreWriter::Value x,
                                const Volume& in, const LayerParameters& own);

template <class T>
class Sequence final : public Layer<T> {
 public:
  Sequence(const LayerPlans& plans, const Volume& in);

  double multiply_adds() const override;
  /// Named "1.weight", "1.bias", "3.weight", ... by the numbers of the layers.
  std::vector<ParameterGroup> groups() const override;
  void initialise(std::span<float> w, bool rectified) const override;
  void draw(const LayerDraws* from) override;
  void load(std::span<const T> w) override;
  const T* forward(const T* in) override;
  const T* backward(const T* delta, T* gradient, bool wanted) override {
    return backward_to(0, delta, gradient, wanted);
  }
  /// The same of the layers from `first` on, whose inputs are then meant.
  const T* backward_to(std::size_t first, const T* delta, T* gradient, bool wanted);

  std::size_t size() const { return members_.size(); }
  const Layer<T>& operator[](std::size_t i) const { return *members_[i].layer; }

 private:
  struct Member {
    std::unique_ptr<Layer<T>> layer;
    std::size_t offset, parameters;
    template <class U>
    std::span<U> of(std::span<U> w) const {
      return w.subspan(offset, parameters);
    }
  };
  std::vector<Member> members_;
};

}  // namespace dpmpi
