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

#include "core/errors.hpp"
#include "core/numbers/real.hpp"
#include "method/clipped_records.hpp"
#include "method/folding_vector.hpp"
#include "method/last_iterate/setup.hpp"
#include "method/method.hpp"
#include "objective/values/projected_differences.hpp"
#include "privacy/last_iterate/bounds.hpp"

namespace dpmpi {
namespace {

/// |v| with an error of (256 + 3) 2^-53 at most, relatively: chunks, and their sums with what rounding loses.
double accurate_norm(std::span<const double> v) {
  double sum = 0, lost = 0;
  for (std::size_t first = 0; first < v.size(); first += 256) {
    double chunk = 0;
    for (const double x : v.subspan(first, std::min<std::size_t>(256, v.size() - first))) chunk += x * x;
    const double next = sum + chunk;  // all terms >= 0: Dekker's difference is exact for the larger one
    lost += sum >= chunk ? chunk - (next - sum) : sum - (next - chunk);
    sum = next;
  }
  return std::sqrt(sum + lost);
}

class LastIteratePlan final : public MethodPlan {
 public:
  LastIteratePlan(const LastIterateSettings& settings, const PublicFacts& facts)
      : settings_(settings), facts_(facts), setup_(set_up(settings, facts)) {
    steps = settings.T();
    assumptions = setup_.assumptions();
  }

  std::vector<QuerySpec> queries(double noise_multiplier) const override {
    return {setup_.query(noise_multiplier)};
  }
  bool releases(std::uint64_t t) const override { return settings_.releases(t); }
  Derived report_quantities(const std::vector<Query>& queries) const override {
    return setup_.report_quantities(queries.at(0));
  }
  void check_assumptions(Objective& objective) const override {
    if (!setup_.event) return;
    check_smoothness(objective, {facts_.data.features, facts_.data.storage, facts_.bias}, *setup_.smoothness,
                     settings_.feature_bound, settings_.label_bound, setup_.R + setup_.xi);
  }

  std::unique_ptr<Algorithm> start(Objective& objective, const std::vector<Query>& queries) const override;

 private:
  LastIterateSettings settings_;
  PublicFacts facts_;
  LastIterateSetup setup_;
};

class ZoHidden final : public Algorithm {
 public:
  ZoHidden(const LastIterateSettings& settings, const LastIterateSetup& setup, Objective& objective,
           const Query& differences)
      : settings_(settings),
        setup_(setup),
        objective_(objective),
        differences_(differences),
        dither_(setup.dither(differences)),
        along_(differences.dim) {
    w_.resize(objective.dim());
    objective.initialise(PublicStream(whole(settings.seed), "start point"), w_.floats());
    project(setup.R);
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
    shrink();
    if (setup_.across(t) > 0) add_noise_across(curator, t, w);
    const double scale = -setup_.h() / real(setup_.batch);
    for (std::size_t k = 0; k < noisy.size(); ++k) along_[k] = scale * noisy[k];
    frames_->add(along_, w);
    project(setup_.R);
    if (settings_.releases(t + 1)) release(t + 1);
  }

  std::span<const float> iterate() override {
    verify(shown_ != Shown::nothing, "what is not released is not shown");
    if (shown_ == Shown::in_place) return w_.floats();
    if (copy_.empty()) copy_.assign(w_.doubles().begin(), w_.doubles().end());
    return copy_;
  }
  std::span<const std::byte> replicated() override { return std::as_bytes(std::span(w_.doubles())); }

  // Along directions of its own: those of the run are not drawn yet at its start. Only a point that is shown is
  // looked at.
  SizesOverClip sizes_over_clip() override {
    constexpr std::size_t most = std::size_t{1}
                                 << 22;  // numbers of a frame that is made once, not at every reading
    const std::size_t K = differences_.dim;
    if (K * objective_.dim() > most) return {};
    const auto x = iterate();
    auto frames = std::make_shared<Frames>(settings_.law, objective_.dim(), K, 0);
    frames->begin(0);
    auto probes = std::make_shared<ProjectedDifferences>(objective_, *frames, rule());
    return [this, frames, probes, point = std::vector<double>(x.begin(), x.end()), K, q = std::vector<double>()](
               const Rows& rows, std::span<double> out) mutable {
      q.resize(rows.size() * K);
      probes->unclipped(point, rows, q);
      for (std::size_t r = 0; r < rows.size(); ++r) out[r] = size_over_clip(std::span(q).subspan(r * K, K));
    };
  }

  void archive(Archive& archive) override {
    archive.field("hidden.w", w_.doubles());
    archive.field("hidden.shown", shown_);
    if (archive.reading()) copy_.clear();
  }

 private:
  /// (1 - omega) w on the regularised coordinates, which biases are not.
  void shrink() {
    if (setup_.omega == 0) return;
    for (const auto& group : objective_.groups()) {
      if (!group.regularised()) continue;
      for (double& x : std::span(w_.doubles()).subspan(group.offset, group.size())) x *= 1 - setup_.omega;
    }
  }

  /// Of one record's differences; 0 if one is not finite.
  double size_over_clip(std::span<const double> q) const {
    double square = 0, largest = 0;
    for (const double v : q) square += v * v, largest = std::max(largest, std::abs(v));
    if (!std::isfinite(square)) return 0;
    const double clip = differences_.bound.clip;
    return settings_.joint ? std::sqrt(square) / clip : largest * std::sqrt(real(q.size())) / clip;
  }

  DifferenceRule rule() const {
    return {.radius = setup_.xi,
            .joint = settings_.joint,
            .feature_bound = settings_.feature_bound,
            .label_bound = settings_.label_bound};
  }

  // Only now, when the data is fixed: a crafted dataset could fit directions that were known before.
  void draw_directions(Curator& curator) {
    const std::uint64_t key =
        settings_.direction_seed >= 0 ? whole(settings_.direction_seed) : curator.public_key();
    frames_ = std::make_unique<Frames>(settings_.law, objective_.dim(), differences_.dim, key);
    probes_ = std::make_unique<ProjectedDifferences>(objective_, *frames_, rule());
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

  // What is released is float32; and the run goes on from the very numbers that were released, because the bound
  // for the steps after a release begins at a point that both runs have in common. Within the ball after rounding.
  void release(std::uint64_t steps) {
    shown_ = settings_.hidden() || steps == settings_.T() ? Shown::in_place : Shown::copy;
    if (!settings_.hidden()) return;
    project(setup_.R * (1 - 0x1p-22));
    for (double& x : w_.doubles()) x = static_cast<float>(x);
  }

  /// Where the iterate that was released last is to be seen: nowhere any more; in the memory of w, where that loses
  /// nothing that is needed; or in a copy that is made when somebody asks.
  enum class Shown : std::uint8_t { nothing, in_place, copy };

  LastIterateSettings settings_;
  LastIterateSetup setup_;
  Objective& objective_;
  Query differences_;
  double dither_;  // kappa
  std::unique_ptr<Frames> frames_;
  std::unique_ptr<ProjectedDifferences> probes_;
  FoldingVector w_;
  std::vector<double> along_;
  Shown shown_ = Shown::copy;
  std::vector<float> copy_;
};

std::unique_ptr<Algorithm> LastIteratePlan::start(Objective& objective, const std::vector<Query>& queries) const {
  return std::make_unique<ZoHidden>(settings_, setup_, objective, queries.at(0));
}

const MethodRegistration zo_hidden{
    {"zo-hidden", "descent on K clipped differences a step; iterates may stay hidden",
     "Chien, Chen and Li 2025 (arXiv:2506.00158), corrected: docs/theory/last_iterate.md",
     make_method<LastIterateSettings>}};

}  // namespace

std::unique_ptr<const MethodPlan> LastIterateSettings::plan(const PublicFacts& facts) const {
  return std::make_unique<LastIteratePlan>(*this, facts);
}

}  // namespace dpmpi
