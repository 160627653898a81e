# Is every source formatted as .clang-format says? (cmake -P tests/format.cmake) Other versions than Debian 12's
# clang-format 14 break lines elsewhere, so they are not asked.
cmake_minimum_required(VERSION 3.25)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}" DIRECTORY)
find_program(program NAMES clang-format-14 clang-format)
if(program)
  execute_process(COMMAND "${program}" --version OUTPUT_VARIABLE version)
endif()
if(NOT version MATCHES "version 14\\.")
  message(STATUS "skipped: clang-format 14 is not installed")
  return()
endif()
file(GLOB_RECURSE sources RELATIVE "${root}" "${root}/src/*.?pp" "${root}/include/*.h*" "${root}/tests/*.?pp"
     "${root}/bench/*.?pp" "${root}/examples/*.?pp")
execute_process(COMMAND "${program}" --dry-run -Werror ${sources} WORKING_DIRECTORY "${root}" RESULT_VARIABLE result
                ERROR_VARIABLE complaints)
if(NOT result EQUAL 0)
  string(REGEX MATCHALL "[^\n]* error: [^\n]*" places "${complaints}")
  list(JOIN places "\n  " text)
  message(FATAL_ERROR "not formatted; clang-format -i FILE mends it:\n  ${text}")
endif()
