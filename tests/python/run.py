#!/usr/bin/env python3
"""All tests of the Python package, or those that are named:  run.py [models_test.Models.test_rankings ...]

The environment variable DPMPI names the program. Exit code 77: there is no numpy.
"""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
SKIPPED = 77


def main(names):
    try:
        import numpy  # noqa: F401
    except ImportError:
        print(f"skipped: no numpy for {sys.executable}")
        return SKIPPED
    sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]
    loader = unittest.TestLoader()
    tests = loader.loadTestsFromNames(names) if names else loader.discover(str(HERE), "*_test.py")
    result = unittest.TextTestRunner(verbosity=1).run(tests)
    for test, reason in result.skipped:
        print(f"{test.id()}: {reason}")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
