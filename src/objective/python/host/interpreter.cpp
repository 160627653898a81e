#include "objective/python/host/interpreter.hpp"

#include <dlfcn.h>
#include <xmmintrin.h>

#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace dpmpi::python {
namespace {

namespace py = pybind11;

// Extension modules ask for Python's symbols without saying where they are. And the interpreter outlives whoever
// closes this object.
void stay_loaded() {
  Dl_info python{}, own{};
  if (::dladdr(reinterpret_cast<const void*>(&Py_IsInitialized), &python) != 0)
    ::dlopen(python.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL | RTLD_NODELETE);
  if (::dladdr(reinterpret_cast<const void*>(&start_interpreter), &own) != 0)
    ::dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

// A sum over several threads has other bits than one over another number, and ranks are the threads here.
void use_one_thread() {
  for (const char* const name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"})
    ::setenv(name, "1", 1);
}

void check(PyStatus status) {
  if (PyStatus_Exception(status))
    throw std::runtime_error(status.err_msg ? status.err_msg : "Python does not start");
}

void initialise() {
  PyPreConfig before;
  PyPreConfig_InitIsolatedConfig(&before);  // the locale of the process stays
  before.utf8_mode = 1;
  check(Py_PreInitialize(&before));
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  struct Clear {
    PyConfig* config;
    ~Clear() { PyConfig_Clear(config); }
  } clear{&config};
  config.parse_argv = 0;
  config.install_signal_handlers = 0;
  config.safe_path = 1;
  config.use_hash_seed = 1;  // seed 0: the order of sets is that of all ranks
  config.hash_seed = 0;
  config.write_bytecode = 0;
  check(PyConfig_SetBytesString(&config, &config.program_name, DPMPI_PYTHON));
  check(Py_InitializeFromConfig(&config));
}

void seed_random_numbers() {
  py::module_::import("random").attr("seed")(0);
  py::module_::import("numpy").attr("random").attr("seed")(0);
}

/// The line of `file` in which a traceback ends, 0 if it does not pass there.
int line_in(const std::string& file, py::handle traceback) {
  int line = 0;
  for (py::object at = py::reinterpret_borrow<py::object>(traceback); at && !at.is_none(); at = at.attr("tb_next"))
    if (at.attr("tb_frame").attr("f_code").attr("co_filename").cast<std::string>() == file)
      line = at.attr("tb_lineno").cast<int>();
  return line;
}

}  // namespace

void start_interpreter() {
  static const bool started = [] {
    stay_loaded();
    use_one_thread();
    initialise();
    seed_random_numbers();
    return true;
  }();
  static_cast<void>(started);
}

void silence() {
  static bool silent = false;
  if (std::exchange(silent, true)) return;
  const py::module_ sys = py::module_::import("sys");
  const py::object nowhere = py::module_::import("io").attr("open")("/dev/null", "w");
  for (const char* const stream : {"stdout", "stderr", "__stdout__", "__stderr__"}) sys.attr(stream) = nowhere;
}

std::string describe(py::error_already_set& raised, const std::string& file, RecordsAre records) {
  try {
    const int line = line_in(file, raised.trace());
    std::string text = line > 0 ? "line " + std::to_string(line) + ": " : "";
    text += raised.type().attr("__name__").cast<std::string>();
    if (records == RecordsAre::private_) return text + " (its words are not shown: they may quote a record)";
    return text + ": " + py::str(raised.value()).cast<std::string>();
  } catch (py::error_already_set&) {
    return "an exception that cannot be shown";
  }
}

SameRounding::SameRounding() : state_(_mm_getcsr()) {}
SameRounding::~SameRounding() { _mm_setcsr(state_); }

}  // namespace dpmpi::python
