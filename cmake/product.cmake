# The library `library` of these layers, compiled for `machine` (see options.cmake). Objects, so that the methods and
# objectives that register themselves are never dropped by the linker.
set(product_layers core comm data objective privacy method run library cli)
function(add_product library machine)
  set(src ${PROJECT_SOURCE_DIR}/src)
  list(TRANSFORM ARGN REPLACE "(.+)" "${src}/\\1/*.cpp" OUTPUT_VARIABLE of_layers)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${of_layers})
  list(FILTER sources EXCLUDE REGEX "src/objective/python/host/")
  add_library(${library} OBJECT ${sources})
  target_link_libraries(${library} PUBLIC dpmpi_headers PRIVATE ${machine})
  target_precompile_headers(${library} PRIVATE <algorithm> <cmath> <cstdint> <functional> <map> <memory> <span> <string>
                            <vector> <fmt/format.h>)

  # Kernels may fuse multiply and add; everything else must not (numerics contract N9). g++ does so at -O1 too with its
  # expensive optimisations: vectors and their remainders must round alike in every build.
  # Vectors wider than the machine's registers stay within these files, so their calling convention does not matter.
  set_source_files_properties(
    ${src}/objective/linear/kernels.cpp ${src}/objective/linear/row_products.cpp
    PROPERTIES COMPILE_OPTIONS "-ffp-contract=fast;-Wno-psabi;$<$<CXX_COMPILER_ID:GNU>:-fexpensive-optimizations>"
               SKIP_PRECOMPILE_HEADERS ON)

  # Sources that know HDF5: its headers are for them alone, and their names stay out of units of several sources.
  set_source_files_properties(${hdf5_sources} PROPERTIES COMPILE_OPTIONS "-isystem;${HDF5_INCLUDE}")
endfunction()
