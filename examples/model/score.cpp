// Scores records by a logistic model of dpmpi, without dpmpi:  score RUN < RECORDS
// RECORDS has one record a line, its features separated by spaces. Build: g++ -std=c++20 score.cpp -o score
// (nlohmann-json3-dev). RUN/model.safetensors is the length of a JSON header, the header, and float32 tensors.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: score RUN < RECORDS\n", stderr);
    return 2;
  }
  std::ifstream file(std::string(argv[1]) + "/model.safetensors", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::uint64_t size = 0;
  if (bytes.size() < sizeof size) {
    std::fprintf(stderr, "no model in %s\n", argv[1]);
    return 3;
  }
  std::memcpy(&size, bytes.data(), sizeof size);
  const auto header = nlohmann::json::parse(bytes.substr(sizeof size, size));
  if (header["__metadata__"].value("recipe", "").find("class_weights") != std::string::npos) {
    std::fputs("this example knows no class weights: take log(weight of +1 / weight of -1) from its scores\n",
               stderr);
    return 3;
  }
  const auto tensor = [&](const char* name) {
    const std::size_t begin = header[name]["data_offsets"][0], end = header[name]["data_offsets"][1];
    std::vector<float> values((end - begin) / sizeof(float));
    std::memcpy(values.data(), bytes.data() + sizeof size + size + begin, end - begin);
    return values;
  };
  const std::vector<float> weight = tensor("weight"), bias = tensor("bias");
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream features(line);
    double score = static_cast<double>(bias.at(0)), x = 0;
    for (const float w : weight)
      if (features >> x) score += static_cast<double>(w) * x;
    std::printf("%.6g\n", 1 / (1 + std::exp(-score)));
  }
}
