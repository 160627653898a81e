# Read by cpack before it packs.
if(CPACK_DPMPI_NATIVE)
  message(FATAL_ERROR "this build is tuned for this machine's processor (DPMPI_NATIVE), and a package has to run on others: "
                      "launch/build portable, then cpack in build/portable")
endif()
