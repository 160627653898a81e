// zo-hidden: projected zeroth-order descent of which only the last iterate (or a few) is released (Chien, Chen and
// Li 2025, "Privacy Amplification in Differentially Private Zeroth-Order Optimization with Hidden States", in the
// corrected form of docs/theory/last_iterate.md). The method reads
//
//   for t = 0 .. T-1:
//     U = frame(t)                                     d x K, public
//     ybar = 1/b sum over the batch of clip(q_i),      q_ik = (l_i(w + xi u_k) - l_i(w - xi u_k)) / (2 xi)
//     g1 ~ N(0, f sigma^2 I_K), g2 ~ N(0, (1-f) sigma^2 I_d)
//     w = Pi_R[(1 - omega) w - (eta/K) U ybar + (eta/sqrt K) U g1 + (eta/sqrt d) g2]
//
// and runs with the same law but no d numbers on the wire: with s1 = eta sigma sqrt(f/K), s2 = eta sigma
// sqrt((1-f)/d)
//   s1 U g1 + s2 g2  ~  U g + s2 (I - U U^T) z,   g ~ N(0, (s1^2 + s2^2) I_K), z ~ N(0, I_d) independent.
// U g is the curator's: it joins the K numbers of the sum, once, at the root. z is independent of the records and
// comes from a stream that the ranks share.
//
// DPZero (Zhang et al. 2024), DP-ZO (Tang et al. 2024) and MeZO (Malladi et al. 2023) are settings of it.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/accurate_norm.hpp"
#include "method/folding_vector.hpp"
#include "method/last_iterate/setup.hpp"
#include "method/method.hpp"
#include "objective/values/projected_differences.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {
namespace {

class ZoHidden final : public Method {
 public:
  void declare(Options& options) override { options_.declare(options); }
  void validate(std::vector<std::string>& problems) const override { options_.validate(problems); }

  std::uint64_t steps(const PublicFacts&) const override { return options_.T(); }

  std::vector<QuerySpec> queries(const PublicFacts& facts, double noise_multiplier) const override {
    setup_ = set_up(options_, facts);
    return {setup_.query(facts, noise_multiplier)};
  }

  std::vector<std::string> assumptions(const PublicFacts&) const override { return setup_.assumptions(); }
  void check_assumptions(Objective& objective, const PublicFacts& facts) const override {
    if (!setup_.event) return;
    check_smoothness(objective, {facts.data.features, facts.data.storage, facts.bias}, *setup_.smoothness,
                     options_.feature_bound, options_.label_bound, setup_.R + setup_.xi);
  }
  std::string released() const override {
    if (!options_.hidden() || options_.release == "all") return "the model and every iterate";
    const char* also = ", beside public settings and all directions";
    if (options_.release == "final") return std::string("the model alone") + also;
    return "the model and the iterate after every " + std::to_string(options_.release_every) + " steps" + also;
  }
  bool releases(std::uint64_t t) const override { return options_.releases(t); }
  Derived report_quantities(const PublicFacts&, const std::vector<Query>& queries) const override {
    return setup_.report_quantities(queries.at(0));
  }

  void start(Objective& objective, const std::vector<Query>& queries, std::uint64_t) override {
    objective_ = &objective;
    differences_ = queries.at(0);
    w_.resize(objective.dim());
    objective.initialise(PublicStream(static_cast<std::uint64_t>(options_.seed), "start point"), w_.floats());
    std::vector<double>& w = w_.doubles();
    for (std::size_t j = 0; j < options_.start.size(); ++j) w[j] = std::strtod(options_.start[j].c_str(), nullptr);
    project(setup_.R);
    velocity_.assign(options_.momentum > 0 ? w.size() : 0, 0.0);
    mean_.assign(options_.average > 0 ? w.size() : 0, 0.0);
    along_.assign(differences_.dim, 0.0);
    dither_ = setup_.dither(differences_);
    shown_ = Shown::copy;
    copy_.clear();
  }

  void step(Curator& curator, std::uint64_t t) override {
    if (!frames_) draw_directions(curator);
    shown_ = Shown::nothing;
    copy_.clear();
    std::vector<double>& w = w_.doubles();
    frames_->begin(t);
    const Batch batch = curator.draw(differences_, t);
    const auto noisy = curator.release_exact(curator.sum(differences_, batch, probes_->kernel(w)));

    // w <- Pi_R[(1 - omega) w - (eta/K) U (ybar + noise) + s2 (I - U U^T) z]: the noise before the projection.
    std::vector<double>& to = options_.momentum > 0 ? velocity_ : w;
    for (double& v : velocity_) v *= options_.momentum;
    shrink();
    if (setup_.across(t) > 0) add_noise_across(curator, t, to);
    const double scale = -setup_.h() / real(setup_.batch);
    for (std::size_t k = 0; k < noisy.size(); ++k) along_[k] = scale * noisy[k];
    frames_->add(along_, to);
    for (std::size_t j = 0; j < velocity_.size(); ++j) w[j] += velocity_[j];
    project(setup_.R);
    average(t);
    if (options_.releases(t + 1)) release(t + 1);
  }

  std::span<const float> iterate() const override {
    verify(shown_ != Shown::nothing, "what is not released is not shown");
    if (shown_ == Shown::in_place) return w_.floats();
    const std::vector<double>& exact = mean_.empty() ? w_.doubles() : mean_;
    if (copy_.empty()) copy_.assign(exact.begin(), exact.end());
    return copy_;
  }
  std::span<const std::byte> replicated() const override { return std::as_bytes(std::span(w_.doubles())); }

  void archive(Archive& archive) override {
    archive.field("hidden.w", w_.doubles());
    archive.field("hidden.velocity", velocity_);
    archive.field("hidden.mean", mean_);
    archive.field("hidden.shown", shown_);
    if (archive.reading()) copy_.clear();
  }

 private:
  /// (1 - omega) w on the regularised coordinates, which biases are not.
  void shrink() {
    if (setup_.omega == 0) return;
    for (const auto& group : objective_->groups()) {
      if (!group.regularised()) continue;
      for (double& x : std::span(w_.doubles()).subspan(group.offset, group.size())) x *= 1 - setup_.omega;
    }
  }

  // Only now, when the data is fixed: a crafted dataset could fit directions that were known before.
  void draw_directions(Curator& curator) {
    const std::uint64_t key =
        options_.direction_seed >= 0 ? static_cast<std::uint64_t>(options_.direction_seed) : curator.public_key();
    frames_ = std::make_unique<Frames>(options_.direction_law(), objective_->dim(), differences_.dim, key);
    probes_ = std::make_unique<ProjectedDifferences>(*objective_, *frames_, setup_.rule(options_));
  }

  /// s2 at step t, from the noise that the query has.
  double noise_across(std::uint64_t t) const {
    return setup_.h() / real(setup_.batch) * differences_.noise_std / setup_.along() * setup_.across(t);
  }

  // to += s2 (I - (1 - kappa) U U^T / |u|^2) z: a small part of z stays in the span, because the noise there lies
  // on the lattice and would leave the bits of w below a quantum bare. z is read twice, in pieces.
  void add_noise_across(Curator& curator, std::uint64_t t, std::span<double> to) {
    std::fill(along_.begin(), along_.end(), 0.0);
    for_each_piece(curator, t,
                   [&](std::size_t first, std::span<double> z) { frames_->project_rows(first, z, along_); });
    for (double& z : along_) z *= -(1 - dither_) / (setup_.length * setup_.length);
    for_each_piece(curator, t, [&](std::size_t first, std::span<double> z) {
      frames_->add_rows(first, along_, z);
      for (std::size_t j = 0; j < z.size(); ++j) to[first + j] += z[j];
    });
  }

  /// s2 z at step t, some rows of a tile at a time.
  template <class Visit>
  void for_each_piece(Curator& curator, std::uint64_t t, Visit&& visit) {
    const double s2 = noise_across(t);
    alignas(64) std::array<double, 4096> memory;
    const std::size_t dim = frames_->dim(), most = std::min(memory.size(), frames_->tile_rows());
    for (std::size_t first = 0; first < dim; first += most) {
      const std::span<double> z(memory.data(), std::min(most, dim - first));
      curator.worker_noise(t, first, z);
      for (double& v : z) v *= s2;
      visit(first, z);
    }
  }

  void project(double radius) {
    std::vector<double>& w = w_.doubles();
    const double length = accurate_norm(w);
    if (!(length > radius)) return;
    for (double& x : w) x *= radius / length;
  }

  void average(std::uint64_t t) {
    if (mean_.empty()) return;
    const double keep = t == 0 ? 0 : options_.average;
    const std::vector<double>& w = w_.doubles();
    for (std::size_t j = 0; j < w.size(); ++j) mean_[j] = keep * mean_[j] + (1 - keep) * w[j];
  }

  // What is released is float32; and the run goes on from the very numbers that were released, because the bound
  // for the steps after a release begins at a point that both runs have in common. Within the ball after rounding.
  void release(std::uint64_t steps) {
    const bool last = steps == options_.T() && mean_.empty();
    shown_ = options_.hidden() || last ? Shown::in_place : Shown::copy;
    if (!options_.hidden()) return;
    project(setup_.R * (1 - 0x1p-22));
    for (double& x : w_.doubles()) x = static_cast<float>(x);
  }

  /// Where the iterate that was released last is to be seen: nowhere any more; in the memory of w, where that loses
  /// nothing that is needed; or in a copy that is made when somebody asks.
  enum class Shown : std::uint8_t { nothing, in_place, copy };

  HiddenOptions options_;
  mutable HiddenSetup setup_;  // of the last call of queries()
  Objective* objective_ = nullptr;
  Query differences_;
  double dither_ = 0;  // kappa
  std::unique_ptr<Frames> frames_;
  std::unique_ptr<ProjectedDifferences> probes_;
  mutable FoldingVector w_;
  std::vector<double> along_, velocity_, mean_;
  Shown shown_ = Shown::nothing;
  mutable std::vector<float> copy_;
};

const MethodRegistration zo_hidden{
    {"zo-hidden", "descent on K clipped differences a step; iterates may stay hidden",
     "Chien, Chen and Li 2025 (arXiv:2506.00158), corrected: docs/theory/last_iterate.md", make_method<ZoHidden>}};

}  // namespace
}  // namespace dpmpi
