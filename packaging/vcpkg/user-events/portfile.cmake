# SPDX-License-Identifier: MIT
#
# The C++ library as a port of vcpkg, from this source:
# vcpkg install user-events --overlay-ports=packaging/vcpkg
set(VCPKG_BUILD_TYPE release)
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../.." ABSOLUTE)

find_program(MAKE make REQUIRED)
vcpkg_execute_required_process(
  COMMAND "${MAKE}" -C "${SOURCE_PATH}" install-library "PREFIX=${CURRENT_PACKAGES_DIR}"
  WORKING_DIRECTORY "${CURRENT_BUILDTREES_DIR}"
  LOGNAME install-library)
vcpkg_fixup_pkgconfig()

# find_package() also looks in share/cmake, from where the file finds the headers.
set(VCPKG_POLICY_SKIP_MISPLACED_CMAKE_FILES_CHECK enabled)
set(VCPKG_POLICY_SKIP_LIB_CMAKE_MERGE_CHECK enabled)
# The licence is in the first lines of each header.
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/include/user_events/user_events.hpp"
  COMMENT "The MIT licence.")
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
