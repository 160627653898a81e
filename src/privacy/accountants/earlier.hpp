#pragma once
// Accounting as earlier versions did it, for the files that they wrote.

namespace dpmpi {

/// While one lives, accountants of this thread give, digit by digit, the bounds of the versions that knew less:
/// Renyi divergences at a list of orders alone, and of samples of a fixed size no loss distributions and the bound
/// of Wang, Balle and Kasiviswanathan (2019) alone. All of them are valid, and none is smaller than today's
/// (docs/theory/accounting.md, "Bounds of earlier versions").
class EarlierAccounting {
 public:
  EarlierAccounting();
  ~EarlierAccounting();
  EarlierAccounting(const EarlierAccounting&) = delete;
  EarlierAccounting& operator=(const EarlierAccounting&) = delete;

  static bool on();
};

}  // namespace dpmpi
