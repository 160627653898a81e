# Who builds dpmpi with a compiler of next year is not stopped by what it warns of, and who changes the code is
# (cmake -P tests/presets.cmake).
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
set(problems "")

# 1. By preset: whether warnings are errors.
file(READ "${root}/CMakePresets.json" presets)
string(JSON count LENGTH "${presets}" configurePresets)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  string(JSON name GET "${presets}" configurePresets ${i} name)
  string(JSON strict ERROR_VARIABLE unset GET "${presets}" configurePresets ${i} cacheVariables DPMPI_WERROR)
  if(name MATCHES "^(dev|asan|fuzz)$")
    if(NOT strict STREQUAL "ON")
      list(APPEND problems "CMakePresets.json: the preset ${name} is for developers and sets no DPMPI_WERROR")
    endif()
  elseif(strict STREQUAL "ON")
    list(APPEND problems "CMakePresets.json: the preset ${name} is for users and sets DPMPI_WERROR")
  endif()
endforeach()

# 2. No target is strict by itself, and the option is off unless somebody asks for it.
foreach(file CMakeLists.txt cmake/options.cmake cmake/unity.cmake cmake/product.cmake
        cmake/sanitized/CMakeLists.txt tests/CMakeLists.txt tests/fuzz/CMakeLists.txt bench/CMakeLists.txt)
  file(STRINGS "${root}/${file}" lines REGEX "-Werror")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "BOOL:\\\${DPMPI_WERROR}>:-Werror>")
      list(APPEND problems "${file}: ${line}")
    endif()
  endforeach()
endforeach()
file(STRINGS "${root}/CMakeLists.txt" option REGEX "^option\\(DPMPI_WERROR .* OFF\\)$")
if(NOT option)
  list(APPEND problems "CMakeLists.txt: the option DPMPI_WERROR is not OFF")
endif()

# 3. A change is refused for its warnings in the release build, too.
file(READ "${root}/.ci/run" script)
if(NOT script MATCHES "\nexport DPMPI_OPTIONS=\"-DDPMPI_WERROR=ON ")
  list(APPEND problems ".ci/run: no -DDPMPI_WERROR=ON")
endif()
file(READ "${root}/launch/build" script)
if(NOT script MATCHES "cmake --preset [^\n]*options")
  list(APPEND problems "launch/build: does not pass DPMPI_OPTIONS on")
endif()

if(problems)
  list(JOIN problems "\n  " text)
  message(FATAL_ERROR "warnings are errors in the wrong place:\n  ${text}")
endif()
