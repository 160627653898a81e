# `cpack` makes a .deb of what `cmake --install` brings. It has to run on other machines than this one, so it refuses a
# build that is tuned for this processor (cmake/refuse_native.cmake).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME dpmpi)
set(CPACK_PACKAGE_CONTACT "dpmpi developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "differentially private training of models on data spread over MPI ranks")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what the program is linked to; mpirun comes by itself:
set(CPACK_DEBIAN_PACKAGE_DEPENDS openmpi-bin)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "bash-completion, man-db")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3-numpy, libopenmpi-dev, g++")
set(CPACK_DPMPI_NATIVE ${DPMPI_NATIVE})
set(CPACK_PROJECT_CONFIG_FILE ${PROJECT_SOURCE_DIR}/cmake/refuse_native.cmake)
include(CPack)
