#include "objective/python/host/interpreter.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>
#include <xmmintrin.h>

#include <array>
#include <cstdlib>
#include <exception>
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

// Descriptors of Python's standard output and error, which are its own. So silence() turns them off for whoever
// took the streams before, as handlers of logs do, and the program goes on writing to the process's.
std::array<int, 2> outputs{-1, -1};
constexpr std::array<const char*, 2> output_names{"stdout", "stderr"};

void give_outputs() {
  using namespace py::literals;
  const py::module_ sys = py::module_::import("sys");
  const py::object open = py::module_::import("io").attr("open");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = ::fcntl(static_cast<int>(i) + 1, F_DUPFD_CLOEXEC, 3);
    if (outputs[i] < 0) outputs[i] = ::open("/dev/null", O_WRONLY | O_CLOEXEC);  // it is closed
    const py::object stream =
        open(outputs[i], "w", "buffering"_a = 1, "errors"_a = "backslashreplace", "closefd"_a = false);
    const std::string name = output_names[i];
    sys.attr(name.c_str()) = stream;
    sys.attr(("__" + name + "__").c_str()) = stream;
  }
}

/// The exception's type, or the first of Python's own among those that it comes from: a module may name its types
/// after a record.
std::string type_of(py::error_already_set& raised, RecordsAre records) {
  const auto name = [](py::handle type) { return type.attr("__name__").cast<std::string>(); };
  if (records != RecordsAre::private_) return name(raised.type());
  const py::module_ builtins = py::module_::import("builtins");
  for (const py::handle base : raised.type().attr("__mro__"))
    if (const std::string own = name(base); py::getattr(builtins, own.c_str(), py::none()).is(base)) return own;
  return "an exception";
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
    give_outputs();
    seed_random_numbers();
    return true;
  }();
  static_cast<void>(started);
}

void silence() {
  static bool silent = false;
  if (std::exchange(silent, true)) return;
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere < 0) throw std::runtime_error("/dev/null cannot be opened, where a module's prints go");
  for (const int output : outputs) ::dup3(nowhere, output, O_CLOEXEC);
  ::close(nowhere);
}

std::string describe(py::error_already_set& raised, const std::string& file, RecordsAre records) {
  try {
    const int line = line_in(file, raised.trace());
    std::string text = line > 0 ? "line " + std::to_string(line) + ": " : "";
    text += type_of(raised, records);
    if (records == RecordsAre::private_) return text + " (its words are not shown: they may quote a record)";
    return text + ": " + py::str(raised.value()).attr("encode")("utf-8", "backslashreplace").cast<std::string>();
  } catch (const std::exception&) {  // of Python, or of a conversion
    return "an exception that cannot be shown";
  }
}

SameRounding::SameRounding() : state_(_mm_getcsr()) {}
SameRounding::~SameRounding() { _mm_setcsr(state_); }

}  // namespace dpmpi::python
