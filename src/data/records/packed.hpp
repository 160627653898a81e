#pragma once
// Lists of plain numbers between the root and the ranks, each rank's list its own.

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "comm/communicator.hpp"

namespace dpmpi {

template <class T>
requires std::is_trivially_copyable_v<T> std::string packed(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
requires std::is_trivially_copyable_v<T> std::vector<T> unpacked(const std::string& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

/// Every rank's list, in rank order, on the root; empty elsewhere. Collective.
template <class T>
std::vector<std::vector<T>> gather_lists(const Communicator& comm, const std::vector<T>& mine) {
  std::vector<std::vector<T>> lists;
  for (const std::string& bytes : comm.gather(packed(mine))) lists.push_back(unpacked<T>(bytes));
  return lists;
}

/// The root's list number r goes to rank r, and to no other. Collective.
template <class T>
std::vector<T> scatter_lists(const Communicator& comm, const std::vector<std::vector<T>>& lists) {
  std::vector<std::string> parts;
  for (const auto& list : lists) parts.push_back(packed(list));
  return unpacked<T>(comm.scatter(parts));
}

}  // namespace dpmpi
