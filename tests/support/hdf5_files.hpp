#pragma once
// HDF5 files for tests, written with the library itself.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace dpmpi::test {

/// A file that is complete when the object goes.
class NewHdf5 {
 public:
  explicit NewHdf5(const std::string& path);
  NewHdf5(const NewHdf5&) = delete;
  NewHdf5& operator=(const NewHdf5&) = delete;
  ~NewHdf5();

  /// How a dataset lies in the file.
  struct Storing {
    std::vector<std::uint64_t> chunk = {};  ///< empty: in one piece
    bool packed = false;                    ///< chunks are compressed
    std::string elsewhere = {};             ///< another file that holds the numbers
    int plugin = 0;                         ///< number of a filter that is a plugin
    bool written = true;
  };
  using Shape = std::vector<std::uint64_t>;
  /// A dataset of numbers in the order of their places. `type` as in NumPy: u1 i1 u2 i2 u4 i4 u8 i8 f2 f4 f8, b1
  /// (false and true), e1 (words for -1 and 1); with > before it big-endian. Groups in the name are made.
  void add(const std::string& name, const std::string& type, const Shape& shape, const std::vector<double>& numbers,
           const Storing& storing);
  void add(const std::string& name, const std::string& type, const Shape& shape,
           const std::vector<double>& numbers) {
    add(name, type, shape, numbers, {});
  }
  void add_words(const std::string& name, const std::vector<std::string>& words);
  /// Words of a fixed length, each behind it what pads it: zeros, or blanks. `columns`: how many a row has.
  void add_fixed_words(const std::string& name, const std::vector<std::string>& words, std::size_t length,
                       bool blanks = false, std::uint64_t columns = 0);
  /// Unsigned integers of 64 bits, all digits.
  void add_integers(const std::string& name, const std::vector<std::uint64_t>& numbers);
  /// A dataset of compound elements: a number, a text of any length and one of 8 bytes, all under these names.
  struct Person {
    double number = 0;
    const char* word = nullptr;
    char name[8] = {};
  };
  void add_people(const std::string& name, const std::vector<std::string>& members,
                  const std::vector<Person>& people);
  /// A dataset of compound elements with members (name, type), row by row.
  void add_table(const std::string& name, const std::vector<std::pair<std::string, std::string>>& members,
                 const std::vector<double>& numbers);
  void add_value(const std::string& name, double value);
  /// A dataset that is put together of another file's.
  void add_virtual(const std::string& name, std::uint64_t rows, const std::string& file, const std::string& of);
  void link_to(const std::string& name, const std::string& file, const std::string& of);
  void set(const std::string& dataset, const std::string& attribute, double number);
  void set(const std::string& dataset, const std::string& attribute, const std::string& text);
  void set_integer(const std::string& dataset, const std::string& attribute, std::uint64_t number);

 private:
  std::int64_t file_, with_groups_;
};

/// `count` times number(i).
std::vector<double> numbers(std::size_t count, const std::function<double(std::size_t)>& number);

}  // namespace dpmpi::test
