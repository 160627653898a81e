#pragma once
// The product with one fault in how it makes noise, declares queries or samples: the linker puts these functions in
// the place of its own (-Wl,--wrap, tests/CMakeLists.txt), so that the product itself has no such switch. Whoever
// then runs a whole config, runs one with the fault.

namespace dpmpi::test {

enum class Fault {
  none,
  noise_reused,         ///< every step gets the noise of step 0
  noise_of_directions,  ///< noise comes from a public seed
  noise_copied,         ///< all coordinates of a release get the noise of the first
  noise_faint,          ///< with an eighth of its deviation
  clip_for_twice_clip,  ///< under replace_one, noise for a sum that moves by C and not by 2 C
  shuffled,             ///< where Poisson sampling was declared, every record takes part once in a pass
};

/// The fault of this process while the object lives. One at a time.
class Injected {
 public:
  explicit Injected(Fault fault);
  ~Injected();
  Injected(const Injected&) = delete;
  Injected& operator=(const Injected&) = delete;
};

}  // namespace dpmpi::test
