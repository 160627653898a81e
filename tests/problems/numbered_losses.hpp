#pragma once
// Losses that are any function of (number of the record in the dataset, point), for gibo.

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "data/records/blocks.hpp"
#include "method/black_box/gradient_posterior.hpp"
#include "method/black_box/reduced_weights.hpp"
#include "problems/black_box.hpp"

namespace dpmpi::test {

/// The label of a record is its number.
class NumberedLoss final : public test::BlackBox {
 public:
  NumberedLoss(std::size_t dim, Loss loss) : BlackBox(dim, loss), loss_(std::move(loss)) {}
  void prepare(std::span<const float> w) override { w_.assign(w.begin(), w.end()); }
  void losses(const Rows& rows, std::span<double> out) override {
    for (std::size_t r = 0; r < rows.size(); ++r)
      out[r] = loss_(static_cast<std::size_t>(rows.records.label[rows.index[r]]), w_);
  }

 private:
  Loss loss_;
  std::vector<double> w_;
};

/// Records in blocks that begin at these cuts, with their numbers as labels; of them the blocks of one rank.
inline Shard labelled_shard(std::vector<std::uint64_t> cuts, int rank = 0, int size = 1) {
  Shard shard;
  shard.facts = {cuts.back(), 1, Storage::dense_f32};
  shard.layout = {cuts.back(), static_cast<std::uint32_t>(cuts.size() - 1), cuts};
  const Ownership ownership = Ownership::even(shard.layout.blocks, size);
  for (std::uint32_t b = ownership.begin(rank); b < ownership.end(rank); ++b) {
    shard.blocks.push_back({b, cuts[b], test::numbered_records(cuts[b + 1] - cuts[b])});
    auto& labels = shard.blocks.back().records.label;
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(cuts[b] + i);
  }
  return shard;
}

/// The noise of a step in the parameters' coordinates: with fewer points than parameters gibo releases others.
inline Eigen::VectorXd turned(const GradientPosterior& posterior, const Eigen::VectorXd& noise) {
  if (posterior.count() >= noise.size()) return noise;
  return ReducedWeights(posterior.weights()).Q * noise;
}

}  // namespace dpmpi::test
