#include "privacy/accountants/earlier.hpp"

namespace dpmpi {
namespace {

thread_local int earlier_accountings = 0;

}  // namespace

EarlierAccounting::EarlierAccounting() { ++earlier_accountings; }
EarlierAccounting::~EarlierAccounting() { --earlier_accountings; }
bool EarlierAccounting::on() { return earlier_accountings > 0; }

}  // namespace dpmpi
