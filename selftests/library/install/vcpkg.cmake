# SPDX-License-Identifier: GPL-2.0-only
#
# cmake -DPORT_DIR=DIR -DPREFIX=DIR -P vcpkg.cmake: runs the port as vcpkg does, with what it offers.
set(PORT user-events)
set(CURRENT_PORT_DIR "${PORT_DIR}")
set(CURRENT_PACKAGES_DIR "${PREFIX}")
set(CURRENT_BUILDTREES_DIR "${PREFIX}/build")
file(MAKE_DIRECTORY "${CURRENT_BUILDTREES_DIR}")

function(vcpkg_execute_required_process)
  cmake_parse_arguments(PARSE_ARGV 0 run "" "WORKING_DIRECTORY;LOGNAME" "COMMAND")
  execute_process(COMMAND ${run_COMMAND} WORKING_DIRECTORY "${run_WORKING_DIRECTORY}"
    COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 licence "" "COMMENT" "FILE_LIST")
  foreach(file IN LISTS licence_FILE_LIST)
    file(READ "${file}" text LIMIT 1)
  endforeach()
endfunction()

include("${CURRENT_PORT_DIR}/portfile.cmake")
