# What `cmake --install` brings, in the folders of GNUInstallDirs. The manual page and the completion are what the program
# says of itself.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(templates ${PROJECT_SOURCE_DIR}/cmake/install)
set(made ${PROJECT_BINARY_DIR}/install)
set(shared ${CMAKE_INSTALL_DATADIR}/dpmpi)

foreach(page man:dpmpi.1 completion:dpmpi.bash)
  string(REPLACE ":" ";" words ${page})
  list(GET words 0 topic)
  list(GET words 1 name)
  add_custom_command(OUTPUT ${made}/${name} COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
                     COMMAND dpmpi help ${topic} > ${made}/${name} DEPENDS dpmpi VERBATIM)
  list(APPEND pages ${made}/${name})
endforeach()
add_custom_target(pages ALL DEPENDS ${pages})

install(TARGETS dpmpi RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET dpmpi_python)  # beside the program or in lib/dpmpi: there it is looked for
  install(TARGETS dpmpi_python LIBRARY DESTINATION lib/dpmpi)
endif()
install(FILES ${made}/dpmpi.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made}/dpmpi.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME dpmpi)
install(DIRECTORY configs examples DESTINATION ${shared})
install(DIRECTORY launch/ DESTINATION ${shared}/launch USE_SOURCE_PERMISSIONS
        PATTERN setup EXCLUDE PATTERN build EXCLUDE PATTERN test EXCLUDE PATTERN quickstart EXCLUDE
        PATTERN package-trial EXCLUDE PATTERN Containerfile EXCLUDE PATTERN dpmpi.def EXCLUDE)
install(FILES README.md CHANGELOG.md SECURITY.md CITATION.cff DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN *.md PATTERN *.svg PATTERN *.png)
install(DIRECTORY include/dpmpi DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h PATTERN *.hpp)

# A folder that Debian's Python looks into below /usr; elsewhere the environment module names it.
if(EXISTS ${PROJECT_SOURCE_DIR}/python/dpmpi)
  install(DIRECTORY python/dpmpi DESTINATION lib/python3/dist-packages FILES_MATCHING PATTERN *.py PATTERN py.typed)
endif()

# An environment module (Environment Modules, Lmod). It has to know the prefix, which `cmake --install --prefix` may change.
install(CODE "
  set(DPMPI_VERSION ${PROJECT_VERSION})
  set(DPMPI_BIN ${CMAKE_INSTALL_BINDIR})
  set(DPMPI_MAN ${CMAKE_INSTALL_MANDIR})
  set(DPMPI_LIB ${CMAKE_INSTALL_LIBDIR})
  configure_file(\"${templates}/modulefile.in\" \"${made}/modulefile\" @ONLY)
  file(INSTALL \"${made}/modulefile\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${shared}/modulefiles/dpmpi\"
       RENAME ${PROJECT_VERSION})")

if(NOT DPMPI_LIBRARY)
  return()
endif()

# dpmpi for other C++ programs. All objects are made into one: a linker that takes it takes the methods and objectives that
# register themselves, too. An archive, because a run knows its program by the bytes of its executable.
set(objects $<FILTER:$<TARGET_OBJECTS:dpmpi_library>,EXCLUDE,[.][gp]ch$>)  # without the precompiled header
add_custom_command(OUTPUT ${made}/dpmpi.o COMMAND ${CMAKE_LINKER} -r -o ${made}/dpmpi.o ${objects}
                   DEPENDS dpmpi_library ${objects} COMMAND_EXPAND_LISTS VERBATIM)
add_library(dpmpi_archive STATIC ${made}/dpmpi.o)
set_target_properties(dpmpi_archive PROPERTIES OUTPUT_NAME dpmpi LINKER_LANGUAGE CXX)
install(TARGETS dpmpi_archive ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# What it is linked with: by CMake's names, and as files for pkg-config.
set(library_files ${MPI_C_LIBRARIES} ${FFTW_LIBRARY} ${HDF5_LIBRARY})
list(JOIN library_files " " linked_files)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/dpmpi)
configure_package_config_file(${templates}/dpmpiConfig.cmake.in ${made}/dpmpiConfig.cmake INSTALL_DESTINATION ${package_folder}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${made}/dpmpiConfigVersion.cmake COMPATIBILITY SameMinorVersion)
configure_file(${templates}/dpmpi.pc.in ${made}/dpmpi.pc @ONLY)
install(FILES ${made}/dpmpiConfig.cmake ${made}/dpmpiConfigVersion.cmake DESTINATION ${package_folder})
install(FILES ${made}/dpmpi.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
