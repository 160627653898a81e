// Writes a small seed corpus: make_corpus FOLDER makes FOLDER/libsvm, FOLDER/table, ... one for each harness.
#include <filesystem>
#include <fstream>

#include "core/files/archive.hpp"
#include "core/files/digest.hpp"
#include "data/formats/native.hpp"
#include "support/binary_files.hpp"

namespace {

void write(const std::filesystem::path& folder, std::initializer_list<std::string> seeds) {
  std::filesystem::create_directories(folder);
  int number = 0;
  for (const std::string& seed : seeds) std::ofstream(folder / std::to_string(number++), std::ios::binary) << seed;
}

std::string sparse_file() {
  const dpmpi::NativeHeader header{dpmpi::Storage::sparse_f32, 2, 3, 2};
  std::string out = header.encode();
  const auto put = [&](auto value) { out.append(reinterpret_cast<const char*>(&value), sizeof value); };
  for (const float label : {1.0F, -1.0F}) put(label);
  for (const std::uint64_t begin : {0U, 1U, 2U}) put(begin);
  for (const std::uint32_t column : {0U, 2U}) put(column);
  for (const float value : {0.5F, 1.5F}) put(value);
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace dpmpi::test;
  const std::filesystem::path folder = argc > 1 ? argv[1] : "corpus";
  write(folder / "libsvm", {"\x7c+1 1:0.5 3:-2e1 # note\n-1\n",
                            "\x79"
                            "0 0:1 1:1\r\n\n# c\n2 2:7",
                            "\xff 1 2:1e-40 9:1e38\n"});
  write(folder / "columns",
        {"a number mean=1 std=2 missing=NULL impute=3 indicator\n\"b, c\" category words=x,\"y \"\"z\"\"\" other\n"
         "d date format=%Y-%m-%d from=2015-01-01 unit=years\ne yes/no\nf ordinal words=I,II\ng label\n"
         "\n---\na,\"b, c\",d,e,f,g\nNULL,x,2015-02-28,yes,II,1\n4,\"y \"\"z\"\"\",2016-02-29,no,I,0\n"});
  write(folder / "table", {std::string("\0a,label,b\n1,2,3\n4,5,6\n", 22),
                           "\x1d"
                           "1,a,?,NA\n2,\"b\",3,4\r\n|c\n",
                           "\x41"
                           "1\t2\t3\n4\t5\t-6.5e-3\n",
                           "\x81junk\n1,2\n\"3\"\"\",4\n"});
  write(folder / "binary", {idx_file(8, {2, 2}, "abcd"), idx_file(0x0d, {1}, "abcd"),
                            npy_file("<f4", "(1, 1)", "abcd"), npy_file("|u1", "(4,)", "abcd"), sparse_file()});
  write(folder / "ini",
        {"[data]\ntrain = \"a #1.csv\" # note\nblocks = 4\n", "[ s ]\r\nkey = x\n[data]\nlabel=\"\\\\\"\n"});
  const std::string header = R"({"ledger":1,"adjacency":"add_remove","n":500})";
  write(
      folder / "events",
      {header + "\n", R"({"event":"poisson_gaussian","sampling_rate":0.1,"noise_multiplier":"?","count":9})",
       header + "\n" + R"({"event":"gaussian","noise_multiplier":2,"count":1,"steps":[0,99],"prev":")" +
           dpmpi::sha256(header) + "\"}\n",
       R"({"events":[{"event":"tree","strategy":"banded","leaves":9,"band":3,"noise_multiplier":1,"restarts":2}]})",
       R"({"event":"tree","strategy":"normalized_blt","leaves":9,"decays":[0.9],"weights":[0.5],"noise_multiplier":1})",
       R"({"event":"tree","strategy":"blt","leaves":9,"decays":[0.9],"weights":[0.5],"participations":2,"separation":4,"noise_multiplier":1})"});
  const std::string of_looks = R"({"ledger":1,"adjacency":"add_remove","part":"looks","people":")" +
                               dpmpi::sha256("") + R"(","delta":1e-06)";
  write(
      folder / "looks",
      {of_looks + "}\n", of_looks + R"(,"budget":3.0})" + "\n", R"({"look":2})",
       of_looks + "}\n" + R"({"event":"gaussian","noise_multiplier":2,"count":1,"steps":[0,0],"look":1,"prev":")" +
           dpmpi::sha256(of_looks + "}") + "\"}\n"});
  write(folder / "run", {std::string("\0{\"epsilon\":\"infinity\",\"delta\":1}", 33),
                         "\2{\"step\":1,\"eval.loss\":0.5}\n{\"step\":2}\n", "\4[data]\ntrain = \"#\"\n",
                         "\5[[0,0],[0.5,0.75],[1,1]]",
                         "\6{\"config_digest\":\"digest\",\"epsilon\":1,\"delta\":1e-5,\"holds\":true,"
                         "\"confidence\":0.9,\"bound\":0.5,"
                         "\"games\":[{\"bound\":0.5,\"holds\":true}]}"});
  dpmpi::Archive facts;
  std::uint64_t step = 7;
  std::string config = "method.rate = 1\n";
  facts.field("step", step);
  facts.field("config", config);
  write(
      folder / "model",
      {R"({"weights":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"bias":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})",
       R"({"__metadata__":{"method":"x"}})", facts.bytes()});
}
