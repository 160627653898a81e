#pragma once
// A model whose hyper-parameters are searched for: trained on a public set, scored on records that it has never
// seen.

#include <cstddef>
#include <memory>
#include <span>

#include "objective/math/losses.hpp"
#include "objective/tuning/hyper_parameters.hpp"
#include "objective/tuning/public_records.hpp"

namespace dpmpi {

class TunedModel {
 public:
  virtual ~TunedModel() = default;

  /// Numbers that a trained model consists of: all that predict() needs beside the public set.
  virtual std::size_t size() const = 0;
  /// Trains with a value for each hyper-parameter of its family. False if no model comes of it: singular, or
  /// diverged. Writes the same bits whatever was trained before.
  virtual bool train(std::span<const double> values, std::span<double> model) = 0;
  /// out[i] = score of the record with features rows[i * stride ...], for tile_rows of them. A record's score is
  /// computed from this record alone, in the same order wherever it stands.
  virtual void predict(std::span<const double> model, const double* rows, std::size_t stride, double* out) = 0;
};

/// What is known of models before there are records to train them on.
class ModelFamily {
 public:
  virtual ~ModelFamily() = default;

  virtual const HyperParameters& hyper_parameters() const = 0;
  /// Bytes that training takes beside the set and the model.
  virtual double training_bytes(std::size_t records) const = 0;
  /// A model of the family that is trained on `set`. Both must outlive it.
  virtual std::unique_ptr<TunedModel> on(const PublicSet& set) const = 0;
};

}  // namespace dpmpi
