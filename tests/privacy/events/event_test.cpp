#include "privacy/events/event.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/errors.hpp"
#include "privacy/promise/guarantee.hpp"

namespace dpmpi::event_test {
namespace {

Event parsed(std::string_view line) { return std::get<Event>(parse_event_line(line, "list:7").content); }

const HiddenState whole_run{.steps = 100,
                            .hybrid = 100,
                            .directional_multiplier = 1.0 / 3,
                            .isotropic_multiplier = 0.1,
                            .diameter = 700,
                            .drift = 1000,
                            .contraction = 1,
                            .directions = 16,
                            .dimension = 5000,
                            .population = 1000,
                            .batch = 1000};
const HiddenState hybrid_run = [] {
  HiddenState run = whole_run;
  run.hybrid = 30;
  run.before_multiplier = 2;
  run.noise_multiplier = 0.7;
  run.retention = 0.99;
  run.error = 1e-3;
  run.parts = 20;
  run.batch = 50;
  run.reshuffled = true;
  run.failure = 1e-7;
  run.releases = {10, 80, 100};
  return run;
}();
const HiddenState sampled_run = [] {
  HiddenState run = whole_run;
  run.hybrid = 0;
  run.before_multiplier = 2;
  run.directional_multiplier = run.isotropic_multiplier = 0;
  run.batch = 50;
  return run;
}();

std::string refusal(std::string_view line) {
  try {
    parse_event_line(line, "list:7");
  } catch (const PrivacyError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Event, ReadsTheSchema) {
  EXPECT_EQ(parsed(R"({"event":"gaussian","noise_multiplier":2.0,"count":10})"), (Event{Gaussian{2}, 10}));
  EXPECT_EQ(parsed(R"({"event":"poisson_gaussian","sampling_rate":0.01,"noise_multiplier":1.1,"count":1000})"),
            (Event{PoissonGaussian{0.01, 1.1}, 1000}));
  EXPECT_EQ(parsed(R"({"event":"wor_gaussian","population":60000,"batch":600,"noise_multiplier":4.0,"count":100})"),
            (Event{WorGaussian{60000, 600, 4}, 100}));
  EXPECT_EQ(parsed(R"({"event":"non_private"})"), (Event{NonPrivate{}, 1}));
  EXPECT_EQ(parsed(R"({"count":1e3,"noise_multiplier":1,"event":"gaussian"})"), (Event{Gaussian{1}, 1000}));
}

TEST(Event, ReadsTrees) {
  const Event one{Tree{Strategy::fenwick, 1024, 3}, 1};
  EXPECT_EQ(parsed(R"({"event":"tree","strategy":"fenwick","leaves":1024,"noise_multiplier":3})"), one);
  EXPECT_EQ(parsed(R"({"event":"tree","strategy":"fenwick","leaves":1024,"noise_multiplier":3,"band":64})"), one);
  EXPECT_EQ(
      parsed(
          R"({"event":"tree","strategy":"banded","leaves":9,"noise_multiplier":3,"band":4,"restarts":2,"count":3})"),
      (Event{Tree{Strategy::banded, 9, 3, 4}, 6}));
  const Event matrix{Tree{Strategy::explicit_matrix, 2, 3, 0, 1, {1, 0.5, 2}}, 1};
  for (const char* rows : {"[[1],[0.5,2]]", "[[1,0],[0.5,2]]"})
    EXPECT_EQ(
        parsed(std::string(R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3,"matrix":)") +
               rows + "}"),
        matrix);
}

TEST(Event, ReadsBuffersAndParticipations) {
  Tree tree{Strategy::blt, 310, 3};
  tree.buffers = {.count = 2, .decay = {0.75, 0.5}, .weight = {0.25, 0.125}};
  EXPECT_EQ(
      parsed(
          R"({"event":"tree","strategy":"blt","leaves":310,"noise_multiplier":3,"decays":[0.75,0.5],"weights":[0.25,0.125]})"),
      (Event{tree, 1}));
  tree.participations = 10, tree.separation = 31;
  EXPECT_EQ(parsed(to_json({tree, 2})), (Event{tree, 2}));
  tree.buffers = {};
  EXPECT_EQ(
      parsed(
          R"({"event":"tree","strategy":"blt","leaves":310,"noise_multiplier":3,"decays":[],"weights":[],"participations":10,"separation":31})"),
      (Event{tree, 1}));
}

// What has no proof, or would take forever.
TEST(Event, RefusesBuffersAndParticipationsWithoutProof) {
  const auto blt = [](const std::string& members) {
    return refusal(R"({"event":"tree","strategy":"blt","leaves":8,"noise_multiplier":3,)" + members + "}");
  };
  for (const char* members :
       {R"("decays":[0.5])", R"("decays":[0.5],"weights":[0.5,0.1])", R"("decays":[1],"weights":[0.5])",
        R"("decays":[0],"weights":[0.5])", R"("decays":[0.5,0.5],"weights":[0.1,0.1])",
        R"("decays":[0.5,0.6],"weights":[0.1,0.1])", R"("decays":[0.5],"weights":[0])",
        R"("decays":[0.5],"weights":[1])", R"("decays":[0.6,0.5],"weights":[0.5,0.5])",
        R"("decays":[0.9,0.8,0.7,0.6,0.5,0.4,0.3,0.2,0.1],"weights":[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1])",
        R"("decays":[],"weights":[],"participations":2)", R"("decays":[],"weights":[],"participations":0)",
        R"("decays":[],"weights":[],"participations":2,"separation":9)",
        R"("decays":[],"weights":[],"participations":2,"separation":4,"first_leaf":0.5)",
        R"("decays":[],"weights":[],"participations":1048577,"separation":4)"})
    EXPECT_NE(blt(members), "accepted") << members;
  for (const char* strategy : {"fenwick", "full", "full_honaker"})
    EXPECT_NE(
        refusal(fmt::format(
            R"({{"event":"tree","strategy":"{}","leaves":8,"noise_multiplier":3,"participations":2,"separation":4}})",
            strategy)),
        "accepted");
  for (const char* members : {R"("leaves":8,"participations":2,"separation":4)", R"("leaves":1048577)"})
    EXPECT_NE(
        refusal(fmt::format(R"({{"event":"tree","strategy":"normalized_blt","noise_multiplier":3,"decays":[],)"
                            R"("weights":[],{}}})",
                            members)),
        "accepted")
        << members;
  EXPECT_NE(
      refusal(
          R"({"event":"tree","strategy":"sqrt_toeplitz","leaves":2000000,"noise_multiplier":3,"participations":2,"separation":4})"),
      "accepted");
}

TEST(Event, ReadsRunsWithHiddenIterates) {
  EXPECT_EQ(
      parsed(
          R"({"event":"hidden_state","steps":100,"hybrid":100,"directional_multiplier":2,"isotropic_multiplier":3,)"
          R"("diameter":4,"drift":5,"contraction":6,"directions":7,"dimension":8,"population":9,"batch":9,"count":1})"),
      (Event{HiddenState{.steps = 100,
                         .hybrid = 100,
                         .directional_multiplier = 2,
                         .isotropic_multiplier = 3,
                         .diameter = 4,
                         .drift = 5,
                         .contraction = 6,
                         .directions = 7,
                         .dimension = 8,
                         .population = 9,
                         .batch = 9},
             1}));
  EXPECT_EQ(parsed(to_json({hybrid_run, 3}, R"("releases_note":"x")")), (Event{hybrid_run, 3}));
  EXPECT_FALSE(whole_run.sampled());
  EXPECT_FALSE(hybrid_run.sampled());
  EXPECT_TRUE(sampled_run.sampled());
}

// Every member alone, made wrong: refused, and named.
TEST(Event, RefusesRunsThatCannotBe) {
  const auto refused = [](auto change, const std::string& member) {
    HiddenState run = hybrid_run;
    change(run);
    try {
      check({run, 1}, "run");
      ADD_FAILURE() << member << " was accepted";
    } catch (const PrivacyError& e) {
      EXPECT_NE(std::string(e.what()).find(member), std::string::npos) << e.what();
    }
    EXPECT_NE(refusal(to_json({run, 1})), "accepted") << member;
  };
  const double nan = std::nan(""), infinite = HUGE_VAL;
  for (const double x : {nan, infinite, -1.0, 0.0}) {
    refused([=](HiddenState& m) { m.before_multiplier = x; }, "before_multiplier");
    refused([=](HiddenState& m) { m.isotropic_multiplier = x; }, "isotropic_multiplier");
    refused([=](HiddenState& m) { m.noise_multiplier = x; }, "noise_multiplier");
    refused([=](HiddenState& m) { m.diameter = x; }, "diameter");
    refused([=](HiddenState& m) { m.drift = x; }, "drift");
    refused([=](HiddenState& m) { m.retention = x; }, "retention");
  }
  for (const double x : {nan, infinite, -1.0}) {
    refused([=](HiddenState& m) { m.directional_multiplier = x; }, "directional_multiplier");
    refused([=](HiddenState& m) { m.contraction = x; }, "contraction");
    refused([=](HiddenState& m) { m.error = x; }, "error");
    refused([=](HiddenState& m) { m.failure = x; }, "failure");
  }
  refused([](HiddenState& m) { m.failure = 1; }, "failure");
  refused([](HiddenState& m) { m.retention = 1.01; }, "retention");
  refused([](HiddenState& m) { m.noise_multiplier = 1e308, m.before_multiplier = 1e10; }, "noise_multiplier");
  refused([](HiddenState& m) { m.steps = 0; }, "steps");
  refused([](HiddenState& m) { m.hybrid = 101; }, "hybrid");
  refused([](HiddenState& m) { m.directions = 0; }, "directions");
  refused([](HiddenState& m) { m.directions = 5001; }, "directions");
  refused([](HiddenState& m) { m.dimension = 0; }, "dimension");
  refused([](HiddenState& m) { m.population = 0; }, "population");
  refused([](HiddenState& m) { m.batch = 0; }, "batch");
  refused([](HiddenState& m) { m.batch = 1001; }, "batch");
  refused([](HiddenState& m) { m.parts = 0; }, "parts");
  refused([](HiddenState& m) { m.parts = 1001; }, "parts");
  refused([](HiddenState& m) { m.parts = 1; }, "reshuffled");
  using Steps = std::vector<std::uint64_t>;
  for (const Steps& steps :
       {Steps{0, 100}, Steps{10}, Steps{10, 10, 100}, Steps{20, 10, 100}, Steps{101}, Steps{100, 101}})
    refused([&](HiddenState& m) { m.releases = steps; }, "releases");
  HiddenState often = whole_run;
  often.steps = often.hybrid = 5000;
  for (std::uint64_t t = 1; t <= 5000; ++t) often.releases.push_back(t);
  EXPECT_NE(refusal(to_json({often, 1})), "accepted");
}

TEST(Event, IgnoresMembersThatAccountingDoesNotKnow) {
  const auto line = parse_event_line(
      R"({"event":"gaussian","noise_multiplier":2,"count":1,"steps":[0,99],"site":{"a":1,"count":5},"prev":"ab"})",
      "x");
  EXPECT_EQ(std::get<Event>(line.content), (Event{Gaussian{2}, 1}));
  EXPECT_EQ(line.prev, "ab");
}

TEST(Event, ReadsBackWhatItWrites) {
  const Event events[] = {
      {Gaussian{0.1}, 1},
      {Gaussian{1.0 / 3}, 9007199254740992},
      {PoissonGaussian{1e-6, 1e22}, 3},
      {PoissonGaussian{2048.0 / 60000, 5e-324}, 3},
      {WorGaussian{9007199254740992, 1, 1.1}, 7},
      {DiscreteGaussian{3}, 4},
      {PoissonDiscreteGaussian{0.125, 2}, 9},
      {WorDiscreteGaussian{100, 7, 2}, 1},
      {Laplace{0.1}, 3},
      {PoissonLaplace{1.0 / 3, 0.1}, 3},
      {Tree{Strategy::fenwick, 1ULL << 40, 3}, 1},
      {Tree{Strategy::full, 3, 3}, 2},
      {Tree{Strategy::full_honaker, 1024, 3, 0, 0.5}, 2},
      {Tree{Strategy::sqrt_toeplitz, 1024, 3}, 5},
      {Tree{Strategy::banded, 1024, 3, 64, 2}, 5},
      {Tree{Strategy::explicit_matrix, 2, 3, 0, 1, {1, 1.0 / 3, -2}}, 5},
      {Tree{Strategy::blt, 1024, 3, 0, 1, {}, 4, 256, {1, {1.0 / 3}, {0.1}}}, 5},
      {Tree{Strategy::banded_blt, 1024, 3, 16, 1, {}, 1, 0, {1, {1.0 / 3}, {0.1}}}, 5},
      {whole_run, 1},
      {hybrid_run, 2},
      {sampled_run, 1},
      {Zcdp{0.1}, 1},
      {Zcdp{0.1, 3e-12}, 1},
      {Gdp{0.5}, 2},
      {Exponential{1}, 10},
      {ApproxDp{0, 0}, 1},
      {ApproxDp{0.5, 1e-6}, 3},
      {RepeatAndSelect{{.shape = -0.5, .gamma = 0.1}, {{Gaussian{3}, 1}}}, 1},
      {RepeatAndSelect{{.distribution = Repetitions::poisson, .mean = 1.0 / 3}, {{Gaussian{7}, 1}}}, 2},
      {RepeatAndSelect{{.shape = 0, .gamma = 0.1},
                       {{PoissonGaussian{0.01, 1.5}, 100},
                        {Tree{Strategy::fenwick, 8, 3}, 2},
                        {Tree{Strategy::explicit_matrix, 2, 3, 0, 1, {1, 1.0 / 3, -2}}, 1}}},
       1},
      {RepeatAndSelect{{.shape = 2, .gamma = 0.1}, {{Gaussian{3}, 2}}}, 1},
      {NonPrivate{}, 2}};
  for (const Event& event : events) {
    EXPECT_EQ(parsed(to_json(event)), event) << to_json(event);
    EXPECT_EQ(parsed(to_json(event, R"("step":3,"site":"x")")), event);
  }
  EXPECT_EQ(to_json({PoissonGaussian{0.01, 1.1}, 1000}, R"("step":3)"),
            R"({"event":"poisson_gaussian","sampling_rate":0.01,"noise_multiplier":1.1,"count":1000,"step":3})");
  EXPECT_EQ(to_json({Zcdp{0.1}, 1}), R"({"event":"zcdp","rho":0.1,"count":1})");
  EXPECT_EQ(to_json({Zcdp{0.1, 3e-12}, 1}), R"({"event":"zcdp","rho":0.1,"total_variation":3e-12,"count":1})");
}

TEST(Event, RefusalNamesLineMemberValueAndWhatIsAllowed) {
  const std::string message = refusal(R"({"event":"gaussian","noise_multiplier":-2.5,"count":10})");
  for (const char* part : {"list:7", "noise_multiplier", "-2.5", "> 0"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  const std::string unknown = refusal(R"({"event":"gausian","noise_multiplier":1,"count":10})");
  for (const char* part : {"list:7", "gausian", "poisson_gaussian"})
    EXPECT_NE(unknown.find(part), std::string::npos) << unknown;
}

TEST(Event, RefusesEverythingOutOfRange) {
  const char* lines[] = {
      "",
      "[]",
      "3",
      "null",
      "{",
      R"({"event":"gaussian","noise_multiplier":1,"count":1} x)",
      R"({"event":"gaussian","noise_multiplier":NaN,"count":1})",
      R"({"event":"gaussian","noise_multiplier":1e999,"count":1})",
      R"({"event":"gaussian","noise_multiplier":0,"count":1})",
      R"({"event":"gaussian","noise_multiplier":"1","count":1})",
      R"({"event":"gaussian","noise_multiplier":null,"count":1})",
      R"({"event":"gaussian","noise_multiplier":true,"count":1})",
      R"({"event":"gaussian","noise_multiplier":1})",
      R"({"event":"gaussian","count":1})",
      R"({"event":"gaussian","noise_multiplier":1,"count":0})",
      R"({"event":"gaussian","noise_multiplier":1,"count":-1})",
      R"({"event":"gaussian","noise_multiplier":1,"count":1.5})",
      R"({"event":"gaussian","noise_multiplier":1,"count":9007199254740993})",
      R"({"event":"gaussian","noise_multiplier":1,"count":1e300})",
      R"({"event":"gaussian","noise_multiplier":1,"count":1000,"count":1})",
      R"({"event":"poisson_gaussian","sampling_rate":0.1,"noise_multiplier":1,"records":2,"count":1})",
      R"({"event":"poisson_gaussian_group","sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"poisson_gaussian_group","sampling_rate":0.1,"noise_multiplier":1,"records":0,"count":1})",
      R"({"event":"poisson_gaussian_group","sampling_rate":0.1,"noise_multiplier":1,"records":1025,"count":1})",
      R"({"event":"poisson_gaussian","noise_multiplier":1,"count":1})",
      R"({"event":"poisson_gaussian","sampling_rate":0,"noise_multiplier":1,"count":1})",
      R"({"event":"poisson_gaussian","sampling_rate":1.0000001,"noise_multiplier":1,"count":1})",
      R"({"event":"poisson_gaussian","sampling_rate":-0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":9,"groups":3,"band":4,"sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":9,"groups":3,"band":0,"sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":0,"groups":3,"band":3,"sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":9,"band":1,"sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":9,"groups":3,"sampling_rate":0.1,"noise_multiplier":1,"count":1})",
      R"({"event":"cyclic_poisson_gaussian","steps":9,"groups":3,"band":3,"sampling_rate":0,"noise_multiplier":1,"count":1})",
      R"({"event":"random_allocation_gaussian","steps":0,"noise_multiplier":1,"count":1})",
      R"({"event":"random_allocation_gaussian","noise_multiplier":1,"count":1})",
      R"({"event":"random_allocation_gaussian","steps":9,"selected":10,"noise_multiplier":1,"count":1})",
      R"({"event":"random_allocation_gaussian","steps":9,"selected":0,"noise_multiplier":1,"count":1})",
      R"({"event":"random_allocation_gaussian","steps":9,"noise_multiplier":0,"count":1})",
      R"({"event":"wor_gaussian","population":10,"batch":11,"noise_multiplier":1,"count":1})",
      R"({"event":"wor_gaussian","population":10,"batch":0,"noise_multiplier":1,"count":1})",
      R"({"event":"wor_gaussian","population":10.5,"batch":1,"noise_multiplier":1,"count":1})",
      R"({"event":"tree","strategy":"tall","leaves":8,"noise_multiplier":3})",
      R"({"event":"tree","strategy":"full","leaves":0,"noise_multiplier":3})",
      R"({"event":"tree","strategy":"full","leaves":2e12,"noise_multiplier":3})",
      R"({"event":"tree","strategy":"full","leaves":8,"noise_multiplier":3,"restarts":0})",
      R"({"event":"tree","strategy":"full","leaves":8,"noise_multiplier":3,"restarts":1e15,"count":1e15})",
      R"({"event":"tree","strategy":"full","leaves":8,"noise_multiplier":3,"first_leaf":0})",
      R"({"event":"tree","strategy":"banded","leaves":8,"noise_multiplier":3})",
      R"({"event":"tree","strategy":"banded","leaves":8,"noise_multiplier":3,"band":9})",
      R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3})",
      R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3,"matrix":[[1]]})",
      R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3,"matrix":[[1,1],[1,1]]})",
      R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3,"matrix":[[1],[1]]})",
      R"({"event":"tree","strategy":"explicit","leaves":2,"noise_multiplier":3,"matrix":[[1],[1,"a"]]})",
      R"({"event":"hidden_state","steps":5,"hybrid":0,"before_multiplier":1})",
      R"({"event":"hidden_state","steps":5,"hybrid":-1,"before_multiplier":1,"diameter":1,"drift":1,"contraction":1,"directions":1,"dimension":1,"population":1,"batch":1,"count":1})",
      R"({"event":"hidden_state","steps":5,"hybrid":0,"before_multiplier":1,"diameter":1,"drift":1,"contraction":1,"directions":1,"dimension":1,"population":1,"batch":1,"releases":[1.5,5],"count":1})",
      R"({"event":"hidden_state","steps":5,"hybrid":0,"before_multiplier":1,"diameter":1,"drift":1,"contraction":1,"directions":1,"dimension":1,"population":1,"batch":1,"releases":5,"count":1})",
      R"({"event":"hidden_state","steps":5,"hybrid":0,"before_multiplier":1,"diameter":1,"drift":1,"contraction":1,"directions":1,"dimension":1,"population":1,"batch":1,"reshuffled":1,"count":1})",
      R"({"event":"repeat_and_select","noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"uniform","noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":0,"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"noise_multiplier":0,"count":1})",
      R"({"event":"repeat_and_select","distribution":"truncated_negative_binomial","shape":-1,"gamma":0.1,"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"truncated_negative_binomial","shape":1,"gamma":0,"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"truncated_negative_binomial","shape":1,"gamma":1,"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"truncated_negative_binomial","gamma":0.1,"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"truncated_negative_binomial","shape":1,"gamma":0.1,"noise_multiplier":3})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":{"event":"gaussian","noise_multiplier":3,"count":1},"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[3],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":3,"count":1}],"noise_multiplier":3,"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":3}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":0,"count":1}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":"?","count":1}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":9,"noise_multiplier":3,"count":1}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"gaussian","noise_multiplier":3,"total_variation":0.1,"count":1}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"ledger":1,"adjacency":"add_remove"}],"count":1})",
      R"({"event":"repeat_and_select","distribution":"poisson","mean":5,"run":[{"event":"repeat_and_select","distribution":"poisson","mean":5,"noise_multiplier":3,"count":1}],"count":1})",
      R"({"event":"laplace","scale":0,"count":1})",
      R"({"event":"laplace","scale":1})",
      R"({"event":"poisson_laplace","scale":1,"sampling_rate":0,"count":1})",
      R"({"event":"zcdp","rho":0,"count":1})",
      R"({"event":"gaussian","noise_multiplier":1,"total_variation":1e-3,"count":1})",
      R"({"event":"gaussian","noise_multiplier":1,"participations":10,"separation":1,"count":1})",
      R"({"event":"poisson_gaussian","sampling_rate":0.1,"noise_multiplier":1,"first_leaf":2,"count":1})",
      R"({"event":"tree","strategy":"sqrt_toeplitz","leaves":4,"noise_multiplier":1,"separation":2,"restarts":1})",
      R"({"event":"zcdp","rho":1,"total_variation":1,"count":1})",
      R"({"event":"zcdp","rho":1,"total_variation":-1e-12,"count":1})",
      R"({"event":"zcdp","rho":1,"total_variation":"?","count":1})",
      R"({"event":"zcdp","rho":1,"total_variation":null,"count":1})",
      R"({"event":"gdp","mu":-1,"count":1})",
      R"({"event":"exponential","epsilon":0,"count":1})",
      R"({"event":"approx_dp","epsilon":-1,"delta":0,"count":1})",
      R"({"event":"approx_dp","epsilon":1,"delta":1,"count":1})",
      R"({"event":"approx_dp","epsilon":1,"count":1})",
      R"({"event":"wor_discrete_gaussian","population":10,"batch":11,"noise_multiplier":1,"count":1})",
      R"({"event":7,"count":1})",
      R"({"noise_multiplier":1,"count":1})",
      R"({"event":"non_private","count":0})",
      R"({"ledger":2,"adjacency":"add_remove"})",
      R"({"ledger":1})",
      R"({"ledger":1,"adjacency":"replace"})",
      R"({"ledger":1,"adjacency":"add_remove","n":0})",
  };
  for (const char* line : lines) EXPECT_NE(refusal(line), "accepted") << line;
}

TEST(Event, ReadsHeaders) {
  const auto line = parse_event_line(R"({"ledger":1,"adjacency":"replace_one","n":60000,"method":"sgd"})", "x");
  const auto& header = std::get<EventHeader>(line.content);
  EXPECT_EQ(header.adjacency, Adjacency::replace_one);
  EXPECT_EQ(header.n, 60000u);
}

using List = std::vector<Event>;

TEST(Dominated, BySmallerPoissonSamplesAndFewerUsesAlone) {
  const List larger{{PoissonGaussian{.25, 2}, 8}, {Gaussian{3}, 1}};
  const auto is = [&](const List& smaller) { return dominated(smaller, larger); };
  EXPECT_TRUE(is(larger));
  EXPECT_TRUE(is({{Gaussian{3}, 1}, {PoissonGaussian{.25, 2}, 3}, {PoissonGaussian{.25, 2}, 5}}));
  EXPECT_TRUE(is({{PoissonGaussian{.1, 2}, 7}, {Gaussian{3}, 1}}));
  EXPECT_FALSE(is({{PoissonGaussian{.25, 2}, 9}, {Gaussian{3}, 1}})) << "more often";
  EXPECT_FALSE(is({{PoissonGaussian{.26, 2}, 8}, {Gaussian{3}, 1}})) << "larger samples";
  EXPECT_FALSE(is({{PoissonGaussian{.25, 1.9}, 8}, {Gaussian{3}, 1}})) << "less noise";
  EXPECT_FALSE(is({{PoissonGaussian{.25, 2}, 8}, {Gaussian{3}, 1}, {Laplace{3}, 1}})) << "something else";
  EXPECT_FALSE(is({{PoissonLaplace{.25, 2}, 8}, {Gaussian{3}, 1}})) << "another mechanism";
  EXPECT_FALSE(is({{PoissonGaussian{.1, 2}, 8}, {PoissonGaussian{.2, 2}, 8}, {Gaussian{3}, 1}})) << "two for one";
  const List without_replacement{{WorGaussian{100, 10, 2}, 8}};
  EXPECT_TRUE(dominated(without_replacement, without_replacement));
  EXPECT_FALSE(dominated({{WorGaussian{100, 9, 2}, 8}}, without_replacement)) << "not proven";
}

// What it is asked for: no accountant finds a larger epsilon, at any delta, under either adjacency.
TEST(Dominated, HasNoLargerEpsilon) {
  const List larger{{PoissonGaussian{.02, .9}, 200}};
  for (const List& smaller : {List{{PoissonGaussian{.02, .9}, 150}}, List{{PoissonGaussian{.013, .9}, 200}},
                              List{{PoissonGaussian{.001, .9}, 1}}}) {
    ASSERT_TRUE(dominated(smaller, larger));
    for (const Adjacency adjacency : {Adjacency::add_remove, Adjacency::replace_one})
      for (const double delta : {1e-3, 1e-6, 1e-10})
        for (const char* accountant : {"pld", "rdp"})
          EXPECT_LE(epsilon_guarantee(smaller, adjacency, delta, accountant).epsilon,
                    epsilon_guarantee(larger, adjacency, delta, accountant).epsilon)
              << accountant << " " << delta;
  }
}

TEST(Adjacency, NamesReadBack) {
  for (const auto a : {Adjacency::add_remove, Adjacency::replace_one}) EXPECT_EQ(parse_adjacency(name(a)), a);
  EXPECT_EQ(parse_adjacency("zero_out"), std::nullopt);
}

}  // namespace
}  // namespace dpmpi::event_test
