# Flags that every target of the project shares.
add_library(dpmpi_flags INTERFACE)
set(together $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
target_compile_options(dpmpi_flags INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                       $<IF:${together},$<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>,-Wshadow>
                       $<$<BOOL:${DPMPI_WERROR}>:-Werror> -ffp-contract=off -fno-math-errno
                       # Nobody looks at the processor's floating-point flags. Loops with a comparison become vectors then.
                       -fno-trapping-math)
# clang's -Wconversion has one part more than g++'s. GCC 12 sees overruns inside std::string that are not there (GCC bugs
# 105329, 105651).
target_compile_options(dpmpi_flags INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-sign-conversion>)
set(old_gcc $<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>)
target_compile_options(dpmpi_flags INTERFACE "$<${old_gcc}:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow>")

# What the product is compiled for.
add_library(dpmpi_machine INTERFACE)
if(DPMPI_NATIVE)
  target_compile_options(dpmpi_machine INTERFACE -march=native)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(dpmpi_machine INTERFACE -mprefer-vector-width=512)
  endif()
else()
  target_compile_options(dpmpi_machine INTERFACE -march=x86-64-v3)
endif()

# And its twin under sanitizers. Their tables hold many addresses: a program with a fixed place starts in half the time.
# Four checks would find what AddressSanitizer or the processor stops anyway, for a quarter of the compilation and half of the
# tables: a null pointer, one that is misaligned for a vector, one beyond its object, a freed object's virtual functions.
# The fuzzers' build has them. Reports name lines but in builds whose sources are compiled together: there the tables of lines
# would be half of a program that tests start a thousand times.
add_library(dpmpi_sanitizers INTERFACE)
target_compile_options(dpmpi_sanitizers INTERFACE -march=x86-64-v3 $<$<NOT:$<BOOL:${DPMPI_UNITY}>>:-g1>
                       -UNDEBUG -fno-omit-frame-pointer
                       -fsanitize=address,undefined -fno-sanitize=null,alignment,object-size,vptr
                       -fno-sanitize-recover=undefined)
target_link_options(dpmpi_sanitizers INTERFACE -fsanitize=address,undefined -no-pie)
